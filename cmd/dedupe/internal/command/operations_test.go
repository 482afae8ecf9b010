package command_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/command"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// update writes the page anew, with what the commands print now.
var update = flag.Bool("update", false, "write the outputs into docs/operations.md")

const page = "../../../../docs/operations.md"

// TestOperationsPage walks through docs/operations.md: it creates the night that
// the page tells of, on a real server, and runs every command of every console
// block, in order.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	hangs, waits := make(chan struct{}, 1), make(chan struct{}, 1)
	s := openShop(t, func(ctx context.Context, body int) error {
		id := sdkactivity.GetInfo(ctx).WorkflowExecution.ID
		switch {
		case body > 1, strings.HasSuffix(id, "-47"):
			return nil
		case strings.HasSuffix(id, "-48"):
			return temporal.NewApplicationErrorWithOptions("timeout talking to the provider", "",
				temporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
		case strings.HasSuffix(id, "-46"):
			hangs <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		case strings.HasSuffix(id, "-50"):
			waits <- struct{}{}
			return sdkactivity.ErrResultPending
		}
		return errors.New("timeout talking to the provider")
	})
	s.work()
	w := &walk{shop: s, dir: t.TempDir(), env: map[string]string{}, marks: map[string]string{}}
	for _, n := range []string{"42", "43", "44", "45", "49"} {
		s.held(w.real("order-" + n))
	}
	require.NoError(t, s.start(w.real("order-47")).Get(t.Context(), nil))
	lost := s.start(w.real("order-48"))
	require.Error(t, lost.Get(t.Context(), nil), "there is no time left for another attempt")
	require.Equal(t, store.StatusFailed, s.get(keyOf(lost.GetID())).Status)
	awaited := s.start(w.real("order-50"))
	<-waits
	s.abandoned(awaited.GetID())
	hung := s.start(w.real("order-46"))
	<-hangs

	text, err := os.ReadFile(page)
	require.NoError(t, err)
	written := w.page(string(text))
	require.Greater(t, w.commands, 20)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(written), 0o600))
	}

	// What the commands say that they did.
	completion, err := os.ReadFile(filepath.Join(w.dir, "dedupe.bash"))
	require.NoError(t, err)
	require.Contains(t, string(completion), "# bash completion")
	var got receipt
	for order, want := range map[string]receipt{"order-42": {"ch_7"}, "order-43": {"from the body"}, "order-49": {"not charged"}} {
		require.NoError(t, s.client.GetWorkflow(t.Context(), w.real(order), "").Get(t.Context(), &got))
		require.Equal(t, want, got)
		require.Equal(t, 1, s.confirmed(w.real(order)), "a reset to the charge repeats nothing before it")
	}
	require.Len(t, s.sent(w.real("order-42")), 1)
	require.Len(t, s.sent(w.real("order-43")), 2)
	require.Len(t, s.sent(w.real("order-49")), 1)
	for _, order := range []string{"order-44", "order-45"} {
		require.False(t, s.get(keyOf(w.real(order))).Held)
	}
	require.NoError(t, hung.Get(t.Context(), nil))
	require.Equal(t, store.TombstonePurged, s.get(keyOf(w.real("order-47"))).Tombstone)
}

// abandoned leaves a pending call as nobody outside has completed it: its workflow is
// closed, and its lease over.
func (s *shop) abandoned(id string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.get(keyOf(id)).Pending }, time.Minute, 10*time.Millisecond)
	require.NoError(s.t, s.client.TerminateWorkflow(s.t.Context(), id, "", "nobody waits for it"))
	psql(s.t, s.url, `UPDATE idempotency_records SET lease_ms = 1, lease_expires_at = clock_timestamp() - interval '2min' WHERE key = '`+keyOf(id)+`'`)
}

// walk is a shell that knows the few commands of the page.
type walk struct {
	*shop
	dir      string
	env      map[string]string
	marks    map[string]string // of the page, and what stands for them now
	code     int               // of the command before
	commands int
}

// real and shown translate the names of the page's orders.
func (w *walk) real(s string) string  { return strings.ReplaceAll(s, "order-", "order-"+w.id+"-") }
func (w *walk) shown(s string) string { return strings.ReplaceAll(s, "order-"+w.id+"-", "order-") }

// page runs the commands of a page and returns it with what they printed.
func (w *walk) page(text string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "```console\n")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		block, after, ok := strings.Cut(rest, "```\n")
		require.True(w.t, ok, "a block does not end")
		out.WriteString("```console\n" + w.block(block) + "```\n")
		text = after
	}
}

// block runs the commands of a block and compares what they print.
func (w *walk) block(block string) string {
	require.True(w.t, strings.HasPrefix(block, "$ "), block)
	var out strings.Builder
	parts := strings.Split("\n"+block, "\n$ ")[1:]
	for i, part := range parts {
		line, printed, _ := strings.Cut(part, "\n")
		if i < len(parts)-1 && printed != "" {
			printed += "\n"
		}
		got := w.shown(w.command(line))
		if !strings.HasPrefix(line, "echo $?") && (i == len(parts)-1 || !strings.HasPrefix(parts[i+1], "echo $?")) {
			require.Zero(w.t, w.code, "%s\n%s", line, got)
		}
		w.compare(line, printed, got)
		out.WriteString("$ " + w.renew(line) + "\n" + w.forPage(got))
	}
	return out.String()
}

