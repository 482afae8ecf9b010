package dedupe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
)

// explored are the policies of the activity types that plans call; "off" has none.
var explored = dedupe.Policies{
	"wid": {}, "wid2": {RequireHeader: true}, "exe": {Scope: dedupe.ScopeExecution}, "run": {Scope: dedupe.ScopeRun},
	"rep": {OnOtherExecution: dedupe.ReplayOther}, "ref": {Takeover: dedupe.Refuse},
}

var exploredTypes = []string{"wid", "wid2", "exe", "run", "rep", "ref", "off"}

// worlds are the scenarios of this process.
var worlds sync.Map

func worldOf(id string) *world {
	w, _ := worlds.Load(id)
	return w.(*world)
}

// tagKey is where a tag stands in a context.
type tagKey struct{}

// tags carries tags from workflows to activities and children.
type tags struct{}

// tripped is what workflow code panics with on purpose.
const tripped = "tripped"

const tagHeader = "explore-tag"

func (tags) Inject(context.Context, workflow.HeaderWriter) error { return nil }

func (tags) Extract(ctx context.Context, r workflow.HeaderReader) (context.Context, error) {
	t, err := readTag(r)
	if t == nil {
		return ctx, err
	}
	return context.WithValue(ctx, tagKey{}, *t), nil
}

func (tags) InjectFromWorkflow(ctx workflow.Context, w workflow.HeaderWriter) error {
	t, ok := ctx.Value(tagKey{}).(tag)
	if !ok {
		return nil
	}
	p, err := converter.GetDefaultDataConverter().ToPayload(t)
	if err == nil {
		w.Set(tagHeader, p)
	}
	return err
}

func (tags) ExtractToWorkflow(ctx workflow.Context, r workflow.HeaderReader) (workflow.Context, error) {
	t, err := readTag(r)
	if t == nil {
		return ctx, err
	}
	return workflow.WithValue(ctx, tagKey{}, *t), nil
}

func readTag(r workflow.HeaderReader) (*tag, error) {
	p, ok := r.Get(tagHeader)
	if !ok {
		return nil, nil
	}
	var t tag
	return &t, converter.GetDefaultDataConverter().FromPayload(p, &t)
}

// program is what the workflow is started with.
type program struct {
	World string
	Plan  plan
	Run   int // of the plan
}

// reader carries a program out.
type reader struct {
	*world
	program
	self   tag // of the run
	where  string
	counts map[string]int
}

// carryOut is the workflow.
func carryOut(ctx workflow.Context, p program) error {
	info := workflow.GetInfo(ctx)
	x := &reader{world: worldOf(p.World), program: p, counts: map[string]int{}, where: info.WorkflowExecution.ID}
	x.self = tag{World: p.World, Lineage: info.FirstRunID, Execution: info.OriginalRunID, RunID: info.WorkflowExecution.RunID}
	if given, ok := ctx.Value(tagKey{}).(tag); ok { // a child without an ID of its own
		x.where, x.self.Lineage, x.self.Input = given.ID, given.Lineage, given.Input
		if info.ContinuedExecutionRunID == "" {
			x.self.Execution = given.Execution
		}
	}
	x.sees(info.WorkflowExecution.ID, info.WorkflowExecution.RunID)
	if p.Plan.Listen {
		if err := x.listen(ctx); err != nil {
			return err
		}
	}
	x.all(ctx, p.Plan.Runs[p.Run].Do)
	run := p.Plan.Runs[p.Run]
	switch next := (program{World: p.World, Plan: p.Plan, Run: p.Run + 1}); {
	case info.Attempt <= run.Fail:
		return temporal.NewApplicationError("fails in the end", "Scripted")
	case next.Run == len(p.Plan.Runs):
		return nil
	case run.WithOptions:
		return workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{}, info.WorkflowType.Name, next)
	default:
		return workflow.NewContinueAsNewError(ctx, info.WorkflowType.Name, next)
	}
}

