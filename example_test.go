package dedupe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

// pay calls one activity, as a workflow with the given options.
func pay(mark func(workflow.Context) workflow.Context) func(workflow.Context) (string, error) {
	return func(ctx workflow.Context) (string, error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: 10 * time.Second,
			RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Millisecond, MaximumAttempts: 3},
		})
		if mark != nil {
			ctx = mark(ctx)
		}
		var receipt string
		err := workflow.ExecuteActivity(ctx, "Charge").Get(ctx, &receipt)
		return receipt, err
	}
}

// runOnce runs a workflow in Temporal's test environment with a plugin, as a test
// of yours would.
func runOnce(records dedupe.Store, policy dedupe.Policy, flow func(workflow.Context) (string, error), charge any) (string, error) {
	plugin, err := dedupe.NewPlugin(dedupe.Options{
		Store: records, Policies: dedupe.Policies{"Charge": policy}, Logger: slog.New(slog.DiscardHandler),
		DataConverter: converter.GetDefaultDataConverter(), // else the client's, of which there is none here
	})
	if err != nil {
		return "", err
	}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet)
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Plugins: []worker.Plugin{plugin}, WorkerStopTimeout: time.Second})
	env.RegisterActivityWithOptions(charge, activity.RegisterOptions{Name: "Charge"})
	env.ExecuteWorkflow(flow)
	if err := env.GetWorkflowError(); err != nil {
		return "", err
	}
	var receipt string
	err = env.GetWorkflowResult(&receipt)
	return receipt, err
}

func ExampleNewPlugin() {
	records, err := memstore.New(memstore.Options{}) // pgstore.New in production
	if err != nil {
		panic(err)
	}
	plugin, err := dedupe.NewPlugin(dedupe.Options{
		Store: records,
		Policies: dedupe.Policies{
			"ChargePayment": {},
			"SendReceipt":   {Retention: 24 * time.Hour},
		},
	})
	if err != nil {
		panic(err)
	}
	options := client.Options{Plugins: []client.Plugin{plugin}}
	fmt.Println(len(options.Plugins), "plugin; client.Dial(options) and worker.New do the rest")
	// Output: 1 plugin; client.Dial(options) and worker.New do the rest
}

func ExampleNewPlugin_mistakes() {
	_, err := dedupe.NewPlugin(dedupe.Options{})
	fmt.Println(err)
	records, _ := memstore.New(memstore.Options{})
	_, err = dedupe.NewPlugin(dedupe.Options{Store: records})
	fmt.Println(err)
	_, err = dedupe.NewPlugin(dedupe.Options{Store: records, Policies: dedupe.Policies{"Charge": {Takeover: dedupe.Verify}}})
	fmt.Println(err)
	// Output:
	// dedupe: Options.Store is nil: pass a store such as pgstore.New(…) or memstore.New(…)
	// dedupe: Options.Policies is empty: name the activity types to deduplicate, or "*" for all of them
	// dedupe: Options.Policies["Charge"]: Takeover is "verify", but Verify is not set
}

func ExampleKey() {
	records, _ := memstore.New(memstore.Options{})
	var keys []dedupe.ProviderKey
	receipt, err := runOnce(records, dedupe.Policy{}, pay(nil), func(ctx context.Context) (string, error) {
		keys = append(keys, dedupe.Key(ctx)) // send it as Idempotency-Key
		if len(keys) == 1 {
			return "", errors.New("timeout talking to the provider")
		}
		return "paid", nil
	})
	fmt.Println(receipt, err)
	fmt.Println("attempts:", len(keys), "same key:", keys[0] == keys[1], "length:", len(keys[0]))
	fmt.Println("one per service:", keys[0].For("stripe") != keys[0].For("bank"))
	// Output:
	// paid <nil>
	// attempts: 2 same key: true length: 64
	// one per service: true
}

func ExampleWithBusinessKey() {
	records, _ := memstore.New(memstore.Options{})
	bodies := 0
	charge := func(context.Context) (string, error) {
		bodies++
		return fmt.Sprint("receipt ", bodies), nil
	}
	invoice := func(ctx workflow.Context) workflow.Context { return dedupe.WithBusinessKey(ctx, "invoice-7") }
	for range 2 { // two workflows that pay the same invoice
		receipt, err := runOnce(records, dedupe.Policy{}, pay(invoice), charge)
		fmt.Println(receipt, err)
	}
	fmt.Println("bodies:", bodies)
	// Output:
	// receipt 1 <nil>
	// receipt 1 <nil>
	// bodies: 1
}

func ExampleNoEffect() {
	records, _ := memstore.New(memstore.Options{})
	attempts := 0
	// Under Refuse a failed attempt would leave an outcome that nobody knows, if
	// its author did not know better.
	receipt, err := runOnce(records, dedupe.Policy{Takeover: dedupe.Refuse}, pay(nil), func(context.Context) (string, error) {
		if attempts++; attempts == 1 {
			return "", dedupe.NoEffect(errors.New("connection refused"))
		}
		return "paid", nil
	})
	fmt.Println(receipt, err, "in", attempts, "attempts")
	// Output: paid <nil> in 2 attempts
}

func ExamplePolicy_refuse() {
	records, _ := memstore.New(memstore.Options{})
	_, err := runOnce(records, dedupe.Policy{Takeover: dedupe.Refuse}, pay(nil), func(context.Context) (string, error) {
		return "", errors.New("timeout talking to the provider")
	})
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == dedupe.ErrTypeOutcomeUnknown {
		fmt.Println("ask a human; the body ran once")
	}
	// Output: ask a human; the body ran once
}

func ExamplePolicy_verify() {
	records, _ := memstore.New(memstore.Options{})
	policy := dedupe.Policy{
		Takeover: dedupe.Verify,
		Verify: func(_ context.Context, _ dedupe.VerifyRequest) (dedupe.Verification, error) {
			// Ask the provider what became of the request's Key.
			return dedupe.Done("receipt of the first attempt"), nil
		},
	}
	receipt, err := runOnce(records, policy, pay(nil), func(context.Context) (string, error) {
		return "", errors.New("timeout talking to the provider")
	})
	fmt.Println(receipt, err)
	// Output: receipt of the first attempt <nil>
}

func ExampleWithoutDedupe() {
	records, _ := memstore.New(memstore.Options{})
	bodies := 0
	for range 2 {
		_, err := runOnce(records, dedupe.Policy{}, pay(dedupe.WithoutDedupe), func(context.Context) (string, error) {
			bodies++
			return "read", nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("bodies:", bodies)
	// Output: bodies: 2
}
