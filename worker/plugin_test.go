package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdkworker "go.temporal.io/sdk/worker"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(t *testing.T, policies map[string]activity.Policy) activity.Options {
	t.Helper()
	s, err := memstore.New(memstore.Options{})
	require.NoError(t, err)
	return activity.Options{Store: s, Policies: policies, Logger: slog.New(slog.DiscardHandler)}
}

// rig is a plugin as the SDK drives it.
type rig struct {
	t      *testing.T
	plugin *worker.Plugin
	queue  int
	alone  bool // there is no client that the plugin knows
}

func newRig(t *testing.T, o activity.Options) *rig {
	t.Helper()
	p, err := worker.NewPlugin(o)
	require.NoError(t, err)
	return &rig{t: t, plugin: p}
}

func (r *rig) client(o client.Options) error {
	return r.plugin.NewClient(r.t.Context(), client.PluginNewClientOptions{ClientOptions: o},
		func(context.Context, client.PluginNewClientOptions) error { return nil })
}

// worker configures one worker, registers activities on it, and returns the
// function that starts it.
func (r *rig) worker(o *sdkworker.Options, names ...string) func() error {
	r.t.Helper()
	if !r.alone {
		_ = r.client(client.Options{}) // unless it had one before
	}
	r.queue++
	key := string(rune('a' + r.queue))
	registry := &sdkworker.PluginConfigureWorkerRegistryOptions{}
	require.NoError(r.t, r.plugin.ConfigureWorker(r.t.Context(), sdkworker.PluginConfigureWorkerOptions{
		WorkerInstanceKey: key, WorkerOptions: o, WorkerRegistryOptions: registry,
	}))
	for _, name := range names {
		registry.OnRegisterActivity(func(context.Context) error { return nil }, sdkactivity.RegisterOptions{Name: name})
	}
	n := r.queue
	return func() error {
		r.t.Cleanup(func() { r.stop(n) })
		return r.plugin.StartWorker(r.t.Context(), sdkworker.PluginStartWorkerOptions{WorkerInstanceKey: key},
			func(context.Context, sdkworker.PluginStartWorkerOptions) error { return nil })
	}
}

type payments struct{}

func (*payments) Charge(context.Context) error { return nil }
func (*payments) Refund(context.Context) error { return nil }

func namedActivity(context.Context) error { return nil }

