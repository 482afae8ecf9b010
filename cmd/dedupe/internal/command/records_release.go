package command

import (
	"github.com/spf13/cobra"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func newRecordsRelease(env Env, flags *adminFlags) *cobra.Command {
	var f changeFlags
	var fresh, force bool
	c := &cobra.Command{
		Use:   "release [KEY...] --reason TEXT [--yes]",
		Short: "No effect was made: let the next attempt run the body",
		Long: `Say that a call had no effect: the next attempt runs the body, under every policy.

The body runs with the same provider key, so that a provider that did see the call
answers with what it did then. --fresh-key moves the key: the provider takes the
call for a new one. That is for a deliberate second try, when the provider has
recorded a refusal for the first key, and charges twice if you are wrong.

Temporal makes another attempt by itself only while the activity is retried. A
workflow that has failed with dedupe.OutcomeUnknown must be reset, or call again.
` + changeHelp,
		RunE: func(c *cobra.Command, args []string) error {
			says := []string{"release: the next attempt runs the body, and sends the provider the same key."}
			if fresh {
				says = []string{"release --fresh-key: the next attempt runs the body, and sends the provider a new key."}
			}
			return f.run(c, env, flags, args, request{
				change: store.Change{Verb: store.VerbRelease, FreshKey: fresh, Force: force, Keep: f.keep},
				says:   forced(says, force), apply: resolve,
			})
		},
	}
	f.register(c)
	c.Flags().BoolVar(&fresh, "fresh-key", false, "give the provider a new key")
	registerForce(c, &force)
	f.registerKeep(c)
	return c
}

func registerForce(c *cobra.Command, force *bool) {
	c.Flags().BoolVar(force, "force", false, "also where an execution owns the record, which then loses it")
}

func forced(says []string, force bool) []string {
	if !force {
		return says
	}
	return append(says,
		"--force: an execution that is at work loses the record. Its context is cancelled when it next renews its",
		"lease, and its result is not recorded; but an effect that it makes is made.")
}
