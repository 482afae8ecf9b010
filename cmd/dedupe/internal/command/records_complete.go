package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/spf13/cobra"
	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// maxGiven is the largest result that an operator may give: Temporal's own limit.
const maxGiven = 2 << 20

func newRecordsComplete(env Env, flags *adminFlags) *cobra.Command {
	var f changeFlags
	var file string
	var none, force bool
	c := &cobra.Command{
		Use:   "complete [KEY...] (--result-json FILE | --no-result) --reason TEXT [--yes]",
		Short: "The effect was made: record its result, which every attempt replays",
		Long: `Say that a call had its effect, and what its result is: every attempt to come gets
that result, and the body does not run.

--result-json names a file with the result as JSON, as Temporal's default converter
would write it (json/plain); - is standard input. A client with an encrypting codec
reads it too if the codec passes over what it has not encoded, as Temporal's own
samples do. The records that it is for are named by keys or by --plan. --no-result is
for an activity that returns nothing but an error.
` + changeHelp,
		RunE: func(c *cobra.Command, args []string) error {
			if none == (file != "") {
				return usagef("dedupe: complete wants --result-json or --no-result, one of the two")
			}
			if file == "-" && f.plan == "-" {
				return usagef("dedupe: --result-json and --plan cannot both be standard input")
			}
			if file != "" && f.selects.given(c) {
				return usagef("dedupe: --result-json gives one result, and flags may select several records: name those that have this result by their keys")
			}
			change := store.Change{Verb: store.VerbComplete, Force: force, Keep: f.keep}
			says := "complete: every attempt replays a result without a payload, and the body does not run."
			if !none {
				given, err := resultFrom(env, file)
				if err != nil {
					return err
				}
				change.Result = given
				says = fmt.Sprintf("complete: every attempt replays the given result of %d bytes, and the body does not run.", len(given))
			}
			return f.run(c, env, flags, args, request{change: change, says: forced([]string{says}, force), apply: resolve})
		},
	}
	f.register(c)
	c.Flags().StringVar(&file, "result-json", "", "`file` with the result as JSON; - is standard input")
	c.Flags().BoolVar(&none, "no-result", false, "the activity returns no result")
	registerForce(c, &force)
	f.registerKeep(c)
	return c
}

// resultFrom encodes the JSON of a file as a worker's result.
func resultFrom(env Env, file string) ([]byte, error) {
	text, err := readInput(env, file)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSpace(text)
	if string(text) == "null" { // what jq prints for a member that is not there
		return nil, usagef("dedupe: --result-json %s: null is no result; say --no-result where the activity returns none", file)
	}
	if !json.Valid(text) {
		return nil, usagef("dedupe: --result-json %s: not one JSON value", file)
	}
	if !utf8.Valid(text) {
		return nil, usagef("dedupe: --result-json %s: a string has invalid UTF-8", file)
	}
	var problem *canonical.Error
	if _, err := canonical.JSON(nil, text, canonical.Exact); errors.As(err, &problem) {
		return nil, usagef("dedupe: --result-json %s: readers would not agree on it: %s", file, problem.Reason)
	}
	encoded, err := proto.Marshal(&commonpb.Payloads{Payloads: []*commonpb.Payload{{
		Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: text,
	}}})
	if err == nil && len(encoded) > maxGiven {
		err = usagef("dedupe: --result-json %s: %d bytes, Temporal takes %d", file, len(encoded), maxGiven)
	}
	return encoded, err
}
