package pgstore

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

func TestColumnsAreEncodedAsPgxDoes(t *testing.T) {
	t.Parallel()
	plain, ours := pgtype.NewMap(), pgtype.NewMap()
	registerColumns(ours)
	long := strings.Repeat("x", keepBytes)
	columns := []struct {
		oid   uint32
		value any
	}{
		{pgtype.TextArrayOID, []string{"key", "", "ключ", long}},
		{pgtype.TextArrayOID, []string{"after a long one"}},
		{pgtype.TextArrayOID, []string(nil)},
		{pgtype.TextArrayOID, []*string{nil, &long}},
		{pgtype.Int8ArrayOID, []int64{0, -1, 1 << 62, -1 << 63}},
		{pgtype.Int8ArrayOID, []int32{7}},
		{pgtype.ByteaArrayOID, [][]byte{nil, {}, {0, 255}, []byte(long)}},
		{pgtype.ByteaArrayOID, [][]byte{{1}}},
		{pgtype.BoolArrayOID, []bool{true, false}},
	}
	for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
		// All of them in one buffer, as the arguments of one statement, and again in
		// another one.
		for range 2 {
			var want, got []byte
			for _, c := range columns {
				before := len(want)
				wanted, err := plain.Encode(c.oid, format, c.value, want)
				require.NoError(t, err)
				encoded, err := ours.Encode(c.oid, format, c.value, got)
				require.NoError(t, err)
				require.Equal(t, wanted == nil, encoded == nil, "%T in format %d", c.value, format)
				if wanted == nil {
					continue
				}
				want, got = wanted, encoded
				if !bytes.Equal(want[before:], got[before:]) { // their difference is long
					t.Errorf("%T differs in format %d", c.value, format)
				}
			}
		}
	}
}

func TestColumnsOfOneStatementStandInOneBuffer(t *testing.T) { //nolint:paralleltest // AllocsPerRun
	m := pgtype.NewMap()
	registerColumns(m)
	columns := []any{make([]string, 100), make([]string, 100), make([]string, 100)}
	encode := func() {
		var buf []byte
		for _, c := range columns {
			buf, _ = m.Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, c, buf)
		}
	}
	encode()
	require.Zero(t, testing.AllocsPerRun(10, encode), "the second statement needs no memory")
}