// listen carries out what signals and updates say.
func (x *reader) listen(ctx workflow.Context) error {
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var a action
			workflow.GetSignalChannel(ctx, "do").Receive(ctx, &a)
			workflow.Go(ctx, func(ctx workflow.Context) { x.carry(ctx, a) })
		}
	})
	return workflow.SetUpdateHandler(ctx, "do", func(ctx workflow.Context, a action) error {
		x.carry(ctx, a)
		return nil
	})
}

func (x *reader) all(ctx workflow.Context, actions []action) {
	for _, a := range actions {
		x.carry(ctx, a)
	}
}

func (x *reader) carry(ctx workflow.Context, a action) {
	switch a.Kind {
	case doCall:
		x.call(ctx, a)
	case doRest:
		_ = workflow.Sleep(ctx, time.Duration(a.Millis)*time.Millisecond)
	case doTrip:
		if x.trip(a.ID + x.self.RunID) {
			panic(tripped)
		}
	case doChild:
		x.child(ctx, a)
	case doTogether, doFirst:
		x.together(ctx, a)
	case doShuffle:
		var order []int
		_ = workflow.SideEffect(ctx, func(workflow.Context) any { return rand.Perm(len(a.Branches)) }).Get(&order)
		for _, i := range order {
			x.all(ctx, a.Branches[i])
		}
	}
}

func (x *reader) together(ctx workflow.Context, a action) {
	inner, cancel := workflow.WithCancel(ctx)
	through := workflow.NewBufferedChannel(ctx, len(a.Branches))
	for _, branch := range a.Branches {
		workflow.Go(inner, func(ctx workflow.Context) {
			x.all(ctx, branch)
			through.Send(ctx, nil)
		})
	}
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(through, func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		if a.Kind == doFirst {
			cancel()
		}
	})
	for range a.Branches {
		selector.Select(ctx)
	}
}

// cancelled returns a context that ends by itself.
func cancelled(ctx workflow.Context, millis int) workflow.Context {
	if millis == 0 {
		return ctx
	}
	inner, cancel := workflow.WithCancel(ctx)
	if millis < 0 {
		cancel()
		return inner
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.Sleep(ctx, time.Duration(millis)*time.Millisecond)
		cancel()
	})
	return inner
}

// number counts by the model's own rules, and names a call within its run.
func (x *reader) number(kind, typ string, a action, arguments string, byArgs bool) string {
	n := 0
	if kind != "l" {
		x.counts[kind+" "+typ]++
		n = x.counts[kind+" "+typ]
	}
	name := ""
	if a.Step != "" {
		name += " step " + a.Step
	}
	if byArgs {
		name += " args " + arguments
	}
	if name != "" && !a.Exempt && a.Business == "" {
		x.counts[kind+" "+typ+name]++
		n = x.counts[kind+" "+typ+name]
	}
	return fmt.Sprintf("%d%s", n, name)
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// business begins the identity of calls that have a business key.
const business = "business "

// identify derives a call's identity from what the docs say.
func (x *reader) identify(ctx workflow.Context, a action) tag {
	t := x.self
	kind := "a"
	if a.Local {
		kind = "l"
	}
	arguments := encoded(a.Asked)
	name := x.number(kind, a.Type, a, arguments, a.ByArgs || a.Local)
	t.Type, t.Strict, t.Request = a.Type, a.Strict, arguments+" of "+x.self.Input
	info := workflow.GetInfo(ctx)
	switch {
	case a.Exempt || a.Type == "off":
		t.Free = true
		t.ID = "free " + name
	case a.Business != "":
		t.Shared = true
		t.ID = business + a.Type + " " + a.Business
		t.Request = arguments
	case a.Type == "run":
		t.ID = fmt.Sprint(kind, "r ", info.WorkflowExecution.ID, " ", x.self.RunID, " ", a.Type, " ", name)
	case a.Type == "exe":
		t.ID = fmt.Sprint(kind, "e ", x.where, " ", x.self.Execution, " ", a.Type, " ", name)
	default:
		t.Shared = a.Type == "rep"
		t.ID = fmt.Sprint(kind, "w ", x.where, " ", x.Run, " ", a.Type, " ", name)
	}
	return t
}

func marked(ctx workflow.Context, a action) workflow.Context {
	if a.Step != "" {
		ctx = dedupe.WithStepKey(ctx, a.Step)
	}
	if a.ByArgs {
		ctx = dedupe.WithNumberByArguments(ctx)
	}
	if a.Business != "" {
		ctx = dedupe.WithBusinessKey(ctx, a.Business)
	}
	if a.Exempt {
		ctx = dedupe.WithoutDedupe(ctx)
	}
	return ctx
}

func (x *reader) call(ctx workflow.Context, a action) {
	if a.Business != "" {
		a.Business += " " + x.World
	}
	t := x.identify(ctx, a)
	ctx = workflow.WithValue(marked(cancelled(ctx, a.CancelAfter), a), tagKey{}, t)
	timeout := 10 * time.Second
	if strings.Contains(a.Asked.Script, "l") {
		timeout = time.Second
	}
	retry := &temporal.RetryPolicy{InitialInterval: tick, BackoffCoefficient: 1, MaximumAttempts: a.Attempts}
	if a.Strict {
		retry.NonRetryableErrorTypes = []string{"Scripted"}
	}
	beat := time.Duration(0)
	if a.Beat {
		beat = 2 * time.Second
	}
	execute := workflow.ExecuteActivity
	if a.Local {
		execute = workflow.ExecuteLocalActivity
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: timeout, RetryPolicy: retry})
	} else {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: timeout, RetryPolicy: retry, WaitForCancellation: a.Linger, HeartbeatTimeout: beat})
	}
	var got reply
	if err := execute(ctx, a.Type, a.Asked.What, a.Asked.Script, a.Asked.List).Get(ctx, &got); err != nil {
		x.failed(t, err)
		return
	}
	x.answered(t, a.Asked, got)
}

