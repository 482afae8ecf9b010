package dedupe_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	dedupe "github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
)

const (
	// exploreVar is how long to explore, such as 10m; by default a fixed set of
	// scenarios. exploreFirstVar is the first seed, 1 by default.
	exploreVar      = "DEDUPE_EXPLORE"
	exploreFirstVar = "DEDUPE_EXPLORE_SEED"
	// exploredScenarios take about 20 seconds, most of which are Temporal's own delays.
	exploredScenarios = 32
	// exploreLanes are the scenarios at a time.
	exploreLanes = 12
	// exploreRounds is when a scenario begins nothing more, and exploreEnd when it is
	// given up: a program may wait for what a reset has lost, a child's end for instance.
	exploreRounds = 8 * time.Second
	exploreEnd    = 20 * time.Second
)

// Workflows of random programs are started, signalled, updated, cancelled, reset and
// started again, on workers that forget them all the time. A model that counts calls by
// itself says which body may have answered which call.
func TestExploredProgramsGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	e := newExplorer(t)
	var duration time.Duration
	if text := os.Getenv(exploreVar); text != "" {
		var err error
		duration, err = time.ParseDuration(text)
		require.NoError(t, err, exploreVar)
	}
	first := uint64(1)
	if text := os.Getenv(exploreFirstVar); text != "" {
		_, err := fmt.Sscan(text, &first)
		require.NoError(t, err, exploreFirstVar)
	}
	end := time.Now().Add(duration)
	var next atomic.Uint64
	var lanes sync.WaitGroup
	for range exploreLanes {
		lanes.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= exploredScenarios && !time.Now().Before(end) {
					return
				}
				e.explore(first + n)
			}
		})
	}
	lanes.Wait()
	require.NotZero(t, e.counts["answers"])
	for what, n := range e.counts {
		t.Logf("%6d %s", n, what)
	}
}

// explorer has the workers, and counts what has happened.
type explorer struct {
	*bundle
	client client.Client

	mu     sync.Mutex
	counts map[string]int
}

func newExplorer(t *testing.T) *explorer {
	e := &explorer{bundle: setup(t), counts: map[string]int{}}
	policies := dedupe.Policies{}
	for name, p := range explored {
		p.IsFinal = func(result any) bool {
			got, ok := result.(reply)
			return !ok || !got.Draft
		}
		policies[name] = p
	}
	plugin, err := dedupe.NewPlugin(dedupe.Options{Store: e.store, Policies: policies, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	e.client, err = client.Dial(client.Options{
		HostPort: devservertest.RequireServer(t).Address(), Logger: quiet,
		Plugins: []client.Plugin{plugin}, ContextPropagators: []workflow.ContextPropagator{tags{}},
	})
	require.NoError(t, err)
	t.Cleanup(e.client.Close)
	for range 2 {
		e.work(e.client, e.queue, registerExplored)
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
				worker.PurgeStickyWorkflowCache()
			}
		}
	}()
	t.Cleanup(func() { close(done); <-stopped })
	return e
}

// scenario is what happens to one workflow ID.
type scenario struct {
	*world
	*planner
	e    *explorer
	done map[string]int
}

// explore carries a scenario out. Its seed gives the programs and what happens to them;
// the order in which it happens is the machine's.
func (e *explorer) explore(seed uint64) {
	s := &scenario{
		world:   newWorld(fmt.Sprintf("explore-%d-%s", seed, uuid.NewString())),
		planner: &planner{Rand: rand.New(rand.NewPCG(seed, 0))}, e: e, done: map[string]int{},
	}
	s.async = dedupe.AsyncOptions{Client: e.client, Store: e.store}
	worlds.Store(s.id, s.world)
	s.live(e.t.Context())
	_ = e.client.TerminateWorkflow(e.t.Context(), s.id, "", "the scenario is over") // it may have ended
	s.completions.Wait()
	s.audit(e.t.Context())
	counts, findings, trace := s.judge()
	if len(findings) > 0 {
		e.t.Errorf("seed %d: %s\n\n%s", seed, strings.Join(findings, "\n"), strings.Join(trace, "\n"))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, some := range []map[string]int{counts, s.done} {
		for what, n := range some {
			e.counts[what] += n
		}
	}
	e.counts["scenarios"]++
}

// live starts the workflow again and again, and resets it in between.
func (s *scenario) live(ctx context.Context) {
	p := s.plan(0)
	for range 1 + s.IntN(3) {
		s.note("plan %v", p)
		s.start(ctx, p)
		s.meddle(ctx, s.IntN(5))
		if !s.ends(ctx) {
			return
		}
		for range s.IntN(4) {
			s.reset(ctx)
			s.meddle(ctx, s.IntN(2))
			if !s.ends(ctx) {
				return
			}
		}
		if s.oneIn(3) {
			p = s.plan(0)
		}
	}
}

func (s *scenario) start(ctx context.Context, p plan) {
	_, err := s.e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: s.id, TaskQueue: s.e.queue, WorkflowExecutionTimeout: time.Minute,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		RetryPolicy:           &temporal.RetryPolicy{InitialInterval: tick, BackoffCoefficient: 1, MaximumAttempts: 4},
	}, "explore", program{World: s.id, Plan: p})
	s.did("start", err)
}

