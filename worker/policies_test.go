package worker_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/worker"
	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
)

// configured are options with a file's policies, and the log that they lead to.
func configured(t *testing.T, text string, code map[string]activity.Policy) (activity.Options, *bytes.Buffer) {
	t.Helper()
	c, err := config.Parse("dedupe.yaml", []byte(text))
	require.NoError(t, err)
	o, err := c.Apply(options(t, code))
	require.NoError(t, err)
	log := &bytes.Buffer{}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	return o, log
}

// about returns the lines of a log that speak of an activity type.
func about(log *bytes.Buffer, activityType string) []string {
	var lines []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "ActivityType="+activityType) {
			lines = append(lines, line)
		}
	}
	return lines
}

// slow are options of a worker that waits for its activities when it stops.
func slow() *sdkworker.Options { return &sdkworker.Options{WorkerStopTimeout: time.Minute} }

func TestPoliciesOfAFile(t *testing.T) {
	t.Parallel()

	t.Run("for a type that is not registered are a warning, once for all workers", func(t *testing.T) {
		t.Parallel()
		o, log := configured(t, "activities:\n  Charge: {}\n  Refund: {}\n", nil)
		r := newRig(t, o)
		first, second := r.worker(slow(), "Charge"), r.worker(slow(), "Charge")
		require.NoError(t, first())
		require.NoError(t, second())
		lines := about(log, "Refund")
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "level=WARN")
		require.Contains(t, lines[0], "Source=dedupe.yaml:3")
		require.Empty(t, about(log, "Charge"))
	})

	t.Run("stay an error for such a type if code names it too", func(t *testing.T) {
		t.Parallel()
		o, _ := configured(t, "activities:\n  Chrage: {}\n", map[string]activity.Policy{"Chrage": {}})
		require.ErrorContains(t, newRig(t, o).worker(slow(), "Charge")(), `Options.Policies["Chrage"] names an activity type that is not registered`)
	})

	t.Run("may be for a function that only runs as a local activity, which code has to register", func(t *testing.T) {
		t.Parallel()
		o, log := configured(t, "activities:\n  Local: {}\n", nil)
		require.NoError(t, newRig(t, o).worker(slow(), "Charge")())
		require.Len(t, about(log, "Local"), 1)
		code := options(t, map[string]activity.Policy{"Local": {}})
		require.ErrorContains(t, newRig(t, code).worker(slow(), "Charge")(), "also the functions that only run as local activities")
		require.NoError(t, newRig(t, code).worker(slow(), "Charge", "Local")())
	})

	t.Run("are not judged by a worker with a dynamic activity", func(t *testing.T) {
		t.Parallel()
		o, log := configured(t, "activities:\n  Refund: {}\n", nil)
		r := newRig(t, o)
		require.NoError(t, r.client(client.Options{}))
		registry := &sdkworker.PluginConfigureWorkerRegistryOptions{}
		require.NoError(t, r.plugin.ConfigureWorker(t.Context(), sdkworker.PluginConfigureWorkerOptions{
			WorkerInstanceKey: "x", WorkerOptions: slow(), WorkerRegistryOptions: registry,
		}))
		registry.OnRegisterDynamicActivity(func(context.Context) error { return nil }, sdkactivity.DynamicRegisterOptions{})
		require.NoError(t, r.plugin.StartWorker(t.Context(), sdkworker.PluginStartWorkerOptions{WorkerInstanceKey: "x"},
			func(context.Context, sdkworker.PluginStartWorkerOptions) error { return nil }))
		r.plugin.StopWorker(t.Context(), sdkworker.PluginStopWorkerOptions{WorkerInstanceKey: "x"},
			func(context.Context, sdkworker.PluginStopWorkerOptions) {})
		require.NotContains(t, log.String(), "ActivityType")
	})

	t.Run("that ask a verifier need one where the type is registered", func(t *testing.T) {
		t.Parallel()
		const text = "activities:\n  Charge: {}\n  Refund:\n    takeover: verify\n"
		const want = `dedupe: dedupe.yaml:3: the takeover of activity type "Refund" is verify, but Options.Policies["Refund"].Verify is not set`
		o, _ := configured(t, text, nil)
		require.ErrorContains(t, newRig(t, o).worker(slow(), "Charge", "Refund")(), want)
		require.NoError(t, newRig(t, o).worker(slow(), "Charge")(), "another worker of the file has the verifier")
		_, err := worker.NewInterceptor(o)
		require.ErrorContains(t, err, want, "it cannot know what is registered")

		o, _ = configured(t, text, map[string]activity.Policy{"Refund": {Verify: func(context.Context, activity.VerifyRequest) (activity.Verification, error) {
			return activity.CannotTell(), nil
		}}})
		require.NoError(t, newRig(t, o).worker(slow(), "Charge", "Refund")())
	})

	t.Run("that ask a verifier for all the rest need one on every worker with activities", func(t *testing.T) {
		t.Parallel()
		o, _ := configured(t, "activities:\n  \"*\":\n    takeover: verify\n", nil)
		require.ErrorContains(t, newRig(t, o).worker(slow(), "Charge")(), `Options.Policies["*"].Verify is not set`)
		require.NoError(t, newRig(t, o).worker(slow())())
	})

	t.Run("ask for a stop timeout where the type is registered", func(t *testing.T) {
		t.Parallel()
		o, _ := configured(t, "activities:\n  Charge: {}\n  Refund:\n    takeover: refuse\n", nil)
		require.ErrorContains(t, newRig(t, o).worker(&sdkworker.Options{}, "Charge", "Refund")(), "WorkerStopTimeout is 0")
		require.NoError(t, newRig(t, o).worker(&sdkworker.Options{}, "Charge")())
	})

	t.Run("that contradict code are refused", func(t *testing.T) {
		t.Parallel()
		o, _ := configured(t, "activities:\n  Charge:\n    max_overrun: 2h\n", map[string]activity.Policy{"Charge": {Retention: time.Hour}})
		_, err := worker.NewPlugin(o)
		require.ErrorContains(t, err, `Options.Policies["Charge"]: MaxOverrun of 2h0m0s is longer than Retention of 1h0m0s`)
	})
}

func TestTypesWithoutAPolicy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		policies map[string]activity.Policy
		want     string
	}{
		{"are logged as not deduplicated", map[string]activity.Policy{"Charge": {}}, "activity type has no policy and is not deduplicated"},
		{"are logged as covered", map[string]activity.Policy{"Charge": {}, "*": {}}, `the one for \"*\" covers it`},
		{"are not covered by one that is off", map[string]activity.Policy{"Charge": {}, "*": {Off: true}}, "is not deduplicated"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o, log := options(t, tc.policies), &bytes.Buffer{}
			o.Logger = slog.New(slog.NewTextHandler(log, nil))
			require.NoError(t, newRig(t, o).worker(slow(), "Charge", "Load", "Read")())
			require.Empty(t, about(log, "Charge"))
			for _, name := range []string{"Load", "Read"} {
				lines := about(log, name)
				require.Len(t, lines, 1)
				require.Contains(t, lines[0], "level=INFO")
				require.Contains(t, lines[0], tc.want)
			}
		})
	}
	t.Run("say nothing if they are off", func(t *testing.T) {
		t.Parallel()
		o, log := options(t, map[string]activity.Policy{"*": {Takeover: store.Reexecute}, "Load": {Off: true}}), &bytes.Buffer{}
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
		require.NoError(t, newRig(t, o).worker(slow(), "Load")())
		require.NotContains(t, log.String(), "ActivityType")
	})
}
