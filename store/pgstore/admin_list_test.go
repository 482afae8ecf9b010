package pgstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// explaining is a pool that asks for the plan of every statement that it runs.
type explaining struct {
	*pgxpool.Pool
	mu    sync.Mutex
	plans []string
}

func (e *explaining) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	var plan []string
	rows, err := e.Pool.Query(ctx, "EXPLAIN "+sql, args...)
	if err == nil {
		plan, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.plans = append(e.plans, strings.Join(plan, "\n"))
	e.mu.Unlock()
	return e.Pool.Query(ctx, sql, args...)
}

// last returns the latest plan.
func (e *explaining) last() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.plans[len(e.plans)-1]
}

func keysOf(entries []store.Entry) []string {
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	return keys
}

// fill puts n completed records of a workflow each into the table, and a few of
// interest among them.
const fill = `INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, jsonb_build_object(
	'key', format('w/prod/order-%s/0/Charge/1', n), 'workflow_id', format('order-%s', n), 'namespace', 'prod',
	'expires_at', now() + n * interval '1 s'))).*
	FROM idempotency_records r, generate_series(1, 20000) n WHERE r.key = 'seed'`

func TestListPlans(t *testing.T) {
	t.Parallel()
	pool := &explaining{Pool: requirePool(t, requireMigrated(t))}
	s := requireStore(t, pool, pgstore.Options{CallTimeout: time.Minute})
	a, b := s.Admin(), bundle{store: s}
	execute(t, pool, `ALTER TABLE idempotency_records SET (autovacuum_enabled = false)`)
	seed := reservation("seed")
	insert(t, s, seed)
	settle(t, s, complete(seed, "paid"))
	execute(t, pool, fill)
	held := underPolicy("w/prod/order-7/0/Charge/2", store.Refuse)
	held.WorkflowID = "order-7"
	b.hold(t, held)
	business := reservation("b/prod/Charge/invoice-7")
	business.WorkflowID = "order-7"
	insert(t, s, business)

	for _, statistics := range []string{"stale", "fresh"} { // a table that was empty when it was last analyzed, or not
		if statistics == "fresh" {
			execute(t, pool, `ANALYZE idempotency_records`)
		}
		t.Run("a range is read from the index of keys, with statistics that are "+statistics, func(t *testing.T) {
			entries, err := a.List(t.Context(), store.Query{Ranges: []store.KeyRange{
				store.KeysWithPrefix("w/prod/order-7/"), store.KeysWithPrefix("e/prod/order-7/"),
			}, Limit: 100})
			require.NoError(t, err)
			require.Equal(t, []string{"w/prod/order-7/0/Charge/1", "w/prod/order-7/0/Charge/2"}, keysOf(entries))
			require.Contains(t, pool.last(), "idempotency_records_pkey")
			require.Regexp(t, `Index Cond: .*key >= k.from_key.* AND .*key < k.before_key`, pool.last())
			require.NotContains(t, pool.last(), "Seq Scan")
		})
		t.Run("keys without a workflow are read from it too, and compared by columns, with statistics that are "+statistics, func(t *testing.T) {
			entries, err := a.List(t.Context(), store.Query{
				Ranges: []store.KeyRange{store.KeysWithPrefix("b/prod/Charge/")}, WorkflowID: "order-7", ActivityType: "ChargePayment", Limit: 100,
			})
			require.NoError(t, err)
			require.Equal(t, []string{business.Key}, keysOf(entries))
			require.Contains(t, pool.last(), "idempotency_records_pkey")
			require.NotContains(t, pool.last(), "Seq Scan")
		})
		t.Run("the worklist is read from its own index, with statistics that are "+statistics, func(t *testing.T) {
			entries, err := a.List(t.Context(), store.Query{Held: true, Limit: 100})
			require.NoError(t, err)
			require.Equal(t, []string{held.Key}, keysOf(entries))
			require.Contains(t, pool.last(), "idempotency_records_held_since")
			require.NotContains(t, pool.last(), "Seq Scan")
		})
		t.Run("keys are looked up, with statistics that are "+statistics, func(t *testing.T) {
			entries, err := a.Find(t.Context(), []string{"seed", "absent", held.Key})
			require.NoError(t, err)
			require.Equal(t, []string{"seed", held.Key}, keysOf(entries))
			require.Contains(t, pool.last(), "idempotency_records_pkey")
			require.NotContains(t, pool.last(), "Seq Scan")
		})
	}

	t.Run("a page of the whole table reads a page of it", func(t *testing.T) {
		entries, err := a.List(t.Context(), store.Query{After: "w/prod/order-5", Limit: 3})
		require.NoError(t, err)
		require.Equal(t, []string{"w/prod/order-5/0/Charge/1", "w/prod/order-50/0/Charge/1", "w/prod/order-500/0/Charge/1"}, keysOf(entries))
		require.Contains(t, pool.last(), "idempotency_records_pkey")
		require.NotContains(t, pool.last(), "Seq Scan")
	})

	t.Run("changes find their records by the index of keys", func(t *testing.T) {
		c := b.change(t, held.Key, store.VerbRelease)
		require.Equal(t, store.ResolvedDone, b.resolve(t, c))
		require.Contains(t, pool.last(), "idempotency_records_pkey")
		require.NotContains(t, strings.ReplaceAll(pool.last(), "Seq Scan on idempotency_server", ""), "Seq Scan")
	})

	t.Run("the trail of a key is read from its index", func(t *testing.T) {
		execute(t, pool, `INSERT INTO idempotency_audit (at, key, verb, actor, reason)
			SELECT now(), 'k' || n, 'release', 'ann', 'x' FROM generate_series(1, 5000) n`)
		trail, err := a.Audit(t.Context(), "k77", 10)
		require.NoError(t, err)
		require.Len(t, trail, 1)
		require.Contains(t, pool.last(), "idempotency_audit_key")
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	b, advance := setupClock(t)
	a := b.store.Admin()
	for i := range 7 {
		r := underPolicy(fmt.Sprintf("key-%d", i), store.Refuse)
		r.Namespace, r.WorkflowID, r.RunID = "prod", fmt.Sprintf("order-%d", i%2), fmt.Sprintf("run-%d", i)
		switch i {
		case 0, 1:
			b.hold(t, r)
		case 2:
			insert(t, b.store, r)
			settle(t, b.store, complete(r, "s3cret"))
		case 3:
			insert(t, b.store, r)
			settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("s3cret")}))
		case 4:
			insert(t, b.store, r)
			settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomePend, Lease: 10 * time.Hour}))
		case 5:
			r.ActivityType = "Refund"
			insert(t, b.store, r)
		case 6:
			r.Namespace, r.WorkflowID = "", ""
			insert(t, b.store, r)
			settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("s3cret"), EffectPossible: true}))
		}
		advance(time.Second)
	}
	execute(t, b.pool, `UPDATE idempotency_records SET held_since = held_since - interval '1 h' WHERE key = 'key-1'`)

	for name, c := range map[string]struct {
		query store.Query
		want  []string
	}{
		"everything, in the order of the keys": {store.Query{}, []string{"key-0", "key-1", "key-2", "key-3", "key-4", "key-5", "key-6"}},
		"the worklist, the oldest first":       {store.Query{Held: true}, []string{"key-1", "key-0"}},
		"the worklist of a workflow":           {store.Query{Held: true, WorkflowID: "order-0"}, []string{"key-0"}},
		"the worklist of a range":              {store.Query{Held: true, Ranges: []store.KeyRange{store.KeysWithPrefix("key-0")}}, []string{"key-0"}},
		"by status":                            {store.Query{Status: store.StatusFailed}, []string{"key-3", "key-6"}},
		"by workflow":                          {store.Query{WorkflowID: "order-1"}, []string{"key-1", "key-3", "key-5"}},
		"by run":                               {store.Query{RunID: "run-2"}, []string{"key-2"}},
		"by activity":                          {store.Query{ActivityType: "Refund"}, []string{"key-5"}},
		"by namespace":                         {store.Query{Namespace: "test"}, nil},
		"by all of them":                       {store.Query{Namespace: "prod", WorkflowID: "order-1", ActivityType: "ChargePayment", Status: store.StatusInProgress}, []string{"key-1"}},
		"what is pending":                      {store.Query{Pending: true}, []string{"key-4"}},
		"what is past its lease":               {store.Query{PastLease: true}, []string{"key-0", "key-1"}},
		"what nobody knows, held or not":       {store.Query{EffectPossible: true}, []string{"key-0", "key-1", "key-6"}},
		"ranges that overlap, one that is empty": {store.Query{Limit: 2, Ranges: []store.KeyRange{
			store.KeysWithPrefix("key-5"), {From: "key-9", Before: "key-1"}, store.KeysWithPrefix("key-"), store.KeysWithPrefix("key-0"),
		}}, []string{"key-0", "key-1"}},
		"no key at all": {store.Query{Ranges: []store.KeyRange{{From: "key-2", Before: "key-2"}}}, nil},
		"a page":        {store.Query{After: "key-1", Limit: 2}, []string{"key-2", "key-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.query.Limit == 0 {
				c.query.Limit = 100
			}
			entries, err := a.List(t.Context(), c.query)
			require.NoError(t, err)
			require.Len(t, entries, len(c.want))
			require.ElementsMatch(t, c.want, keysOf(entries))
			if len(c.want) > 0 {
				require.Equal(t, c.want, keysOf(entries))
			}
			text, err := json.Marshal(entries)
			require.NoError(t, err)
			require.NotContains(t, string(text), "s3cret")
			for _, e := range entries {
				require.Nil(t, e.Result)
				require.Nil(t, e.Failure)
				require.Equal(t, e.Held, !e.HeldSince.IsZero())
			}
		})
	}

	t.Run("an entry tells about the bytes that it leaves out, and about the lease", func(t *testing.T) {
		completed, failed, live, held := b.look(t, "key-2"), b.look(t, "key-3"), b.look(t, "key-5"), b.look(t, "key-0")
		require.True(t, completed.HasResult)
		require.False(t, live.HasResult)
		require.EqualValues(t, 6, failed.FailureSize)
		require.Equal(t, time.Minute, live.LeaseLength)
		require.True(t, live.LeaseLive())
		require.False(t, live.GivenUp)
		require.True(t, held.GivenUp, "its owner ended the lease")
		advance(time.Hour)
		entries, err := a.List(t.Context(), store.Query{PastLease: true, Limit: 10})
		require.NoError(t, err)
		require.Equal(t, []string{"key-0", "key-1", "key-5"}, keysOf(entries))
		require.False(t, entries[2].GivenUp, "it ran out")
	})
}

