package pgstore

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func TestOutbox(t *testing.T) { //nolint:paralleltest // AllocsPerRun
	for name, c := range map[string]struct{ next, allocs int }{
		"small": {100, 0}, "of a group": {20 << 10, 0}, "the largest that is kept": {keepBytes - len("waiting"), 0}, "larger": {keepBytes, 1},
	} {
		o := outbox{next: c.next}
		encode := func() {
			sent, err := o.Encode([]byte("waiting"))
			require.NoError(t, err)
			require.Equal(t, "waiting", string(sent), name)
			require.GreaterOrEqual(t, cap(sent)-len(sent), c.next, name)
		}
		encode()
		require.LessOrEqual(t, cap(o.kept), keepBytes, name)
		waiting := []byte("waiting")
		require.InDelta(t, c.allocs, testing.AllocsPerRun(10, func() { _, _ = o.Encode(waiting) }), 0, name)
	}
	roomy := make([]byte, 0, 1024)
	sent, err := (&outbox{next: 1024}).Encode(roomy)
	require.NoError(t, err)
	require.Same(t, &roomy[:1][0], &sent[:1][0], "where there is room, nothing changes")
}

func TestMessagesFitTheRoomMadeForThem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	settlements := make([]store.Settlement, 50)
	reservations := make([]store.Reservation, 50)
	for i := range reservations {
		reservations[i] = newReservation(long)
		settlements[i] = store.Settlement{Key: long, Result: []byte(long)}
	}
	itself := func(r *store.Reservation) *store.Reservation { return r }
	for name, args := range map[string][]any{
		"none": nil, "a reservation": reservationArgs(reservations[:1], false, itself), "reservations": reservationArgs(reservations, false, itself),
		"settlements": settlementArgs(settlements), "a key": {[]string{"key"}}, "one row": {long, []byte(long), int64(1)},
	} {
		m := pgtype.NewMap()
		bind := &pgproto3.Bind{ParameterFormatCodes: make([]int16, len(args))}
		for _, a := range args {
			oid := map[bool]uint32{true: pgtype.Int4OID}[a == any(store.RecordVersion)]
			if known, ok := m.TypeForValue(a); ok {
				oid = known.OID
			}
			parameter, err := m.Encode(oid, pgtype.BinaryFormatCode, a, nil)
			require.NoError(t, err)
			bind.Parameters = append(bind.Parameters, parameter)
		}
		message, err := bind.Encode(nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(message), messageBytes(args), name)
		require.Less(t, messageBytes(args), len(message)+1024, name)
	}
}

func TestAConnectionThatAHookHasClosedIsLeftAlone(t *testing.T) { // a matter of the race detector
	t.Parallel()
	var armed atomic.Bool
	s, _ := requireOwnStore(t, func(c *pgxpool.Config) {
		c.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
			if !armed.Load() {
				return true, nil
			}
			_, _ = conn.Exec(ctx, "SELECT pg_sleep(10)") // whose end by ctx closes the connection
			return true, nil
		}
	})
	armed.Store(true)
	for i := range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(5+i%17)*time.Millisecond)
		_, err := s.Reserve(ctx, []store.Reservation{newReservation(fmt.Sprint(i))})
		cancel()
		require.Error(t, err)
	}
}