func (x *reader) child(ctx workflow.Context, a action) {
	p := program{World: x.World, Plan: *a.Child}
	name := x.number("c", a.Type, a, encoded(p), a.ByArgs)
	o := workflow.ChildWorkflowOptions{WaitForCancellation: a.Linger, RetryPolicy: &temporal.RetryPolicy{
		InitialInterval: tick, BackoffCoefficient: 1, MaximumAttempts: 4}}
	t := tag{
		World: x.World, ID: fmt.Sprint(x.where, " > ", x.Run, " ", a.Type, " ", name),
		Lineage: x.self.Lineage + " > " + a.Type + name, Execution: x.self.Execution + " > " + a.Type + name, Input: x.self.Input,
	}
	if !a.ByArgs {
		t.Input += " > " + encoded(p)
	}
	ctx = marked(cancelled(ctx, a.CancelAfter), action{Step: a.Step, ByArgs: a.ByArgs})
	if a.ID != "" {
		o.WorkflowID = x.World + "-" + a.ID
	}
	ctx = workflow.WithChildOptions(ctx, o)
	if a.ID != "" {
		ctx = workflow.WithValue(ctx, tagKey{}, nil)
	} else {
		ctx = workflow.WithValue(ctx, tagKey{}, t)
	}
	if err := workflow.ExecuteChildWorkflow(ctx, a.Type, p).Get(ctx, nil); err != nil {
		x.failed(t, err)
	}
}

// failed looks at an error that the workflow got.
func (x *reader) failed(t tag, err error) {
	var app *temporal.ApplicationError
	switch {
	case errors.As(err, &app) && strings.HasPrefix(app.Type(), "dedupe."):
		x.refused(t, app)
	case errors.As(err, &app):
		// A call that is free keeps the mark of NoEffect, and a local activity whose
		// worker stops ends with its context's error.
		if app.Type() != "Scripted" && app.Message() != context.Canceled.Error() {
			x.wrong("unexpected error for %s: %v", t.ID, err)
		}
	case temporal.IsCanceledError(err), errors.As(err, new(*temporal.TimeoutError)), errors.As(err, new(*temporal.PanicError)),
		errors.As(err, new(*temporal.TerminatedError)), errors.As(err, new(*temporal.ChildWorkflowExecutionAlreadyStartedError)):
	default:
		x.wrong("unexpected error for %s: %T %v", t.ID, err, err)
	}
}