func TestStats(t *testing.T) {
	t.Parallel()
	b, advance := setupClock(t)
	a := b.store.Admin()

	t.Run("of an empty table are zero", func(t *testing.T) {
		st, err := a.Stats(t.Context(), store.StatsOptions{})
		require.NoError(t, err)
		require.Equal(t, store.Counts{}, st.Total)
		require.Empty(t, st.Types)
		require.True(t, st.OldestExpiry.IsZero())
	})

	refund := func(r store.Reservation) store.Reservation { r.ActivityType = "Refund"; return r }
	first := reservation("completed")
	insert(t, b.store, first)
	settle(t, b.store, complete(first, "paid"))
	advance(10 * time.Second)
	b.hold(t, refund(underPolicy("held", store.Refuse)))
	live, pending, dead := reservation("live"), refund(reservation("pending")), refund(underPolicy("dead", store.Refuse))
	live.Lease, live.Retention = 100*time.Hour, 200*time.Hour
	insert(t, b.store, live, pending, dead)
	settle(t, b.store, settlement(pending, store.Settlement{Outcome: store.OutcomePend, Lease: 100 * time.Hour}))
	large := refund(reservation("large"))
	insert(t, b.store, large)
	settle(t, b.store, settlement(large, store.Settlement{Outcome: store.OutcomeComplete, Tombstone: store.TombstoneResultTooLarge}))
	failed := refund(reservation("failed"))
	insert(t, b.store, failed)
	settle(t, b.store, settlement(failed, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("f")}))
	advance(2 * time.Hour) // retention is an hour

	st, err := a.Stats(t.Context(), store.StatsOptions{})
	require.NoError(t, err)
	require.Equal(t, store.Counts{
		Records: 7, InProgress: 4, Completed: 2, Failed: 1, Live: 2, PastLease: 2, Pending: 1, Held: 1,
		EffectPossible: 2, Tombstones: 1, Expired: 3, Oldest: get(t, b.store, first).CreatedAt,
	}, st.Total)
	require.Len(t, st.Types, 2)
	require.Equal(t, "ChargePayment", st.Types[0].ActivityType)
	require.Equal(t, store.Counts{
		Records: 2, InProgress: 1, Completed: 1, Live: 1, Expired: 1, Oldest: get(t, b.store, first).CreatedAt,
	}, st.Types[0].Counts)
	require.EqualValues(t, 1, st.Held)
	require.Equal(t, b.look(t, "held").HeldSince, st.OldestHeld)
	require.Equal(t, get(t, b.store, first).ExpiresAt, st.OldestExpiry)
	require.False(t, st.Estimated)
	require.Positive(t, st.TableBytes)
	require.Positive(t, st.IndexBytes)
	evicted, err := b.store.Evict(t.Context(), 100)
	require.NoError(t, err)
	require.EqualValues(t, st.Total.Expired, evicted, "expired is what eviction would remove")
}

