package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

// Each partition has rows at the same places as the others.
func TestRecordsInPartitions(t *testing.T) {
	t.Parallel()
	pool := requirePool(t, requireMigrated(t))
	execute(t, pool, `CREATE TABLE parted (LIKE idempotency_records INCLUDING ALL) PARTITION BY HASH (key)`)
	for i := range 4 {
		execute(t, pool, fmt.Sprintf(`CREATE TABLE parted_%d PARTITION OF parted FOR VALUES WITH (MODULUS 4, REMAINDER %d)`, i, i))
	}
	for name, as := range map[string]pgstore.Pool{"own": pool, "shared": wrapped{pool}} {
		s := requireStore(t, as, pgstore.Options{Table: "parted", CallTimeout: time.Minute})
		rs := make([]store.Reservation, 40)
		for i := range rs {
			rs[i] = reservation(fmt.Sprint(name, i))
		}
		insert(t, s, rs...)
		require.Equal(t, []store.Settled{store.Applied, store.Applied}, settle(t, s, complete(rs[0], "first"), complete(rs[20], "second")))
		for i, r := range rs {
			record := get(t, s, r)
			switch i {
			case 0:
				require.Equal(t, []byte("first"), record.Result)
			case 20:
				require.Equal(t, []byte("second"), record.Result)
			default:
				require.Equal(t, store.InProgress, record.Status, "%s was completed with another's result", r.Key)
				require.Nil(t, record.Result)
			}
		}
	}
}
