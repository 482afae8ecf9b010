package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func newRecordsFail(env Env, flags *adminFlags) *cobra.Command {
	var f changeFlags
	var message, errType string
	var force bool
	c := &cobra.Command{
		Use:   "fail [KEY...] --message TEXT [--type TYPE] --reason TEXT [--yes]",
		Short: "No effect was made: let the next attempt of the same scheduling fail for good",
		Long: `Say that a call has failed for good, without an effect: the next attempt of the
same scheduling gets a non-retryable application failure, which the workflow sees,
and the body does not run.

Another scheduling of the call, after a reset or a retry of the workflow or under
the same business key, runs the body, as it does after every failure. To keep it
from running ever again, complete it with a result that says so. That is so of most
records that are held: their activities have ended with dedupe.OutcomeUnknown, so
that a reset is the only attempt to come.
` + changeHelp,
		RunE: func(c *cobra.Command, args []string) error {
			if message == "" {
				return usagef("dedupe: fail wants --message: the workflow sees it")
			}
			err := temporal.NewApplicationErrorWithOptions(message, errType, temporal.ApplicationErrorOptions{NonRetryable: true})
			failure, problem := proto.Marshal(temporal.GetDefaultFailureConverter().ErrorToFailure(err))
			if problem != nil {
				return usagef("dedupe: --message or --type: %w", problem)
			}
			return f.run(c, env, flags, args, request{
				change: store.Change{Verb: store.VerbFail, Force: force, Keep: f.keep, Failure: failure},
				says:   forced([]string{"fail: the next attempt of the same scheduling gets the given failure; another scheduling runs the body."}, force),
				warns:  warnOfHeld,
				apply:  resolve,
			})
		},
	}
	f.register(c)
	c.Flags().StringVar(&message, "message", "", "the failure's `text`; required")
	c.Flags().StringVar(&errType, "type", "dedupe.FailedByOperator", "the failure's `type`, which workflows compare")
	registerForce(c, &force)
	f.registerKeep(c)
	return c
}

// warnOfHeld says for whom the failure of a held record comes too late.
func warnOfHeld(out io.Writer, r report) {
	held := 0
	for _, one := range r.Records {
		if one.Result == resultWould && one.seen.Held {
			held++
		}
	}
	if held == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, `warning: %d of %d records: held, so that dedupe.OutcomeUnknown has ended their activities, which get no other
failure. A reset schedules them anew, and then RUNS THE BODY: to keep it from running, complete them with
a result that says so.
`, held, len(r.Records))
}