// registerExplored registers everything that plans need.
func registerExplored(r worker.Registry) {
	for _, name := range []string{"explore", "kid", "kid2"} {
		registerWorkflow(r, name, carryOut)
	}
	for _, typ := range exploredTypes {
		register(r, typ, func(ctx context.Context, what, script string, list []int) (reply, error) {
			return exploredBody(ctx, typ, asked{what, script, list})
		})
	}
}

func exploredBody(ctx context.Context, typ string, a asked) (got reply, err error) {
	t := ctx.Value(tagKey{}).(tag)
	w := worldOf(t.World)
	if run := sdkactivity.GetInfo(ctx).WorkflowExecution.RunID; run != t.RunID {
		// Pending at the point of a reset: the new run has it with the old header.
		if t.Type == "run" && !t.Shared && !t.Free {
			t.ID = strings.Replace(t.ID, t.RunID, run, 1)
		}
		t.RunID = run
	}
	got = reply{Type: typ, Asked: a, Nonce: uuid.NewString()}
	b, earlier := w.begin(t, got.Nonce)
	letter := byte(endedWell)
	if earlier < len(a.Script) {
		letter = a.Script[earlier]
	}
	defer func() {
		if letter != 'a' {
			w.end(b, letter)
		}
	}()
	pause := rand.N(15 * time.Millisecond)
	switch letter {
	case 'w':
		pause = 200 * time.Millisecond
	case 'l':
		ctx, pause = context.WithoutCancel(ctx), 1300*time.Millisecond
	}
	select {
	case <-ctx.Done():
		letter = endedEarly
		return reply{}, ctx.Err()
	case <-time.After(pause):
	}
	if sdkactivity.GetInfo(ctx).HeartbeatTimeout > 0 {
		sdkactivity.RecordHeartbeat(ctx)
	}
	switch letter {
	case 'f':
		return reply{}, temporal.NewApplicationError("fails", "Scripted")
	case 'n':
		return reply{}, temporal.NewNonRetryableApplicationError("fails for good", "Scripted", nil)
	case 'z':
		return reply{}, dedupe.NoEffect(temporal.NewApplicationError("had no effect", "Scripted"))
	case 'Z':
		return reply{}, dedupe.NoEffect(temporal.NewNonRetryableApplicationError("had no effect, for good", "Scripted", nil))
	case 'p':
		panic("panics")
	case 'a':
		if t.Free || sdkactivity.GetInfo(ctx).IsLocalActivity {
			break
		}
		handle, answer := dedupe.PendingHandle(ctx), got
		w.completions.Go(func() {
			<-time.After(rand.N(60 * time.Millisecond))
			switch err := dedupe.CompleteAsync(context.Background(), w.async, handle, answer, nil); {
			case err == nil, errors.Is(err, dedupe.ErrNotWaiting):
				w.end(b, endedWell)
			case errors.Is(err, dedupe.ErrStaleHandle):
				w.end(b, endedEarly)
			default:
				w.wrong("unexpected error of CompleteAsync for %s: %v", t.ID, err)
			}
		})
		return reply{}, sdkactivity.ErrResultPending
	case endedDraft:
		got.Draft = true
		return got, nil
	case 'd', 'D':
		made, err := dedupe.Do(ctx, "effect", func(context.Context) (reply, error) {
			w.effect(t)
			return got, nil
		})
		switch {
		case errors.Is(err, dedupe.ErrNotDeduplicated) && t.Free:
		case err != nil:
			letter = 'd'
			return reply{}, err
		case !sameAsked(made.Asked, a) || made.Type != typ:
			w.wrong("wrong effect: %s asked %v and got the effect of %v", t.ID, a, made.Asked)
		}
		if letter == 'd' {
			return reply{}, temporal.NewApplicationError("fails after its effect", "Scripted")
		}
	}
	letter = endedWell
	return got, nil
}
