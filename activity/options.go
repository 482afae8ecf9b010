package activity

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Options configure the interceptor.
type Options struct {
	// Store keeps the records. Required.
	Store store.Store
	// Policies maps activity types to policies; [AnyActivity] stands for the
	// rest. Required: types without a policy are not deduplicated, since reads,
	// polls and steps on the local host must not be replayed by accident.
	Policies map[string]Policy
	// KeyPrefix separates clusters that share a table; at most 64 bytes.
	KeyPrefix string
	// FingerprintSecrets make the stored fingerprints useless to somebody who
	// guesses arguments. The first signs, all verify. Rotate in three steps: add
	// the new one at the end on every worker, then put it in front, then drop the
	// old one after the longest retention. A worker that meets a record signed
	// with a secret it does not have answers [ErrTypeFingerprintUnknown], which
	// Temporal retries. Empty: fingerprints are plain SHA-256; those stay
	// acceptable when secrets are added.
	FingerprintSecrets []Secret
	// DataConverter and FailureConverter must be the client's own, or results
	// would be stored in a form that the workflow cannot read, or in the clear. The
	// plugin takes them from the client; one that is registered on a worker only, as
	// in a test environment, needs DataConverter. Default to Temporal's defaults.
	DataConverter    converter.DataConverter
	FailureConverter converter.FailureConverter
	// Identity names this worker in records, for people. Defaults to pid@host.
	Identity string
	// MaxConcurrentStoreCalls bounds the executions that talk to the store at
	// once. Defaults to 256.
	MaxConcurrentStoreCalls int
	// StoreQueueTimeout is how long an execution queues for that before it is
	// answered with [ErrTypeStoreBusy]. Defaults to 5 s.
	StoreQueueTimeout time.Duration
	// StoreCallTimeout bounds one call of the store. Defaults to 5 s.
	StoreCallTimeout time.Duration
	// SettleTimeout is how long a record is tried to be settled, in the
	// background if need be. Defaults to 30 s.
	SettleTimeout time.Duration
	// MaxBounce is the longest delay after which a call that found another
	// owner at work comes back. Defaults to 30 s.
	MaxBounce time.Duration
	// EvictionInterval is the time between two passes of the evictor that the
	// plugin runs while a worker does, give or take a quarter; 1 second to 30
	// days. Defaults to 1 min; negative is no evictor. Somebody must evict:
	// another worker, or `dedupe evict`.
	EvictionInterval time.Duration
	// TracerProvider and MeterProvider default to the global ones.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Logger takes what is logged outside an activity, whose own logger is
	// Temporal's. Defaults to slog.Default().
	Logger *slog.Logger
}

// Secret is a key for fingerprints.
type Secret struct {
	// ID stands in the stored fingerprint: letters, digits, dots, dashes and
	// underscores, 1 to 32 bytes.
	ID string
	// Key is the secret itself, at least 16 bytes.
	Key []byte
}

func (o Options) withDefaults() Options {
	o.Policies = maps.Clone(o.Policies)
	for name, p := range o.Policies {
		o.Policies[name] = p.withDefaults()
	}
	o.MaxConcurrentStoreCalls = cmp.Or(o.MaxConcurrentStoreCalls, 256)
	o.StoreQueueTimeout = cmp.Or(o.StoreQueueTimeout, 5*time.Second)
	o.StoreCallTimeout = cmp.Or(o.StoreCallTimeout, 5*time.Second)
	o.SettleTimeout = cmp.Or(o.SettleTimeout, 30*time.Second)
	o.MaxBounce = cmp.Or(o.MaxBounce, 30*time.Second)
	o.DataConverter = cmp.Or(o.DataConverter, converter.GetDefaultDataConverter())
	o.FailureConverter = cmp.Or(o.FailureConverter, temporal.GetDefaultFailureConverter())
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Identity = cmp.Or(o.Identity, defaultIdentity())
	return o
}

