package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"go.temporal.io/sdk/client"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver"
)

// reasons are the workflows that greet each user, one after the other.
var reasons = []string{"signup", "import"}

// demo starts the services, greets the users and reports. It tells whether nobody
// got two emails.
func demo(ctx context.Context, o options, out io.Writer) (fine bool, err error) {
	clientOptions := client.Options{Logger: quiet()}
	if o.dedupe {
		records, err := openRecords(ctx, o, out)
		if err != nil {
			return false, err
		}
		defer records.close()
		if err := protect(&clientOptions, records.store); err != nil {
			return false, fmt.Errorf("welcomeemail: %w", err)
		}
	} else {
		say(out, "Dedupe", "off: every workflow runs its activity")
	}
	say(out, "Temporal", "finding or starting a server; minutes the first time, when it may have to be built ...")
	server, err := devserver.Start(ctx, devserver.Options{Log: out})
	if err != nil {
		return false, fmt.Errorf("welcomeemail: %w", err)
	}
	defer server.Stop()
	say(out, "Temporal", "%s, namespace %s (%s)", server.Address(), server.Namespace(), server.Origin())

	clientOptions.HostPort, clientOptions.Namespace = server.Address(), server.Namespace()
	c, err := client.DialContext(ctx, clientOptions)
	if err != nil {
		return false, fmt.Errorf("welcomeemail: Temporal at %s: %w", server.Address(), err)
	}
	defer c.Close()
	return greet(ctx, c, o, out)
}

// greet runs the workflows and prints a line for each.
func greet(ctx context.Context, c client.Client, o options, out io.Writer) (fine bool, err error) {
	tag := strings.ToLower(rand.Text()[:6])
	outbox := &Outbox{}
	w := newWorker(c, "welcomeemail-"+tag, outbox)
	if err := w.Start(); err != nil {
		return false, fmt.Errorf("welcomeemail: start the worker: %w", err)
	}
	defer w.Stop()

	_, _ = fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "WORKFLOW\tRUN\tEMAIL\tSENT BY\tRUN")
	emails, duplicates := 0, 0
	for n := range o.users {
		user := User{ID: fmt.Sprint("user-", n+1)}
		for _, reason := range reasons {
			run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
				ID: fmt.Sprintf("%s-%s-%s", reason, user.ID, tag), TaskQueue: "welcomeemail-" + tag,
			}, Welcome, user)
			var sent Sent
			if err == nil {
				err = run.Get(ctx, &sent)
			}
			if err != nil {
				return false, fmt.Errorf("welcomeemail: greet %s: %w", user.ID, err)
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", run.GetID(), short(run.GetRunID()), sent.MessageID, sent.WorkflowID, short(sent.RunID))
		}
		emails += outbox.emailsTo(user)
		duplicates += max(outbox.emailsTo(user)-1, 0)
	}
	_ = table.Flush()
	_, _ = fmt.Fprintf(out, "\n%d users, %d workflows, %d emails, %d duplicates\n", o.users, o.users*len(reasons), emails, duplicates)
	return duplicates == 0, nil
}

// short is enough of a run ID to tell it from another.
func short(runID string) string { return runID[max(len(runID)-8, 0):] }
