package activity_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// counted is a body that counts its runs.
func counted(runs *int) func(context.Context, string) (string, error) {
	return func(_ context.Context, in string) (string, error) {
		*runs++
		return "charged " + in, nil
	}
}

// charging is a body whose function has a name.
type charging func(context.Context, string) (string, error)

func (c charging) Charge(ctx context.Context, in string) (string, error) { return c(ctx, in) }

// ofType makes a closure in an instance of a generic function, and generic is one.
func ofType[T any](runs *int) func(context.Context) error {
	return func(context.Context) error { _ = *new(T); *runs++; return nil }
}

func generic[T any](context.Context) error { _ = *new(T); return nil }

// warnings is a logger that keeps them.
type warnings struct {
	discard
	texts []string
}

func (w *warnings) Warn(text string, _ ...any) { w.texts = append(w.texts, text) }

// failing is an argument that Temporal can send and nobody can encode again.
type failing struct{ Card string }

func (f failing) MarshalText() ([]byte, error) {
	if f.Card != "" && sent.Swap(true) {
		return nil, errors.New("cannot encode card " + f.Card)
	}
	return []byte(f.Card), nil
}

func (f *failing) UnmarshalText(b []byte) error { f.Card = string(b); return nil }

var sent atomic.Bool

func TestReplay(t *testing.T) {
	t.Parallel()

	t.Run("a call that was made answers from its record and does not run again", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t), 0
		for range 3 {
			v, err := b.run(1, counted(&runs), "10 EUR")
			require.NoError(t, err)
			var got string
			require.NoError(t, v.Get(&got))
			require.Equal(t, "charged 10 EUR", got)
		}
		require.Equal(t, 1, runs)
		require.Equal(t, map[string]int64{"executed": 1, "replayed": 2}, b.outcomes())
		require.Equal(t, store.StatusCompleted, b.record("1").Status)
	})

	t.Run("calls with equal arguments and other numbers all run", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t), 0
		for n := 1; n <= 3; n++ {
			_, err := b.run(n, counted(&runs), "10 EUR")
			require.NoError(t, err)
		}
		require.Equal(t, 3, runs)
	})

	t.Run("calls without a header all run", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t), 0
		for range 2 {
			_, err := b.run(0, counted(&runs), "10 EUR")
			require.NoError(t, err)
		}
		require.Equal(t, 2, runs)
	})

	t.Run("another request under the key is refused and nothing is written", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t), 0
		_, err := b.run(1, counted(&runs), "10 EUR")
		require.NoError(t, err)
		before := b.record("1")

		_, err = b.run(1, counted(&runs), "99 EUR")
		app := requireErrType(t, err, activity.ErrTypeConflict)
		require.True(t, app.NonRetryable())
		require.Contains(t, app.Message(), before.Key)
		require.Contains(t, app.Message(), "was reused for a different request")
		require.Contains(t, app.Message(), before.Hash)
		require.NotContains(t, app.Message(), "EUR", "an error must not show arguments")
		require.Equal(t, 1, runs)
		require.Equal(t, before, b.record("1"))
	})

	t.Run("a record of another execution is refused, naming both runs and the remedies", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t), 0
		_, err := b.run(1, counted(&runs), "10 EUR")
		require.NoError(t, err)

		other := call(1)
		other.RunID, other.Lineage, other.OriginalRunID = "run-2", "run-2", "run-2"
		_, err = runIn(b.envWith(&other), counted(&runs), "10 EUR")
		app := requireErrType(t, err, activity.ErrTypeOtherExecution)
		require.True(t, app.NonRetryable())
		for _, part := range []string{"lineage run-1", "lineage run-2", "new workflow ID", "OnOtherExecution", "Scope"} {
			require.Contains(t, app.Message(), part)
		}
		require.Equal(t, 1, runs)
	})

	t.Run("a record of another execution is replayed where the policy says so, and flagged", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t, withPolicy(activity.Policy{OnOtherExecution: store.ReplayOther})), 0
		_, err := b.run(1, counted(&runs), "10 EUR")
		require.NoError(t, err)
		other := call(1)
		other.RunID, other.Lineage, other.OriginalRunID = "run-2", "run-2", "run-2"
		_, err = runIn(b.envWith(&other), counted(&runs), "10 EUR")
		require.NoError(t, err)
		require.Equal(t, 1, runs)
		require.Equal(t, int64(1), b.outcomes()["replayed_other_execution"])
	})

	t.Run("a call whose workflow exempts it runs each time", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t), 0
		exempt := call(1)
		exempt.Exempt = true
		for range 2 {
			_, err := runIn(b.envWith(&exempt), counted(&runs), "10 EUR")
			require.NoError(t, err)
		}
		require.Equal(t, 2, runs)
	})

	t.Run("a type without policy, or with one that is off, runs each time", func(t *testing.T) {
		t.Parallel()
		for name, policies := range map[string]map[string]activity.Policy{
			"no policy": {"Refund": {}},
			"off":       {activity.AnyActivity: {}, "Charge": {Off: true}},
		} {
			b, runs := setup(t, func(o *activity.Options) { o.Policies = policies }), 0
			for range 2 {
				_, err := b.run(1, counted(&runs), "10 EUR")
				require.NoError(t, err, name)
			}
			require.Equal(t, 2, runs, name)
		}
	})

	t.Run("a policy that requires a header refuses a call without one", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t, withPolicy(activity.Policy{RequireHeader: true})), 0
		_, err := b.run(0, counted(&runs), "10 EUR")
		requireErrType(t, err, activity.ErrTypeHeaderRequired)
		require.Zero(t, runs)
	})

	t.Run("a call without a header is warned of, with what refuses it", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t), 0
		warned := &warnings{}
		b.log = warned
		_, err := b.run(0, counted(&runs), "10 EUR")
		require.NoError(t, err)
		require.Len(t, warned.texts, 1)
		require.Contains(t, warned.texts[0], "Policy.RequireHeader (require_header)")
	})

	t.Run("a header that is meant for another workflow is ignored", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t), 0
		_, err := b.run(1, counted(&runs), "10 EUR")
		require.NoError(t, err)
		foreign := call(1)
		foreign.WorkflowID = "somebody-else"
		_, err = runIn(b.envWith(&foreign), counted(&runs), "10 EUR")
		require.NoError(t, err)
		require.Equal(t, 2, runs)
	})

	t.Run("arguments without a fingerprint are refused before the body", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t, withPolicy(activity.Policy{Fingerprint: func([]any) ([]byte, error) { return nil, context.Canceled }})), 0
		_, err := b.run(1, counted(&runs), "10 EUR")
		app := requireErrType(t, err, activity.ErrTypeNoFingerprint)
		require.Contains(t, app.Message(), `"Charge"`)
		require.Zero(t, runs)
	})

	t.Run("a local activity whose arguments have no form runs each time, and says so once", func(t *testing.T) {
		t.Parallel()
		runs := 0
		body := locally(func(context.Context) error { runs++; return nil })
		for name, change := range map[string]func(*wire.Facts, *activity.Policy) any{
			"not counted": func(f *wire.Facts, _ *activity.Policy) any {
				f.Exempt, f.Uncountable, f.Number = true, "it is a channel", 0
				return body.Run
			},
			"not fingerprinted": func(_ *wire.Facts, p *activity.Policy) any {
				p.Fingerprint = func([]any) ([]byte, error) { return nil, errors.New("no form") }
				return body.Run
			},
			"a closure":               func(*wire.Facts, *activity.Policy) any { return func(context.Context) error { runs++; return nil } },
			"of a function of a type": func(*wire.Facts, *activity.Policy) any { return ofType[string](&runs) },
			"generic":                 func(*wire.Facts, *activity.Policy) any { return generic[string] },
		} {
			f, p := call(1), activity.Policy{}
			body := change(&f, &p)
			runs = 0
			b, warned := setup(t, withPolicy(p)), &warnings{}
			for range 3 {
				var suite testsuite.WorkflowTestSuite
				suite.SetLogger(warned)
				suite.SetHeader(&commonpb.Header{Fields: map[string]*commonpb.Payload{wire.HeaderKey: wire.Encode(f)}})
				env := suite.NewTestActivityEnvironment()
				env.SetWorkerOptions(workerOptions(b, context.Background()))
				_, err := env.ExecuteLocalActivity(body)
				require.NoError(t, err, name)
			}
			if name != "generic" { // which has nowhere to count
				require.Equal(t, 3, runs, name)
			}
			require.Len(t, warned.texts, 1, name)
			require.Contains(t, warned.texts[0], "is not deduplicated", name)
		}
	})

	t.Run("a local activity that is named by its policy, or by its function, does not", func(t *testing.T) {
		t.Parallel()
		runs := 0
		closure := func(context.Context) error { runs++; return nil }
		name := runtime.FuncForPC(reflect.ValueOf(closure).Pointer()).Name()
		name = name[strings.LastIndex(name, ".")+1:]
		for _, body := range []any{closure, locally(closure).Run} {
			runs = 0
			b := setup(t, func(o *activity.Options) { o.Policies = map[string]activity.Policy{name: {}, activity.AnyActivity: {}} })
			for range 3 {
				_, err := b.env(1).ExecuteLocalActivity(body)
				require.NoError(t, err)
			}
			require.Equal(t, 1, runs)
		}
	})

	t.Run("a local activity's arguments are compared in one scheduling too", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { // whose clock stands still
			b, runs := setup(t), 0
			body := charging(counted(&runs)).Charge
			_, err := b.env(1).ExecuteLocalActivity(body, "10 EUR")
			require.NoError(t, err)
			_, err = b.env(1).ExecuteLocalActivity(body, "99 EUR")
			requireErrType(t, err, activity.ErrTypeConflict)
			require.Equal(t, 1, runs)
		})
	})

	t.Run("the session framework's own activities run each time", func(t *testing.T) {
		t.Parallel()
		b, runs := setup(t), 0
		for range 2 {
			env := b.env(1)
			env.RegisterActivityWithOptions(counted(&runs), sdkactivity.RegisterOptions{Name: "internalSessionCreationActivity"})
			_, err := env.ExecuteActivity("internalSessionCreationActivity", "session")
			require.NoError(t, err)
		}
		require.Equal(t, 2, runs)
		require.Empty(t, b.outcomes())
	})

	t.Run("what cannot be fingerprinted is not quoted", func(t *testing.T) {
		t.Parallel()
		sent.Store(false)
		b := setup(t)
		_, err := b.run(1, func(context.Context, failing) error { return nil }, failing{"4242"})
		app := requireErrType(t, err, activity.ErrTypeNoFingerprint)
		require.NotContains(t, app.Message(), "4242")
	})

	t.Run("the results that are easily lost come back as the first run gave them", func(t *testing.T) {
		t.Parallel()
		for name, body := range map[string]any{
			"no result":    func(context.Context) error { return nil },
			"nil pointer":  func(context.Context) (*string, error) { return nil, nil },
			"nil slice":    func(context.Context) ([]string, error) { return nil, nil },
			"empty slice":  func(context.Context) ([]string, error) { return []string{}, nil },
			"nil bytes":    func(context.Context) ([]byte, error) { return nil, nil },
			"empty map":    func(context.Context) (map[string]int, error) { return map[string]int{}, nil },
			"zero":         func(context.Context) (int, error) { return 0, nil },
			"empty string": func(context.Context) (string, error) { return "", nil },
			"false":        func(context.Context) (bool, error) { return false, nil },
			"empty struct": func(context.Context) (struct{}, error) { return struct{}{}, nil },
			"NUL":          func(context.Context) (string, error) { return "a\x00b", nil },
			"invalid text": func(context.Context) ([]byte, error) { return []byte{0xff, 0xfe, 0}, nil },
			"typed nil":    func(context.Context) (any, error) { return (*string)(nil), nil },
		} {
			plain := setup(t, func(o *activity.Options) { o.Policies = map[string]activity.Policy{"Other": {}} })
			native, err := plain.run(1, body)
			require.NoError(t, err, name)
			b := setup(t)
			first, err := b.run(1, body)
			require.NoError(t, err, name)
			second, err := b.run(1, body)
			require.NoError(t, err, name)
			require.Equal(t, payloadOf(t, native), payloadOf(t, first), name)
			require.Equal(t, payloadOf(t, native), payloadOf(t, second), name)
			require.Equal(t, map[string]int64{"executed": 1, "replayed": 1}, b.outcomes(), name)
		}
	})
}