// did counts what was done, if Temporal let it.
func (s *scenario) did(what string, err error) {
	if err != nil {
		what += ", refused by Temporal"
	}
	s.done[what]++
	s.note("%s: %v", what, err)
}

// meddle does to the running workflow what may happen to one.
func (s *scenario) meddle(ctx context.Context, times int) {
	for range times {
		<-time.After(rand.N(60 * time.Millisecond))
		switch s.IntN(13) {
		case 0, 1, 2, 3:
			s.did("signal", s.e.client.SignalWorkflow(ctx, s.id, "", "do", s.call()))
		case 4, 5, 6, 7:
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			_, err := s.e.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
				WorkflowID: s.id, UpdateName: "do", Args: []any{s.call()}, WaitForStage: client.WorkflowUpdateStageAccepted,
			})
			cancel()
			s.did("update", err)
		case 8:
			s.did("cancel", s.e.client.CancelWorkflow(ctx, s.id, ""))
		default:
			s.reset(ctx)
		}
	}
}

// reset resets some run, a child's at times, to some workflow task.
func (s *scenario) reset(ctx context.Context) {
	id := s.id
	if all := s.ids(); s.oneIn(8) && len(all) > 0 {
		id = one(s.planner, all...)
	}
	runs := s.runsOf(id)
	if len(runs) == 0 {
		return
	}
	run := one(s.planner, runs...)
	var tasks []int64
	for _, event := range s.e.history(s.e.client, s.e.client.GetWorkflow(ctx, id, run)).GetEvents() {
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			tasks = append(tasks, event.GetEventId())
		}
	}
	if len(tasks) == 0 {
		return
	}
	var without []enumspb.ResetReapplyExcludeType
	for _, kind := range []enumspb.ResetReapplyExcludeType{enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL, enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE} {
		if s.oneIn(2) {
			without = append(without, kind)
		}
	}
	_, err := s.e.client.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run},
		Reason: "explore", RequestId: uuid.NewString(), WorkflowTaskFinishEventId: one(s.planner, tasks...), ResetReapplyExcludeTypes: without,
	})
	s.did("reset", err)
}

// ends waits for the end of the workflow's last run, and tells whether there is time
// for more.
func (s *scenario) ends(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, exploreEnd)
	defer cancel()
	for {
		_ = s.e.client.GetWorkflow(ctx, s.id, "").Get(ctx, nil)
		d, err := s.e.client.DescribeWorkflowExecution(ctx, s.id, "")
		status := d.GetWorkflowExecutionInfo().GetStatus()
		switch {
		case ctx.Err() != nil:
			s.done["given up"]++
			return false
		case err == nil && status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && status != enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
			s.done["ended as "+status.String()]++
			return time.Since(s.begun) < exploreRounds
		}
	}
}

// audit looks for workflow tasks that failed.
func (s *scenario) audit(ctx context.Context) {
	for _, id := range s.ids() {
		for _, run := range s.runsOf(id) {
			for _, event := range s.e.history(s.e.client, s.e.client.GetWorkflow(ctx, id, run)).GetEvents() {
				switch f := event.GetWorkflowTaskFailedEventAttributes(); f.GetCause() {
				case enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNSPECIFIED, enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
					enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, enumspb.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND:
				default:
					if !strings.Contains(f.GetFailure().GetMessage(), tripped) {
						s.wrong("failed task of %s, run %s: %v %s", id, run, f.GetCause(), f.GetFailure().GetMessage())
					}
				}
			}
		}
	}
}
