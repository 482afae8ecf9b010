package command_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
)

// late holds the records of three statements of a workflow, the second of which gets no
// answer in time.
func (b *bundle) late(workflow string) {
	b.t.Helper()
	for i := range 201 {
		r := reservation(workflow, fmt.Sprintf("%03d", i))
		if i == 150 {
			r.Key += "-late"
		}
		b.hold(r)
	}
}

// A change whose answer does not come may have been made.
func TestAnswersThatAreLostAreCountedApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	psql(t, b.url, `CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN new; END $$;
		CREATE TRIGGER late BEFORE UPDATE ON idempotency_records FOR EACH ROW WHEN (old.key LIKE '%-late' AND old.held_since IS NOT NULL) EXECUTE FUNCTION late()`)
	const audit = "nobody knows yet which of 100 records were changed: `dedupe records audit` has the changes"

	b.late("timeout")
	got := b.run(command.ExitError, "records", "release", "--workflow", "timeout", "--reason", "x", "--yes", "--timeout", "4s")
	require.Contains(t, got.out, "\nrelease: 100 changed, 1 not, 100 unknown\n")
	require.Contains(t, got.err, "no answer within 4s: "+audit)

	b.late("interrupt")
	var out, errs bytes.Buffer
	ctx, interrupt := context.WithCancel(t.Context())
	waited := make(chan error)
	go func() {
		_, err := b.pool.Exec(ctx, `DO $$ BEGIN
			WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'interrupted' AND wait_event = 'PgSleep') LOOP
				PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
			END LOOP;
		END $$`)
		interrupt()
		waited <- err
	}()
	code := command.Run(ctx, []string{"records", "release", "--workflow", "interrupt", "--reason", "x", "--yes", "-o", "json"}, command.Env{
		Out: &out, Err: &errs, Getenv: func(string) string { return b.with("application_name", "interrupted") },
	})
	require.NoError(t, <-waited)
	require.Equal(t, command.ExitError, code)
	report := decode[reported](t, out.String())
	require.Equal(t, []int{100, 1, 100}, []int{report.Changed, report.NotChanged, report.Unknown})
	require.Contains(t, errs.String(), "interrupted: "+audit)
}

// A reader that has gone away, as `head` does, must not take the report of a change
// with it.
func TestReadersThatHaveGoneAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	binary := program(t)
	r := b.hold(reservation("unread", "1"))
	for want, args := range map[string][]string{
		"dedupe: 1 records were changed and 0 not, which could not be printed": {"records", "release", r.Key, "--reason", "x", "--yes"},
		"dedupe: evict: 0 records were removed, which could not be printed":    {"evict"},
		"broken pipe": {"records", "list"},
	} {
		reader, writer, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, reader.Close())
		var errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Env = append(os.Environ(), "DATABASE_URL="+b.url)
		cmd.Stdout, cmd.Stderr = writer, &errs
		require.Error(t, cmd.Run())
		require.NoError(t, writer.Close())
		require.Equal(t, command.ExitError, cmd.ProcessState.ExitCode(), "%v: %s", cmd.ProcessState, errs.String())
		require.Contains(t, errs.String(), want)
	}
	require.False(t, b.get(r.Key).Held)
}
