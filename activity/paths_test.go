package activity_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	failurepb "go.temporal.io/api/failure/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// What stands in the arguments, results and errors of every path, and must be
// found nowhere that people look for reasons. An operator reads logs and spans
// who may not read payloads.
const (
	markArg    = "mark-argument-7f3a"
	markResult = "mark-result-19c4"
	markError  = "mark-error-5b2e"
	markDetail = "mark-detail-e0d8"
)

var errMarked = temporal.NewApplicationError("declined "+markError, "Declined", markDetail)

// altered is a store whose records come back changed, or fail to come.
type altered struct {
	store.Store
	record  func(*store.Record, store.Reservation)
	err     error
	settled store.Settled
}

func (a *altered) Settle(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
	settled, err := a.Store.Settle(ctx, all)
	if a.settled != "" && err == nil {
		settled[0] = a.settled
	}
	return settled, err
}

func (a *altered) Reserve(ctx context.Context, rs []store.Reservation) ([]store.Found, error) {
	if a.err != nil {
		return nil, a.err
	}
	found, err := a.Store.Reserve(ctx, rs)
	for i := range found {
		if found[i].Exists && a.record != nil {
			a.record(&found[i].Record, rs[i])
		}
	}
	return found, err
}

// path is one way through the interceptor. It runs inside a synctest bubble.
type path struct {
	name string
	run  func(p *paths)
}

// paths makes the bundles of a path, all on one tape.
type paths struct {
	*testing.T
	tape  *tape
	errs  []error // what left, of our own
	drain []func(context.Context) error
}

func (p *paths) setup(change ...func(*activity.Options)) *bundle {
	b := setup(p.T, append([]func(*activity.Options){p.tape.providers()}, change...)...)
	b.log = p.tape
	p.drain = append(p.drain, b.interceptor.Drain)
	return b
}

// call runs the first call of a bundle.
func (p *paths) call(b *bundle, body func(context.Context, string) (string, error), arg ...string) {
	p.in(b, call(1).RunID, context.Background(), body, arg...)
}

// in runs the call in a run, and on a worker, of its own.
func (p *paths) in(b *bundle, run string, worker context.Context, body func(context.Context, string) (string, error), arg ...string) { //nolint:revive // the bundle comes first everywhere
	time.Sleep(time.Second) //nolint:forbidigo // fake clock: each call is a scheduling of its own
	facts := call(1)
	facts.RunID, facts.Lineage, facts.OriginalRunID = run, run, run
	env := b.envWith(&facts)
	env.SetTestTimeout(time.Hour)
	env.SetWorkerOptions(workerOptions(b, worker))
	_, err := runIn(env, body, markArg+strings.Join(arg, ""))
	p.left(err)
}

func (p *paths) left(err error) {
	var app *temporal.ApplicationError
	if errors.As(err, &app) && strings.HasPrefix(app.Type(), "dedupe.") {
		p.errs = append(p.errs, app)
	}
}

