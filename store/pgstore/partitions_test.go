package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// setupPartitions makes a table of records in partitions, in a schema of its own. Each
// has rows at the same places as the others.
func setupPartitions(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := requirePool(t, requireMigrated(t))
	execute(t, pool, `CREATE SCHEMA parted;
		CREATE TABLE parted.idempotency_records (LIKE idempotency_records INCLUDING ALL) PARTITION BY HASH (key);
		ALTER TABLE idempotency_schema SET SCHEMA parted;
		ALTER TABLE idempotency_maintenance SET SCHEMA parted;
		ALTER TABLE idempotency_server SET SCHEMA parted`)
	for i := range 4 {
		execute(t, pool, fmt.Sprintf(`CREATE TABLE parted.records_%d PARTITION OF parted.idempotency_records FOR VALUES WITH (MODULUS 4, REMAINDER %d)`, i, i))
	}
	return pool
}

func TestRecordsInPartitions(t *testing.T) {
	t.Parallel()
	pool := setupPartitions(t)
	for name, as := range map[string]pgstore.Pool{"own": pool, "shared": wrapped{pool}} {
		s := requireStore(t, as, pgstore.Options{Schema: "parted", CallTimeout: time.Minute})
		rs := make([]store.Reservation, 40)
		for i := range rs {
			rs[i] = reservation(fmt.Sprint(name, i))
		}
		insert(t, s, rs...)
		require.Equal(t, []store.Settled{store.SettledApplied, store.SettledApplied}, settle(t, s, complete(rs[0], "first"), complete(rs[20], "second")))
		for i, r := range rs {
			record := get(t, s, r)
			switch i {
			case 0:
				require.Equal(t, []byte("first"), record.Result)
			case 20:
				require.Equal(t, []byte("second"), record.Result)
			default:
				require.Equal(t, store.StatusInProgress, record.Status, "%s was completed with another's result", r.Key)
				require.Nil(t, record.Result)
			}
		}
	}
}

func TestEvictionFromPartitions(t *testing.T) {
	t.Parallel()
	pool := setupPartitions(t)
	s := requireStore(t, pool, pgstore.Options{Schema: "parted", CallTimeout: time.Minute})
	rs := make([]store.Reservation, 40)
	ss := make([]store.Settlement, len(rs))
	for i := range rs {
		rs[i] = reservation(fmt.Sprintf("%02d", i))
		ss[i] = complete(rs[i], "paid")
	}
	insert(t, s, rs...)
	settle(t, s, ss...)
	execute(t, pool, `UPDATE parted.idempotency_records SET expires_at = now() - interval '1 day' + key::integer * interval '1 s'`)
	execute(t, pool, `VACUUM ANALYZE parted.idempotency_records`)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `SELECT FROM parted.idempotency_records WHERE key IN ('01', '17') FOR UPDATE`)
	require.NoError(t, err)
	evict := func(want int) {
		t.Helper()
		n, err := s.Evict(t.Context(), 5)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	for i := range 7 {
		evict(5)
		first := value[string](t, pool, `SELECT min(key) FROM parted.idempotency_records WHERE key NOT IN ('01', '17')`)
		require.Equal(t, []string{"06", "11", "16", "22", "27", "32", "37"}[i], first, "the oldest go first")
	}
	evict(3)
	require.Equal(t, 2, value[int](t, pool, `SELECT count(*) FROM parted.idempotency_records`), "they were locked")
	require.NoError(t, tx.Rollback(t.Context()))
	evict(2)
}