// Validate tells what is wrong with the options; its error names the field.
func (o Options) Validate() error {
	if o.Store == nil || reflect.ValueOf(o.Store).Kind() == reflect.Pointer && reflect.ValueOf(o.Store).IsNil() {
		return errors.New("dedupe: Options.Store is nil: pass a store such as pgstore.New(…) or memstore.New(…)")
	}
	if len(o.Policies) == 0 {
		return fmt.Errorf("dedupe: Options.Policies is empty: name the activity types to deduplicate, or %q for all of them", AnyActivity)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Policies)) {
		if name == "" {
			return errors.New(`dedupe: Options.Policies[""]: an activity type has no empty name`)
		}
		if err := o.Policies[name].validate(); err != nil {
			return fmt.Errorf("dedupe: Options.Policies[%q]: %w", name, err)
		}
		if err := supported(o.Store, o.Policies[name]); err != nil {
			return fmt.Errorf("dedupe: Options.Policies[%q].Takeover: %w", name, err)
		}
	}
	if len(o.KeyPrefix) > maxPrefixBytes {
		return fmt.Errorf("dedupe: Options.KeyPrefix has %d bytes, at most %d", len(o.KeyPrefix), maxPrefixBytes)
	}
	ids := map[string]bool{}
	for i, s := range o.FingerprintSecrets {
		switch {
		case s.ID == "" || len(s.ID) > 32 || strings.Trim(s.ID, idCharacters) != "":
			return fmt.Errorf("dedupe: Options.FingerprintSecrets[%d].ID %q: want 1 to 32 letters, digits, dots, dashes or underscores", i, s.ID)
		case ids[s.ID]:
			return fmt.Errorf("dedupe: Options.FingerprintSecrets[%d].ID %q stands twice", i, s.ID)
		case len(s.Key) < 16:
			return fmt.Errorf("dedupe: Options.FingerprintSecrets[%d].Key has %d bytes, want at least 16", i, len(s.Key))
		}
		ids[s.ID] = true
	}
	if o.MaxConcurrentStoreCalls < 0 {
		return fmt.Errorf("dedupe: Options.MaxConcurrentStoreCalls is negative: %d", o.MaxConcurrentStoreCalls)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"StoreQueueTimeout", o.StoreQueueTimeout}, {"StoreCallTimeout", o.StoreCallTimeout},
		{"SettleTimeout", o.SettleTimeout}, {"MaxBounce", o.MaxBounce},
	} {
		if d.value < 0 {
			return fmt.Errorf("dedupe: Options.%s is negative: %v", d.name, d.value)
		}
	}
	if d := o.EvictionInterval; d > 0 && (d < store.MinEvictionInterval || d > store.MaxEvictionInterval) {
		return fmt.Errorf("dedupe: Options.EvictionInterval is %v, want %v to %v, 0 for %v, or negative for no evictor",
			d, store.MinEvictionInterval, store.MaxEvictionInterval, store.DefaultEvictionInterval)
	}
	return nil
}

// supported tells whether the store can keep what the policy promises.
func supported(s store.Store, p Policy) error {
	selective, ok := store.As[store.Selective](s)
	if !ok || p.Off {
		return nil
	}
	return selective.Supports(p.withDefaults().Takeover)
}

const idCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// nameless tells a name that the compiler has given to a function, closures and
// instances of generic functions among them, and that no policy names: others have it
// as well, and what tells them apart stands in no argument.
func (o *Options) nameless(activityType string) bool {
	_, named := o.Policies[activityType]
	return !named && compilersName.MatchString(activityType)
}

// DeduplicatesLocal tells whether local activities of a type are deduplicated.
func (i *Interceptor) DeduplicatesLocal(activityType string) bool {
	_, ok := i.options.policyFor(activityType)
	return ok && !i.options.nameless(activityType)
}

var compilersName = regexp.MustCompile(`^(func|gowrap|deferwrap)?[0-9]+$|-range[0-9]+$|^\]$`)

// policyFor returns the policy of an activity type, and whether it has one that
// deduplicates.
func (o *Options) policyFor(activityType string) (Policy, bool) {
	p, ok := o.Policies[activityType]
	if !ok {
		p, ok = o.Policies[AnyActivity]
	}
	return p, ok && !p.Off
}
