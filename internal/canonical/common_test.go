package canonical_test

import (
	"database/sql"
	"encoding/json"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

// decimal is made as decimals commonly are.
type decimal struct {
	value    *big.Int
	exponent int32
}

func (d decimal) MarshalJSON() ([]byte, error) { return json.Marshal([]any{d.value, d.exponent}) }
func (d *decimal) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&d.value, &d.exponent})
}

// grade is an enumeration as generators make them.
type grade int

func (g grade) MarshalText() ([]byte, error)  { return []byte{byte('a' + g)}, nil }
func (g *grade) UnmarshalText(b []byte) error { *g = grade(b[0] - 'a'); return nil }

// link holds what JSON does not see all of.
type link struct{ *url.URL }

func (l link) MarshalText() ([]byte, error)        { return l.MarshalBinary() }
func (l *link) UnmarshalText(b []byte) (err error) { l.URL, err = url.Parse(string(b)); return err }

// Types that people pass, and two values of each.
var common = map[string][2]any{
	"Bool":         {false, true},
	"Duration":     {time.Second, time.Minute},
	"Month":        {time.May, time.June},
	"Time":         {time.Unix(0, 1), time.Unix(0, 2)},
	"TimePointer":  {new(time.Unix(0, 1)), new(time.Unix(0, 2))},
	"EmbeddedTime": {struct{ time.Time }{time.Unix(0, 1)}, struct{ time.Time }{time.Unix(0, 2)}},
	"BigInt":       {big.NewInt(1), big.NewInt(2)},
	"BigFloat":     {big.NewFloat(1), big.NewFloat(2)},
	"BigRat":       {big.NewRat(1, 2), big.NewRat(1, 3)},
	"Decimal":      {decimal{big.NewInt(1), 0}, decimal{big.NewInt(1), 1}},
	"UUID":         {uuid.UUID{1}, uuid.UUID{2}},
	"NullUUID":     {uuid.NullUUID{}, uuid.NullUUID{Valid: true}},
	"Addr":         {netip.IPv4Unspecified(), netip.IPv6Unspecified()},
	"AddrPort":     {netip.AddrPortFrom(netip.IPv6Loopback(), 1), netip.AddrPortFrom(netip.IPv6Loopback(), 2)},
	"Prefix":       {netip.PrefixFrom(netip.IPv4Unspecified(), 8), netip.PrefixFrom(netip.IPv4Unspecified(), 16)},
	"IP":           {net.IPv4zero, net.IPv4bcast},
	"URL":          {link{&url.URL{Host: "a"}}, link{&url.URL{Host: "b"}}},
	"URLValues":    {url.Values{"a": {"1"}}, url.Values{"a": {"2"}}},
	"Regexp":       {regexp.MustCompile("a"), regexp.MustCompile("b")},
	"Level":        {slog.LevelInfo, slog.LevelWarn},
	"Enumeration":  {grade(0), grade(1)},
	"ProtoEnum":    {enumspb.EVENT_TYPE_TIMER_FIRED, enumspb.EVENT_TYPE_TIMER_STARTED},
	"ProtoValue":   {structpb.NewBoolValue(true), structpb.NewBoolValue(false)},
	"RawJSON":      {json.RawMessage("0"), json.RawMessage("false")},
	"JSONNumber":   {json.Number("1.50"), json.Number("1.51")},
	"SQLNull":      {sql.Null[int]{}, sql.Null[int]{Valid: true}},
	"PgInt8":       {pgtype.Int8{}, pgtype.Int8{Valid: true}},
	"PgText":       {pgtype.Text{}, pgtype.Text{Valid: true}},
	"PgDate":       {pgtype.Date{}, pgtype.Date{Valid: true}},
	"PgTimestamp":  {pgtype.Timestamptz{}, pgtype.Timestamptz{Valid: true}},
	"PgUUID":       {pgtype.UUID{}, pgtype.UUID{Valid: true}},
	"PgNumeric":    {pgtype.Numeric{}, pgtype.Numeric{Int: big.NewInt(1), Valid: true}},
}

func TestAppendOfCommonTypes(t *testing.T) {
	t.Parallel()
	for name, values := range common {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []canonical.Mode{canonical.Lenient, canonical.Exact} {
				require.NotEqual(t, requireForm(t, mode, values[0]), requireForm(t, mode, values[1]))
				require.NotEqual(t, requireForm(t, mode, []any{values[0]}), requireForm(t, mode, []any{values[1]}))
			}
		})
	}

	t.Run("AsMapKeys", func(t *testing.T) {
		t.Parallel()
		requireForm(t, canonical.Exact, map[netip.Addr]int{netip.IPv4Unspecified(): 1}, map[grade]int{1: 1}, map[uuid.UUID]int{{}: 1}, map[time.Month]int{1: 1})
	})
}
