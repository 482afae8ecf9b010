package dedupe_test

import (
	"context"
	"fmt"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
)

func ExampleParseConfig() {
	// LoadConfig("dedupe.yaml") reads the same from a file.
	config, err := dedupe.ParseConfig("dedupe.yaml", []byte(`
defaults:
  retention: 240h
activities:
  ChargePayment:
    takeover: verify
  SendReceipt: {}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	records, _ := memstore.New(memstore.Options{})
	options, err := config.Apply(dedupe.Options{
		Store: records,
		// What a file cannot say stays in code.
		Policies: dedupe.Policies{"ChargePayment": {Verify: askProvider}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range config.Activities() {
		p := options.Policies[name]
		fmt.Println(name, p.Retention, p.Takeover == dedupe.Verify, p.Verify != nil)
	}
	_, err = dedupe.NewPlugin(options)
	fmt.Println(err)
	// Output:
	// ChargePayment 240h0m0s true true
	// SendReceipt 240h0m0s false false
	// <nil>
}

func askProvider(context.Context, dedupe.VerifyRequest) (dedupe.Verification, error) {
	return dedupe.CannotTell(), nil
}

// Everything that is wrong with a file is told at once, with its place.
func ExampleParseConfig_problems() {
	_, err := dedupe.ParseConfig("dedupe.yaml", []byte(`activities:
  ChargePayment:
    takover: refuse
    retention: 7d
`))
	fmt.Println(err)
	// Output:
	// dedupe: dedupe.yaml has 2 problems:
	//   dedupe.yaml:3:5: activities.ChargePayment.takover: no such field: want one of off, scope, retention, takeover, verify_timeout, on_other_execution, require_header, max_result_bytes, wait_limit, max_overrun, on_store_error
	//   dedupe.yaml:4:16: activities.ChargePayment.retention: "7d": days and weeks are no units, since not every day has 24 hours: write hours, as "168h" for a week
}