func TestStatsOfALargeTableAreEstimatedFromASample(t *testing.T) {
	t.Parallel()
	// One connection, which tells what it has read when it is asked to.
	b := bundle{pool: requirePool(t, requireMigrated(t), single)}
	b.store = requireStore(t, wrapped{b.pool}, pgstore.Options{CallTimeout: time.Minute})
	seed := reservation("seed")
	insert(t, b.store, seed)
	settle(t, b.store, complete(seed, "paid"))
	execute(t, b.pool, fill)
	st, err := b.store.Admin().Stats(t.Context(), store.StatsOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 20_001, st.Total.Completed)
	require.Greater(t, st.Pages, int64(1000))

	read := func() int64 {
		execute(t, b.pool, `SELECT pg_stat_force_next_flush()`)
		return value[int64](t, b.pool, `SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = 'idempotency_records'`)
	}
	before := read()
	estimate, err := b.store.Admin().Stats(t.Context(), store.StatsOptions{MaxPages: st.Pages / 4})
	require.NoError(t, err)
	require.True(t, estimate.Estimated)
	require.Equal(t, st.Pages/4, estimate.SampledPages)
	// A quarter of some thousand pages, drawn at random: 20 % off is beyond six
	// standard deviations.
	require.InEpsilon(t, st.Total.Records, estimate.Total.Records, 0.2)
	require.Less(t, read()-before, st.Pages/2, "pages read")
}

