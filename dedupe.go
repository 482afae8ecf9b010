package dedupe

import (
	"context"
	"net/http"

	sdkworkflow "go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/worker"
	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
	"github.com/seed5aa7bdf6/temporal-dedupe/workflows"
)

// Options configure the deduplication; see the fields for their defaults.
// Store and Policies are required.
type Options = activity.Options

// Store keeps the records: pgstore, redisstore, memstore, or one of your own that passes
// storetest.
type Store = store.Store

// Secret is a key for fingerprints, in Options.FingerprintSecrets.
type Secret = activity.Secret

// Fingerprinter is for types of arguments that know best what tells two of their
// values apart: a type with a DedupeFingerprint method is asked for the bytes, in
// place of its JSON.
type Fingerprinter = activity.Fingerprinter

// Policy says how the calls of an activity type are deduplicated. The zero
// value is a useful policy.
type Policy = activity.Policy

// Policies maps activity types to policies; [AnyActivity] stands for the rest.
type Policies = map[string]Policy

// AnyActivity stands in Policies for the types that have no policy of their own.
const AnyActivity = activity.AnyActivity

// Config is the policies of a file. Its Apply method joins them with Options.
type Config = config.Config

// LoadConfig reads policies from a file such as dedupe.yaml and validates it as
// a whole: its error is a *[ConfigError] with every problem and where it stands,
// or says why the file cannot be read. docs/configuration.md describes the form.
func LoadConfig(path string) (*Config, error) { return config.Load(path) }

// ParseConfig is [LoadConfig] for a text that was read by other means; name
// stands for it in problems.
func ParseConfig(name string, text []byte) (*Config, error) { return config.Parse(name, text) }

// ConfigError is what is wrong with a file of policies, found with errors.As.
type ConfigError = config.Error

// Scope says how far the identity of a call reaches.
type Scope = activity.Scope

// Scopes, for Policy.Scope.
const (
	ScopeWorkflowID = activity.ScopeWorkflowID
	ScopeExecution  = activity.ScopeExecution
	ScopeRun        = activity.ScopeRun
)

// TakeoverPolicy says what happens to a call whose owner is gone and has left no
// outcome.
type TakeoverPolicy = store.TakeoverPolicy

// Takeover policies, for Policy.Takeover.
const (
	Reexecute = store.Reexecute
	Refuse    = store.Refuse
	Verify    = store.Verify
)

// OtherExecution says what a call gets that meets a record of another execution.
type OtherExecution = store.OtherExecution

// Answers to a record of another execution, for Policy.OnOtherExecution.
const (
	RefuseOther = store.RefuseOther
	ReplayOther = store.ReplayOther
)

// OnStoreError says what becomes of a call while the store cannot be reached.
type OnStoreError = activity.OnStoreError

// Answers to a store that cannot be reached, for Policy.OnStoreError.
const (
	FailClosed     = activity.FailClosed
	RunUnprotected = activity.RunUnprotected
)

// Types of the application errors that a workflow can meet; the package comment
// has a table of what each one wants.
const (
	ErrTypeConflict           = activity.ErrTypeConflict
	ErrTypeOtherExecution     = activity.ErrTypeOtherExecution
	ErrTypeOutcomeUnknown     = activity.ErrTypeOutcomeUnknown
	ErrTypeInFlight           = activity.ErrTypeInFlight
	ErrTypeLeaseLost          = activity.ErrTypeLeaseLost
	ErrTypeStoreUnavailable   = activity.ErrTypeStoreUnavailable
	ErrTypeStoreBusy          = activity.ErrTypeStoreBusy
	ErrTypeRecordVersion      = activity.ErrTypeRecordVersion
	ErrTypeFingerprintUnknown = activity.ErrTypeFingerprintUnknown
	ErrTypeRecordCorrupt      = activity.ErrTypeRecordCorrupt
	ErrTypeResultTooLarge     = activity.ErrTypeResultTooLarge
	ErrTypeNoFingerprint      = activity.ErrTypeNoFingerprint
	ErrTypeInvalidCall        = activity.ErrTypeInvalidCall
	ErrTypeHeaderRequired     = activity.ErrTypeHeaderRequired
	ErrTypeDeadlinePassed     = activity.ErrTypeDeadlinePassed
	ErrTypeSerialization      = activity.ErrTypeSerialization
)

// ErrLeaseLost is the cause with which a body's context is cancelled when
// another execution has taken its call over. Stop: nothing more is recorded.
var ErrLeaseLost = activity.ErrLeaseLost

// Plugin deduplicates activities on every worker of a Temporal client.
type Plugin = worker.Plugin

// NewPlugin returns the plugin for client.Options.Plugins. Its error names the
// option that is wrong.
func NewPlugin(options Options) (*Plugin, error) { return worker.NewPlugin(options) }

// WorkflowPlugin is the workflow side alone.
type WorkflowPlugin = worker.WorkflowPlugin

// NewWorkflowPlugin returns the plugin for workers that run workflows only. It
// needs no store.
func NewWorkflowPlugin() *WorkflowPlugin { return worker.NewWorkflowPlugin() }

// Interceptor is both halves as one worker interceptor.
type Interceptor = worker.Interceptor