func TestPlugin(t *testing.T) {
	t.Parallel()
	charge := map[string]activity.Policy{"Charge": {}}

	t.Run("options that cannot work are refused, naming the option", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			name   string
			change func(*activity.Options)
			want   string
		}{
			{"no store", func(o *activity.Options) { o.Store = nil }, "Options.Store is nil"},
			{"typed nil store", func(o *activity.Options) { o.Store = (*memstore.Store)(nil) }, "Options.Store is nil"},
			{"no policies", func(o *activity.Options) { o.Policies = nil }, "Options.Policies is empty"},
			{"empty name", func(o *activity.Options) { o.Policies = map[string]activity.Policy{"": {}} }, `Options.Policies[""]`},
			{"negative retention", func(o *activity.Options) { o.Policies = map[string]activity.Policy{"Charge": {Retention: -1}} }, `Options.Policies["Charge"]: Retention`},
			{"short retention", func(o *activity.Options) { o.Policies = map[string]activity.Policy{"Charge": {Retention: time.Second}} }, "Retention of 1s"},
			{"verify without verifier", func(o *activity.Options) {
				o.Policies = map[string]activity.Policy{"Charge": {Takeover: store.Verify}}
			}, "Verify is not set"},
			{"unknown takeover", func(o *activity.Options) { o.Policies = map[string]activity.Policy{"Charge": {Takeover: "maybe"}} }, `Takeover has no value "maybe"`},
			{"unknown scope", func(o *activity.Options) { o.Policies = map[string]activity.Policy{"Charge": {Scope: "task"}} }, `Scope has no value "task"`},
			{"long prefix", func(o *activity.Options) { o.KeyPrefix = string(make([]byte, 65)) }, "Options.KeyPrefix has 65 bytes"},
			{"short secret", func(o *activity.Options) {
				o.FingerprintSecrets = []activity.Secret{{ID: "a", Key: []byte("short")}}
			}, "FingerprintSecrets[0].Key has 5 bytes"},
			{"secret without ID", func(o *activity.Options) {
				o.FingerprintSecrets = []activity.Secret{{Key: make([]byte, 16)}}
			}, "FingerprintSecrets[0].ID"},
			{"the same secret twice", func(o *activity.Options) {
				s := activity.Secret{ID: "a", Key: make([]byte, 16)}
				o.FingerprintSecrets = []activity.Secret{s, s}
			}, "stands twice"},
			{"negative bound", func(o *activity.Options) { o.MaxConcurrentStoreCalls = -1 }, "MaxConcurrentStoreCalls"},
			{"negative timeout", func(o *activity.Options) { o.SettleTimeout = -1 }, "SettleTimeout"},
		} {
			o := options(t, charge)
			c.change(&o)
			_, err := worker.NewPlugin(o)
			require.ErrorContains(t, err, c.want, c.name)
			_, err = worker.NewInterceptor(o)
			require.ErrorContains(t, err, c.want, c.name)
		}
	})

	t.Run("a policy for a type that is not registered keeps the worker from starting", func(t *testing.T) {
		t.Parallel()
		start := newRig(t, options(t, map[string]activity.Policy{"Chrage": {}})).worker(&sdkworker.Options{}, "Charge")
		require.ErrorContains(t, start(), `Options.Policies["Chrage"]`)
	})

	t.Run("a type may be registered on any worker of the client", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, options(t, map[string]activity.Policy{"Charge": {}, "Refund": {}}))
		first, second := r.worker(&sdkworker.Options{}, "Charge"), r.worker(&sdkworker.Options{}, "Refund")
		require.NoError(t, first())
		require.NoError(t, second())
	})

	t.Run("a type stays known when the workers that had it have stopped", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, options(t, map[string]activity.Policy{"Charge": {}, "Refund": {}}))
		first, second := r.worker(&sdkworker.Options{}, "Charge"), r.worker(&sdkworker.Options{}, "Refund")
		require.NoError(t, first())
		require.NoError(t, second())
		r.stop(1)
		require.NoError(t, r.worker(&sdkworker.Options{}, "Refund")())
		r.stop(2)
		r.stop(3)
		require.NoError(t, r.worker(&sdkworker.Options{}, "Charge")())
	})

	t.Run("a type of a worker that could not start is not known", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, options(t, map[string]activity.Policy{"Charge": {}, "Refund": {}}))
		r.worker(&sdkworker.Options{}, "Charge", "Refund")
		errGone := errors.New("no such namespace")
		require.ErrorIs(t, r.plugin.StartWorker(t.Context(), sdkworker.PluginStartWorkerOptions{WorkerInstanceKey: "b"},
			func(context.Context, sdkworker.PluginStartWorkerOptions) error { return errGone }), errGone)
		require.ErrorContains(t, r.worker(&sdkworker.Options{}, "Charge")(), `Options.Policies["Refund"]`)
		require.NoError(t, r.worker(&sdkworker.Options{}, "Charge", "Refund")())
	})

	t.Run("types are known by the names that the SDK gives them", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, options(t, map[string]activity.Policy{"Charge": {}, "v2_Refund": {}, "v3_Refund": {}, "namedActivity": {}}))
		require.NoError(t, r.client(client.Options{}))
		registry := &sdkworker.PluginConfigureWorkerRegistryOptions{}
		require.NoError(t, r.plugin.ConfigureWorker(t.Context(), sdkworker.PluginConfigureWorkerOptions{
			WorkerInstanceKey: "x", WorkerOptions: &sdkworker.Options{}, WorkerRegistryOptions: registry,
		}))
		registry.OnRegisterActivity((&payments{}).Charge, sdkactivity.RegisterOptions{})
		registry.OnRegisterActivity(&payments{}, sdkactivity.RegisterOptions{Name: "v2_"})
		registry.OnRegisterActivity((*payments)(nil), sdkactivity.RegisterOptions{Name: "v3_"})
		registry.OnRegisterActivity(namedActivity, sdkactivity.RegisterOptions{})
		require.NoError(t, r.plugin.StartWorker(t.Context(), sdkworker.PluginStartWorkerOptions{WorkerInstanceKey: "x"},
			func(context.Context, sdkworker.PluginStartWorkerOptions) error { return nil }))
		r.plugin.StopWorker(t.Context(), sdkworker.PluginStopWorkerOptions{WorkerInstanceKey: "x"},
			func(context.Context, sdkworker.PluginStopWorkerOptions) {})
	})

	t.Run("a store that cannot be used keeps the worker from starting", func(t *testing.T) {
		t.Parallel()
		o := options(t, charge)
		o.Store = unusable{o.Store}
		start := newRig(t, o).worker(&sdkworker.Options{}, "Charge")
		require.ErrorIs(t, start(), store.ErrSchema)
	})

	t.Run("a worker that stops at once may not leave unknown outcomes behind", func(t *testing.T) {
		t.Parallel()
		refuse := map[string]activity.Policy{"Charge": {Takeover: store.Refuse}}
		start := newRig(t, options(t, refuse)).worker(&sdkworker.Options{}, "Charge")
		require.ErrorContains(t, start(), "WorkerStopTimeout")
		start = newRig(t, options(t, refuse)).worker(&sdkworker.Options{WorkerStopTimeout: time.Second}, "Charge")
		require.NoError(t, start())
		start = newRig(t, options(t, refuse)).worker(&sdkworker.Options{})
		require.NoError(t, start(), "a worker without activities interrupts none")
	})

	t.Run("configured twice for one worker, it adds its interceptors once", func(t *testing.T) {
		t.Parallel()
		r, o := newRig(t, options(t, charge)), &sdkworker.Options{}
		for range 2 {
			require.NoError(t, r.plugin.ConfigureWorker(t.Context(), sdkworker.PluginConfigureWorkerOptions{
				WorkerInstanceKey: "x", WorkerOptions: o, WorkerRegistryOptions: &sdkworker.PluginConfigureWorkerRegistryOptions{},
			}))
		}
		require.Len(t, o.Interceptors, 2)
	})

	t.Run("a data converter that is not the client's is refused", func(t *testing.T) {
		t.Parallel()
		o := options(t, charge)
		o.DataConverter = converter.NewCompositeDataConverter(converter.NewNilPayloadConverter())
		require.ErrorContains(t, newRig(t, o).client(client.Options{}), "DataConverter")

		r := newRig(t, options(t, charge))
		require.NoError(t, r.client(client.Options{DataConverter: o.DataConverter}))
		require.NoError(t, r.client(client.Options{DataConverter: o.DataConverter}))
		other := converter.NewCompositeDataConverter(converter.NewNilPayloadConverter())
		require.ErrorContains(t, r.client(client.Options{DataConverter: other}), "make a plugin for each client")
	})

	t.Run("a worker whose client it does not know is refused, or what that encrypts would be in the clear", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, options(t, charge))
		r.alone = true
		require.ErrorContains(t, r.worker(&sdkworker.Options{WorkerStopTimeout: time.Minute}, "Charge")(), "set Options.DataConverter to the client's")
		o := options(t, charge)
		o.DataConverter = converter.GetDefaultDataConverter()
		r = newRig(t, o)
		r.alone = true
		require.NoError(t, r.worker(&sdkworker.Options{WorkerStopTimeout: time.Minute}, "Charge")())
	})
}

// unusable is a store without its table.
type unusable struct{ store.Store }

func (unusable) Check(context.Context) error {
	return errors.Join(store.ErrSchema, errors.New("run: dedupe migrate up"))
}