// after runs f in a goroutine of its own, which may end in any way.
func (p *paths) after(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

func succeeds(context.Context, string) (string, error) { return markResult, nil }
func fails(context.Context, string) (string, error)    { return "", errMarked }
func panics(context.Context, string) (string, error)   { panic(markError) }
func exits(context.Context, string) (string, error)    { runtime.Goexit(); return "", nil }

func verifier(f func() (activity.Verification, error)) func(*activity.Options) {
	return withPolicy(activity.Policy{Takeover: store.Verify,
		Verify: func(context.Context, activity.VerifyRequest) (activity.Verification, error) { return f() }})
}

func alteredStore(p *paths, a *altered) func(*activity.Options) {
	a.Store = unreliable(p.T).Store
	return withStore(a)
}

var errVerifier = errors.New("no such charge: " + markArg)

// allPaths are the ways through the interceptor.
var allPaths = []path{
	{"fresh, replay, conflict", func(p *paths) {
		b := p.setup()
		p.call(b, succeeds)
		p.call(b, succeeds)
		p.call(b, succeeds, "another")
	}},
	{"other execution, refused and replayed", func(p *paths) {
		for _, policy := range []activity.Policy{{}, {OnOtherExecution: store.ReplayOther}} {
			b := p.setup(withPolicy(policy))
			p.call(b, succeeds)
			p.in(b, "run-2", context.Background(), succeeds)
		}
	}},
	{"failure, and the next attempt", func(p *paths) {
		b := p.setup()
		p.call(b, fails)
		p.call(b, succeeds)
	}},
	{"failure replayed", func(p *paths) {
		b := p.setup(alteredStore(p, &altered{record: func(r *store.Record, asked store.Reservation) { r.Invocation = asked.Invocation }}))
		for range 2 {
			p.call(b, func(context.Context, string) (string, error) {
				return "", temporal.NewNonRetryableApplicationError(markError, "Declined", errMarked, markDetail)
			})
		}
	}},
	{"unknown outcome", func(p *paths) {
		b := p.setup(withPolicy(activity.Policy{Takeover: store.Refuse}))
		p.call(b, fails)
		p.call(b, succeeds)
	}},
	{"verified, in every way", func(p *paths) {
		for _, answer := range []func() (activity.Verification, error){
			func() (activity.Verification, error) { return activity.Done(markResult), nil },
			func() (activity.Verification, error) { return activity.NotDone(), nil },
			func() (activity.Verification, error) { return activity.CannotTell(), nil },
			func() (activity.Verification, error) { return activity.CannotTell(), errVerifier },
			func() (activity.Verification, error) { panic(markArg) },
			func() (activity.Verification, error) { runtime.Goexit(); return activity.CannotTell(), nil },
		} {
			b := p.setup(verifier(answer))
			errs := p.errs
			p.call(b, fails)
			p.after(func() { p.call(b, succeeds) })
			p.errs = errs // they quote the verifier, to the workflow alone
		}
	}},
	{"too large, and replayed", func(p *paths) {
		b := p.setup(withPolicy(activity.Policy{MaxResultBytes: 4}))
		p.call(b, succeeds)
		p.call(b, succeeds)
	}},
	{"not final", func(p *paths) {
		p.call(p.setup(withPolicy(activity.Policy{IsFinal: func(any) bool { return false }})), succeeds)
	}},
	{"completed from outside", func(p *paths) {
		p.call(p.setup(), func(context.Context, string) (string, error) { return "", sdkactivity.ErrResultPending })
		for _, complete := range fromOutside {
			p.left(complete(p, p.completer()))
		}
	}},
	{"panic, and takeover after a goroutine's end", func(p *paths) {
		b := p.setup()
		p.call(b, panics)
		p.after(func() { p.call(b, exits) })
		p.call(b, succeeds)
	}},
	{"result that cannot be encoded", func(p *paths) {
		b := p.setup()
		_, err := b.run(1, func(context.Context, string) (any, error) { return func() {}, nil }, markArg)
		p.left(err)
	}},
	{"failure that cannot be encoded", func(p *paths) {
		b := p.setup(func(o *activity.Options) {
			o.FailureConverter = broken{temporal.GetDefaultFailureConverter(), &sync.Once{}}
		})
		p.call(b, fails)
	}},
	{"wait, and bounce", func(p *paths) {
		b := p.setup()
		started, leave := make(chan struct{}), make(chan struct{})
		go p.after(func() {
			p.call(b, func(context.Context, string) (string, error) { close(started); <-leave; return markResult, nil })
		})
		<-started
		p.call(b, succeeds)
		close(leave)
	}},
	{"lost lease, and stale write", func(p *paths) {
		cut := unreliable(p.T)
		first, second := p.setup(withStore(cut)), p.setup(withStore(cut.Store))
		started, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			p.call(first, func(ctx context.Context, _ string) (string, error) {
				cut.down.Store(true)
				close(started)
				<-ctx.Done()
				return markResult, nil
			})
		}()
		<-started
		time.Sleep(40 * time.Second) //nolint:forbidigo // fake clock
		p.call(second, succeeds)
		cut.down.Store(false)
		<-ended
	}},
	{"store down, refused and unprotected", func(p *paths) {
		for _, policy := range []activity.Policy{{}, {OnStoreError: activity.RunUnprotected}} {
			s := unreliable(p.T)
			s.down.Store(true)
			b := p.setup(withStore(s), withPolicy(policy))
			p.call(b, succeeds)
			s.down.Store(false)
			require.NoError(p, b.interceptor.Drain(context.Background()))
		}
	}},
	{"store down when the body has returned, for good", func(p *paths) {
		s := unreliable(p.T)
		b := p.setup(withStore(s))
		p.call(b, func(context.Context, string) (string, error) { s.down.Store(true); return markResult, nil })
		require.NoError(p, b.interceptor.Drain(context.Background()))
	}},
	{"store down while the body returns late", func(p *paths) {
		s := unreliable(p.T)
		b := p.setup(withStore(s), func(o *activity.Options) { o.SettleTimeout = 50 * time.Minute })
		p.call(b, func(context.Context, string) (string, error) {
			time.Sleep(10*time.Minute - time.Second) //nolint:forbidigo // fake clock
			s.down.Store(true)
			time.AfterFunc(time.Minute, func() { s.down.Store(false) })
			return markResult, nil
		})
		require.NoError(p, b.interceptor.Drain(context.Background()))
	}},
	{"record gone before it is settled", func(p *paths) {
		p.call(p.setup(alteredStore(p, &altered{settled: store.SettledMissing})), succeeds)
	}},
	{"store busy", func(p *paths) {
		b := p.setup(alteredStore(p, &altered{err: store.ErrContended}))
		p.call(b, succeeds)
	}},
	{"call that cannot be recorded", func(p *paths) {
		p.call(p.setup(alteredStore(p, &altered{err: store.ErrInvalidArgument})), succeeds)
	}},
	{"records that cannot be understood", func(p *paths) {
		for _, change := range []func(*store.Record, store.Reservation){
			func(r *store.Record, _ store.Reservation) { r.Version = 99 },
			func(r *store.Record, _ store.Reservation) { r.Hash = "v1:forgotten:aa" },
			func(r *store.Record, _ store.Reservation) { r.Result = []byte{0xff} },
			func(r *store.Record, _ store.Reservation) { r.Result, r.Tombstone = nil, store.TombstonePurged },
		} {
			b := p.setup(alteredStore(p, &altered{record: change}))
			p.call(b, succeeds)
			p.call(b, succeeds)
		}
	}},
	{"cancelled, and late", func(p *paths) {
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		p.in(p.setup(), "run-1", cancelled, succeeds)
		late, stop := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		defer stop()
		p.in(p.setup(), "run-1", late, succeeds)
	}},
	{"no header, and no fingerprint", func(p *paths) {
		b := p.setup(withPolicy(activity.Policy{RequireHeader: true}))
		_, err := b.run(0, succeeds, markArg)
		p.left(err)
		b = p.setup()
		_, err = b.run(0, succeeds, markArg)
		p.left(err)
		p.call(p.setup(withPolicy(activity.Policy{Fingerprint: func([]any) ([]byte, error) { return nil, errors.New("no form") }})), succeeds)
	}},
}

// broken is a failure converter that panics once, quoting what it was given.
type broken struct {
	converter.FailureConverter
	once *sync.Once
}

func (b broken) ErrorToFailure(err error) *failurepb.Failure {
	b.once.Do(func() { panic(err.Error()) })
	return b.FailureConverter.ErrorToFailure(err)
}