// NewInterceptor returns the interceptor for those who wire by hand instead of
// registering the plugin; see [Interceptor] for what they must pass and call.
func NewInterceptor(options Options) (*Interceptor, error) { return worker.NewInterceptor(options) }

// ProviderKey is an idempotency key for a downstream service: 64 hex digits.
type ProviderKey = activity.ProviderKey

// Key returns the idempotency key to send downstream from the activity that ctx
// belongs to: stable over attempts, crashes and takeovers. It panics outside an
// activity.
func Key(ctx context.Context) ProviderKey { return activity.Key(ctx) }

// DoOptions are the choices of [DoWith].
type DoOptions = activity.DoOptions

// Errors of [Do], of pgstore.InTx and of [Transport], found with errors.Is.
var (
	// ErrNotDeduplicated: the call has no record to work with. Nothing was done.
	ErrNotDeduplicated = activity.ErrNotDeduplicated
	// ErrDuplicateEffect: the name was used before in this execution. Nothing was
	// done.
	ErrDuplicateEffect = activity.ErrDuplicateEffect
	// ErrUnnamedRequest: two requests of one activity would carry the same key. The
	// second was not sent.
	ErrUnnamedRequest = activity.ErrUnnamedRequest
)

// Do makes a named effect inside an activity and records its result the moment fn
// returns, so that no later attempt makes it again, whatever becomes of the activity.
// docs/effects.md says when to use Do, and when [Key] or pgstore.InTx.
func Do[T any](ctx context.Context, name string, fn func(ctx context.Context) (T, error)) (T, error) {
	return activity.Do(ctx, name, fn)
}

// DoWith is [Do] with options.
func DoWith[T any](ctx context.Context, name string, options DoOptions, fn func(ctx context.Context) (T, error)) (T, error) {
	return activity.DoWith(ctx, name, options, fn)
}

// Transport sends an Idempotency-Key, derived from [Key] for each downstream call,
// with the POST and PATCH requests of activities. base does the sending; nil is
// http.DefaultTransport. service names what is behind it, such as "stripe".
func Transport(base http.RoundTripper, service ...string) http.RoundTripper {
	return activity.Transport(base, service...)
}

// WithRequestName names the requests made with ctx through a [Transport], where one
// activity sends several to the same path.
func WithRequestName(ctx context.Context, name string) context.Context {
	return activity.WithRequestName(ctx, name)
}

// NoEffect marks an error with the author's word that this execution had no
// effect, so that the call can run again under every takeover policy.
func NoEffect(err error) error { return activity.NoEffect(err) }

// VerifyRequest asks a verifier how an earlier execution of a call ended.
type VerifyRequest = activity.VerifyRequest

// Verification is a verifier's answer.
type Verification = activity.Verification

// Done says that the effect was made, with this result.
func Done(result any) Verification { return activity.Done(result) }

// NotDone says that the effect was certainly not made: the body runs.
func NotDone() Verification { return activity.NotDone() }

// CannotTell says that nobody knows: the call is refused and held.
func CannotTell() Verification { return activity.CannotTell() }

// Handle names a call that is completed from outside its activity, in another
// process too: it marshals as text. Its text is a secret.
type Handle = activity.Handle

// PendingHandle returns the handle of the activity that ctx belongs to. Hand it
// over, then return Temporal's activity.ErrResultPending. It panics outside an
// activity and in a local one.
func PendingHandle(ctx context.Context) Handle { return activity.PendingHandle(ctx) }

// AsyncOptions are what [CompleteAsync] needs in the process that completes.
type AsyncOptions = activity.AsyncOptions

// Errors of [CompleteAsync], found with errors.Is; see activity.
var (
	// ErrStaleHandle: the call was taken over, resolved by an operator, or settled
	// otherwise. Nothing was recorded or sent.
	ErrStaleHandle = activity.ErrStaleHandle
	// ErrNotWaiting: the outcome is recorded, but Temporal does not wait for the
	// activity any more. There is nothing to repeat.
	ErrNotWaiting = activity.ErrNotWaiting
)

// CompleteAsync records how a call ended, with a result or an error, and then
// tells Temporal. After any error but the two above, call it again with the same
// handle.
func CompleteAsync(ctx context.Context, o AsyncOptions, h Handle, result any, err error) error {
	return activity.CompleteAsync(ctx, o, h, result, err)
}

// WithStepKey gives the calls made with ctx a name in place of their number, so
// that their order does not matter. No personal data: it stands in history,
// table and logs.
func WithStepKey(ctx sdkworkflow.Context, step string) sdkworkflow.Context {
	return workflows.WithStepKey(ctx, step)
}

// WithBusinessKey makes the key the identity of the operation, whatever workflow
// calls it. No personal data: it stands in history, table and logs.
func WithBusinessKey(ctx sdkworkflow.Context, key string) sdkworkflow.Context {
	return workflows.WithBusinessKey(ctx, key)
}

// WithNumberByArguments counts the calls made with ctx by their arguments, so
// that their order does not matter. Other arguments are then another call, and
// no conflict.
func WithNumberByArguments(ctx sdkworkflow.Context) sdkworkflow.Context {
	return workflows.WithNumberByArguments(ctx)
}

// WithoutDedupe exempts the calls made with ctx.
func WithoutDedupe(ctx sdkworkflow.Context) sdkworkflow.Context {
	return workflows.WithoutDedupe(ctx)
}
