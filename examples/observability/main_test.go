package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localpg/localpgtest"
)

func TestMain(m *testing.M) {
	// Tests must not find a database that somebody cares about.
	_ = os.Unsetenv("DATABASE_URL")
	goleak.VerifyTestMain(devservertest.StopAfter(localpgtest.StopAfter(m)))
}

// output can be read while the program writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// requireRun runs the program against servers of the test's.
func requireRun(t *testing.T, ctx context.Context, out io.Writer, args ...string) <-chan error { //nolint:revive // t comes first
	t.Helper()
	server := devservertest.RequireServer(t)
	t.Setenv("TEMPORAL_NAMESPACE", server.Namespace())
	args = append([]string{
		"-temporal-address", server.Address(), "-database-url", localpgtest.RequireDatabase(t), "-metrics-address", "127.0.0.1:0",
	}, args...)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, args, out, out) }()
	return ended
}

func TestTheProgramCountsWhatItDoes(t *testing.T) {
	var out output
	require.NoError(t, <-requireRun(t, t.Context(), &out, "-spans"))
	text := out.String()
	require.Contains(t, text, "18 orders paid, 2 with an outcome that nobody knows")
	for _, line := range []string{
		`dedupe_held 2`,
		`dedupe_outcome_total\{activity_type="ChargePayment",namespace="[^"]+",outcome="replayed",source="workflow"\} 6`,
		`dedupe_outcome_total\{activity_type="ReserveFunds",namespace="[^"]+",outcome="failed",source="workflow"\} 4`,
		`dedupe_outcome_total\{activity_type="WriteLedger",namespace="[^"]+",outcome="outcome_unknown",source="workflow"\} 2`,
	} {
		require.Regexp(t, `(?m)^`+line+`$`, text)
	}
	require.Equal(t, 20+6+20+4+18+2+2, strings.Count(text, `"Name": "dedupe.execution"`), "one span for each execution")
	require.Contains(t, text, `"Name": "RunActivity:ChargePayment"`, "with tracing around them")
}

func TestPrometheusReadsEveryMetricUnderTheNameThatAlertsUse(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out output
	ended := requireRun(t, ctx, &out, "-keep")
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "until Ctrl-C") }, time.Minute, 10*time.Millisecond)
	address := regexp.MustCompile(`http://\S+`).FindString(out.String())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())

	var read, want []string
	for _, line := range regexp.MustCompile(`(?m)^(dedupe_\w+)`).FindAllString(string(text), -1) {
		if !slices.Contains(read, line) {
			read = append(read, line)
		}
	}
	for _, m := range dedupe.Metrics() {
		if m.Name != "dedupe.completion" { // nothing here is completed from outside
			want = append(want, series(m)...)
		}
	}
	require.ElementsMatch(t, want, read)
	stop()
	require.NoError(t, <-ended)
}