var (
	mark     = regexp.MustCompile(`\b[0-9a-f]{12}\b`)
	variable = []struct {
		what, shown string
		pattern     *regexp.Regexp
	}{
		{"time", "", regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)},
		{"run", "", regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)},
		{"digest", "", regexp.MustCompile(`\b[0-9a-f]{64}\b`)},
		{"generation", "", regexp.MustCompile(`(?m)^generation +\d+$`)},
		{"owner", "4711@worker-7@orders", regexp.MustCompile(`\b\d+@\S+`)},
		{"actor", "${1}ann@laptop", regexp.MustCompile(`(?m)(^|\s)[A-Za-z][\w.-]*@\S+`)},
		{"span", "", regexp.MustCompile(`\b(\d+d|(\d+h)?(\d+m)?\d+(\.\d+)?m?s|\d+h\d+m)\b`)},
		{"size", "", regexp.MustCompile(`\b\d+\.\d [KMG]iB`)},
		{"bytes", "", regexp.MustCompile(`\b\d+ bytes`)},
		{"pages", "", regexp.MustCompile(`\b\d+ of \d+ pages`)},
		{"mark", "", mark},
		{"space", "", regexp.MustCompile(` +`)},
	}
)

// shape is a text without what changes from night to night.
func shape(text string) string {
	for _, v := range variable {
		text = v.pattern.ReplaceAllString(text, " <"+v.what+"> ")
	}
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}

// compare holds the page to what was printed, and learns the marks.
func (w *walk) compare(line, printed, got string) {
	w.t.Helper()
	old, now := mark.FindAllString(printed, -1), mark.FindAllString(got, -1)
	for i := range min(len(old), len(now)) {
		w.marks[old[i]] = now[i]
	}
	if !*update {
		require.Equal(w.t, shape(printed), shape(got), line)
	}
}

// renew puts the marks of now in place of the page's.
func (w *walk) renew(text string) string {
	for old, now := range w.marks {
		text = strings.ReplaceAll(text, old, now)
	}
	return text
}

// forPage takes out what tells on the machine, and lines tables up again.
func (w *walk) forPage(text string) string {
	for _, v := range variable {
		if v.shown != "" {
			text = v.pattern.ReplaceAllString(text, v.shown)
		}
	}
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	inTable := false
	for line := range strings.Lines(text) {
		inTable = line != "\n" && (inTable || regexp.MustCompile(`^[A-Z]+ .*[A-Z]\n$`).MatchString(line))
		if inTable {
			line = regexp.MustCompile(` {2,}`).ReplaceAllString(line, "\t")
		} else {
			_ = table.Flush()
		}
		_, _ = table.Write([]byte(line))
	}
	_ = table.Flush()
	return out.String()
}

// command runs one line and returns what it prints, to either stream.
func (w *walk) command(line string) string {
	w.t.Helper()
	w.commands++
	words, file := w.words(line)
	var out, errs bytes.Buffer
	code := 0
	switch words[0] {
	case "export":
		name, value, _ := strings.Cut(words[1], "=")
		w.env[name] = value
	case "echo":
		text := strings.Join(words[1:], " ")
		if text == "$?" {
			text = fmt.Sprint(w.code)
		}
		out.WriteString(text + "\n")
	case "temporal":
		require.Equal(w.t, []string{"workflow", "reset", "--workflow-id"}, words[1:4])
		require.Equal(w.t, "--event-id", words[5])
		_, charge := w.tasks(words[4])
		require.Equal(w.t, fmt.Sprint(charge), words[6])
		require.Equal(w.t, "--reason", words[7])
		require.NoError(w.t, w.resetTo(words[4], charge).Get(w.t.Context(), nil))
	case "dedupe":
		require.NotEmpty(w.t, w.env["DATABASE_URL"], "the page sets it")
		code = command.Run(w.t.Context(), words[1:], command.Env{
			In: strings.NewReader(""), Out: &out, Err: &errs,
			Getenv: func(name string) string {
				if name == "DATABASE_URL" {
					return w.url
				}
				return w.env[name]
			},
		})
	default:
		require.Fail(w.t, "the page has a command that the test does not know", line)
	}
	w.code = code
	if file != "" {
		require.NoError(w.t, os.WriteFile(file, out.Bytes(), 0o600))
		out.Reset()
	}
	return out.String() + errs.String()
}

// words splits a line as a shell does, and takes a redirection off.
func (w *walk) words(line string) (words []string, file string) {
	line = w.renew(w.real(line))
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		word := m[1] + m[2] + m[3]
		if strings.HasSuffix(word, ".json") || strings.HasSuffix(word, ".bash") {
			word = filepath.Join(w.dir, word)
		}
		words = append(words, word)
	}
	if n := len(words); n > 2 && words[n-2] == ">" {
		return words[:n-2], words[n-1]
	}
	return words, ""
}
