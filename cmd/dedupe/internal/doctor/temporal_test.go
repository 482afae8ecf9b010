package doctor_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seed5aa7bdf6/temporal-dedupe/cmd/dedupe/internal/doctor"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/devserver/devservertest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/worker/config"
)

// requireNamespace registers a namespace that keeps closed workflows for so long.
func requireNamespace(t testing.TB, retention time.Duration) doctor.Temporal {
	t.Helper()
	server := devservertest.RequireServer(t)
	namespaces, err := client.NewNamespaceClient(client.Options{HostPort: server.Address()})
	require.NoError(t, err)
	t.Cleanup(namespaces.Close)
	name := "doctor-" + strings.ToLower(rand.Text())
	require.NoError(t, namespaces.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(retention),
	}))
	found := doctor.Temporal{Address: server.Address(), Namespace: name}
	require.Eventually(t, func() bool {
		_, err := namespaces.Describe(t.Context(), name)
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	return found
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	link := requireSound(t)
	execute(t, link, `INSERT INTO idempotency_maintenance VALUES ('evict', now(), now(), 0, 'c')`)
	requireRecord(t, link, "live", store.Refuse)
	done := requireRecord(t, link, "done", store.Reexecute)
	_, err := requireStore(t, link).Settle(t.Context(), []store.Settlement{{Key: done.Key, Token: done.Token, Outcome: store.OutcomeComplete}})
	require.NoError(t, err)

	report := examine(t, doctor.Options{
		DatabaseURL: with(t, link, "DateStyle", "German"), // which no check depends on
		Temporal:    requireNamespace(t, 7*24*time.Hour),
	})
	for _, r := range report.Results {
		require.Equal(t, doctor.Result{Check: r.Check, Status: doctor.OK, Findings: []string{}}, r)
	}
	require.False(t, report.Failed(true))
}

func TestTemporal(t *testing.T) {
	t.Parallel()
	month := requireNamespace(t, 30*24*time.Hour)
	week := 7 * 24 * time.Hour

	t.Run("a namespace that does not exist is found", func(t *testing.T) {
		t.Parallel()
		missing := doctor.Temporal{Address: month.Address, Namespace: "nowhere"}
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: requireSound(t), Temporal: missing}), map[string]string{
			"temporal": `answers, but has no namespace "nowhere"`,
		})
	})
	t.Run("so is an address that speaks no TLS where TLS is asked for", func(t *testing.T) {
		t.Parallel()
		for _, encrypted := range []doctor.Temporal{
			{Address: month.Address, Namespace: month.Namespace, TLS: true},
			{Address: month.Address, Namespace: month.Namespace, APIKey: "key"},
		} {
			requireFindings(t, examine(t, doctor.Options{DatabaseURL: requireSound(t), Temporal: encrypted}), map[string]string{
				"temporal": "does not answer: ",
			})
		}
	})
	t.Run("workflows that outlive the default retention are found", func(t *testing.T) {
		t.Parallel()
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: requireSound(t), Temporal: month}), map[string]string{
			"namespace-retention": "keeps closed workflows for 720h0m0s, but records are kept for less: by default 168h0m0s",
		})
	})
	t.Run("workflows that outlive the records there are", func(t *testing.T) {
		t.Parallel()
		link := requireSound(t)
		requireRecord(t, link, "k", store.Reexecute)
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: link, Temporal: month}), map[string]string{
			"namespace-retention": "Charge 168h0m0s",
		})
		execute(t, link, `UPDATE idempotency_records SET expires_at = created_at + interval '31 days'`)
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: link, Temporal: month}), nil)
	})
	t.Run("workflows that outlive a policy of the configuration", func(t *testing.T) {
		t.Parallel()
		c, err := config.Parse("dedupe.yaml", []byte("defaults: {retention: 720h}\nactivities: {Charge: {}, Refund: {retention: 48h}, Load: {off: true}}\n"))
		require.NoError(t, err)
		report := examine(t, doctor.Options{DatabaseURL: requireSound(t), Temporal: month, Config: c})
		requireFindings(t, report, map[string]string{"namespace-retention": "records are kept for less: Refund 48h0m0s"})
		require.NotContains(t, result(t, report, "namespace-retention").Findings[0], "Charge")
	})
	t.Run("a namespace that keeps them no longer than the records is fine", func(t *testing.T) {
		t.Parallel()
		requireFindings(t, examine(t, doctor.Options{DatabaseURL: requireSound(t), Temporal: requireNamespace(t, week)}), nil)
	})
}