func TestEstimatedCountsAddUp(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{})
	for i, typ := range []string{"Charge", "Refund", "Ship"} {
		r := reservation(typ)
		r.ActivityType = typ
		insert(t, b.store, r)
		// A third of each type has each status, and each type its own number of records.
		execute(t, b.pool, `INSERT INTO idempotency_records SELECT (jsonb_populate_record(r, jsonb_build_object('key', r.key || n,
			'status', (ARRAY['in_progress', 'completed', 'failed'])[1 + n % 3],
			'lease_expires_at', now() + (n % 2) * interval '1 h' - interval '1 min', 'lease_ms', 1))).*
			FROM idempotency_records r, generate_series(1, $2::integer) n WHERE r.key = $1`, typ, 700+i*100)
	}
	for range 20 {
		st, err := b.store.Admin().Stats(t.Context(), store.StatsOptions{MaxPages: 40})
		require.NoError(t, err)
		require.True(t, st.Estimated)
		for _, c := range append(st.Types, store.TypeCounts{ActivityType: "all", Counts: st.Total}) {
			require.Equal(t, c.Records, c.InProgress+c.Completed+c.Failed, c.ActivityType)
			require.Equal(t, c.InProgress, c.Live+c.PastLease, c.ActivityType)
			require.LessOrEqual(t, c.EffectPossible+c.Live, c.Records, c.ActivityType)
		}
	}
}
