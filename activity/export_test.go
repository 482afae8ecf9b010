package activity

import (
	"time"

	sdkactivity "go.temporal.io/sdk/activity"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// What the tests of the unexported rules need.
var (
	JoinKey  = joinKey
	Bounce   = bounce
	LeaseFor = leaseFor
	Overrun  = overrun

	FirstGeneration = firstGeneration
)

// Identify returns the key of a call.
func Identify(prefix string, info sdkactivity.Info, facts *wire.Facts, p Policy) string {
	return identify(prefix, info, facts, p).key
}

// Fingerprint returns the acceptable fingerprints of a call's arguments.
func Fingerprint(p Policy, key string, args []any) ([]string, error) {
	form, err := canonicalForm(p, args)
	return fingerprints(nil, nil, key, form), err
}

// Fingerprints returns the acceptable fingerprints of a canonical form.
func Fingerprints(secrets []Secret, key string, form []byte) []string {
	return fingerprints(nil, secrets, key, form)
}

// Foreground returns how long an execution may hold back its answer.
func Foreground(info sdkactivity.Info, settle, call time.Duration, now time.Time) time.Duration {
	e := execution{info: info, i: &Interceptor{options: Options{SettleTimeout: settle, StoreCallTimeout: call}}}
	return e.foreground(now)
}

// OutageDelay returns how long an attempt stays away from a store that is down.
func OutageDelay(attempt int32, most time.Duration) time.Duration {
	e := execution{info: sdkactivity.Info{Attempt: attempt}, i: &Interceptor{options: Options{MaxBounce: most}}}
	return e.outageDelay()
}

// StoredResult reads what a record holds of a result, and writes it
// again.
func StoredResult(b []byte) ([]byte, error) {
	p, err := unmarshalPayloads(b)
	if err != nil {
		return nil, err
	}
	return marshalPayloads(p)
}

// StoredFailure does the same for a failure.
func StoredFailure(b []byte) ([]byte, error) {
	f, err := unmarshalFailure(b)
	if err != nil {
		return nil, err
	}
	return marshalFailure(f)
}

// EffectKey returns the key of an effect inside a call.
func EffectKey(prefix string, info sdkactivity.Info, facts *wire.Facts, p Policy, path ...string) string {
	return identify(prefix, info, facts, p).effect(path).key
}

// KeptLeases returns how many leases are being renewed.
func (i *Interceptor) KeptLeases() int {
	i.keeper.mu.Lock()
	defer i.keeper.mu.Unlock()
	return len(i.keeper.kept)
}
