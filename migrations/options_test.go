package migrations_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/migrations"
)

func TestOptionsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text    string
		options migrations.Options
	}{
		{"Schema: ", migrations.Options{Schema: strings.Repeat("x", 64)}},
		{"Schema: ", migrations.Options{Schema: "a\x00b"}},
		{"Schema: ", migrations.Options{Schema: "a\xff"}},
		{"Schema: ", migrations.Options{Schema: "pg_records"}},
		{"Steps is negative: -1; ", migrations.Options{Steps: -1}},
		{"ConnectTimeout is negative: -1s", migrations.Options{ConnectTimeout: -time.Second}},
		{"LockTimeout is negative: -1s", migrations.Options{LockTimeout: -time.Second}},
		{"LockTimeout: ", migrations.Options{LockTimeout: time.Microsecond}},
		{"LockTimeout: ", migrations.Options{LockTimeout: math.MaxInt64}},
	} {
		want := "dedupe: migrations: Options." + tc.text
		_, upErr := migrations.Up(t.Context(), "postgres://nowhere.invalid/x", tc.options)
		_, downErr := migrations.Down(t.Context(), "postgres://nowhere.invalid/x", tc.options)
		_, statusErr := migrations.ReadStatus(t.Context(), "postgres://nowhere.invalid/x", tc.options)
		_, sqlErr := migrations.SQL(migrations.DirectionUp, tc.options)
		for _, err := range []error{upErr, downErr, statusErr, sqlErr} {
			require.ErrorContains(t, err, want)
		}
	}
}
