package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/wire"
)

// plain is a payload as another language would write it.
func plain(json string) *commonpb.Payload {
	return &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(json)}
}

func TestEncode(t *testing.T) {
	t.Parallel()

	t.Run("EqualFactsGiveEqualBytes", func(t *testing.T) {
		t.Parallel()
		require.True(t, proto.Equal(wire.Encode(charge()), wire.Encode(charge())))
	})

	t.Run("SetsTheVersion", func(t *testing.T) {
		t.Parallel()
		f := charge()
		f.Version = 0
		got, err := wire.Decode(wire.Encode(f))
		require.NoError(t, err)
		require.Equal(t, wire.Version, got.Version)
	})

	t.Run("WritesNoFieldThatIsNotSet", func(t *testing.T) {
		t.Parallel()
		require.JSONEq(t, `{"v":1,"to":"activity","workflow_id":"order-42","run_id":"run-1","lineage":"run-1",
			"original_run_id":"run-1","execution":"run-1","chain":0,"n":2}`, string(wire.Encode(charge()).GetData()))
	})

	t.Run("KeepsAnUnknownChainApartFromZero", func(t *testing.T) {
		t.Parallel()
		f := charge()
		f.Chain = nil
		got, err := wire.Decode(wire.Encode(f))
		require.NoError(t, err)
		require.Nil(t, got.Chain)
	})

	t.Run("WritesNothingThatAReaderRefuses", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("\x01", wire.MaxTextBytes)
		f := charge()
		f.WorkflowID, f.Step, f.BusinessKey = long[:1000], long, long
		got, err := wire.Decode(wire.Encode(f))
		require.NoError(t, err)
		require.Equal(t, f, got)
	})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	const start = `{"v":1,"to":"activity","workflow_id":"w","run_id":"r","lineage":"l"`

	for name, tc := range map[string]struct {
		payload *commonpb.Payload
		err     error
		names   string
	}{
		"RefusesNoPayload":            {nil, wire.ErrMalformed, "no payload"},
		"RefusesAnEmptyPayload":       {&commonpb.Payload{}, wire.ErrMalformed, "encoding"},
		"RefusesAnEncryptedPayload":   {&commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("binary/encrypted")}, Data: []byte(start)}, wire.ErrMalformed, "binary/encrypted"},
		"RefusesAHugePayload":         {plain(start + `,"n":1,"x":"` + strings.Repeat("x", wire.MaxBytes) + `"}`), wire.ErrMalformed, "bytes"},
		"RefusesGarbage":              {plain("\x00\xff garbage"), wire.ErrMalformed, "JSON"},
		"RefusesAJSONStringOfJSON":    {plain(`"{}"`), wire.ErrMalformed, "JSON"},
		"RefusesNull":                 {plain(`null`), wire.ErrMalformed, "v"},
		"RefusesTrailingData":         {plain(start + `,"n":1}{}`), wire.ErrMalformed, "JSON"},
		"RefusesNoVersion":            {plain(`{"to":"activity"}`), wire.ErrMalformed, "v is 0"},
		"RefusesALaterVersion":        {plain(`{"v":2,"to":["many"]}`), wire.ErrVersion, "version 2"},
		"RefusesAnUnknownAddressee":   {plain(strings.Replace(start, "activity", "signal", 1) + `,"n":1}`), wire.ErrMalformed, "to"},
		"RefusesNoWorkflowID":         {plain(`{"v":1,"to":"activity","run_id":"r","lineage":"l","n":1}`), wire.ErrMalformed, "workflow_id"},
		"RefusesNoRunID":              {plain(`{"v":1,"to":"activity","workflow_id":"w","lineage":"l","n":1}`), wire.ErrMalformed, "run_id"},
		"RefusesNoLineage":            {plain(`{"v":1,"to":"activity","workflow_id":"w","run_id":"r","n":1}`), wire.ErrMalformed, "lineage"},
		"RefusesNoNumber":             {plain(start + `}`), wire.ErrMalformed, "n is missing"},
		"RefusesANegativeNumber":      {plain(start + `,"n":-1}`), wire.ErrMalformed, "n"},
		"RefusesANumberBeyond31Bits":  {plain(start + `,"n":4294967297}`), wire.ErrMalformed, "n"},
		"RefusesAFractionalNumber":    {plain(start + `,"n":1.5}`), wire.ErrMalformed, "JSON"},
		"RefusesANegativeChain":       {plain(start + `,"n":1,"chain":-1}`), wire.ErrMalformed, "chain"},
		"RefusesALongText":            {plain(start + `,"n":1,"step":"` + strings.Repeat("x", wire.MaxTextBytes+1) + `"}`), wire.ErrMalformed, "step"},
		"RefusesAnEmptyScopeElement":  {plain(start + `,"n":1,"scope":["w",""]}`), wire.ErrMalformed, "scope"},
		"RefusesAScopeWithoutLineage": {plain(`{"v":1,"to":"continuation","workflow_id":"w","run_id":"r","scope":["w"]}`), wire.ErrMalformed, "lineage"},
		"RefusesAChildWithoutScope":   {plain(`{"v":1,"to":"child","workflow_id":"w","run_id":"r","lineage":"l"}`), wire.ErrMalformed, "scope"},
		"RefusesATooDeepScope":        {plain(start + `,"n":1,"scope":["w"` + strings.Repeat(`,"x"`, wire.MaxScopeElements) + `]}`), wire.ErrMalformed, "scope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.Decode(tc.payload)
			require.ErrorIs(t, err, tc.err)
			require.ErrorContains(t, err, tc.names)
			require.Less(t, len(err.Error()), 1000)
		})
	}

	for name, payload := range map[string]string{
		"IgnoresUnknownFields":                 start + `,"n":1,"tomorrow":{"x":[1]}}`,
		"NeedsNoNumberWithABusinessKey":        start + `,"business_key":"invoice-7"}`,
		"NeedsNoNumberForAnExemptCall":         start + `,"exempt":true}`,
		"NeedsNoNumberForAnUncountableCall":    start + `,"uncountable":"argument 1"}`,
		"NeedsNoLineageForAPlainContinuation":  `{"v":1,"to":"continuation","workflow_id":"w","run_id":"r","chain":1}`,
		"AcceptsATextOfTheGreatestLength":      start + `,"n":1,"step":"` + strings.Repeat("x", wire.MaxTextBytes) + `"}`,
		"ReplacesWhatIsNotUTF8AsJSONReadersDo": start + `,"n":1,"step":"` + "\xff" + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.Decode(plain(payload))
			require.NoError(t, err)
		})
	}
}

// TestDecodeReadsTheShortWayAsTheLong decodes headers as they are, and with a space
// in front, which leaves them to encoding/json.
func TestDecodeReadsTheShortWayAsTheLong(t *testing.T) {
	t.Parallel()
	const start, end = `{"v":1,"to":"activity","workflow_id":"w","run_id":"r"`, `,"lineage":"l","n":1}`

	for name, header := range map[string]string{
		"AsEncodeWritesIt": start + `,"scope":["w","0","Ship","1"],"input":"i","lineage":"l","original_run_id":"o","execution":"e","chain":12,"cron":true,` +
			`"n":999999999,"step":"s","business_key":"b","function":"f","arguments":"a","uncountable":"u","exempt":true}`,
		"LessThanThat":       start + end,
		"InAnotherOrder":     `{"to":"activity","v":1,"run_id":"r","workflow_id":"w","lineage":"l","n":1}`,
		"WithWhiteSpace":     start + ` ,"lineage": "l","n":1}`,
		"WithEscapes":        start + `,"lineage":"a\u0026b","n":1}`,
		"WithOtherLetters":   start + `,"lineage":"ü","n":1}`,
		"WithWhatIsNotUTF8":  start + ",\"lineage\":\"\xff\",\"n\":1}",
		"WithControlBytes":   start + ",\"lineage\":\"\x01\",\"n\":1}",
		"WithMoreThanWeKnow": start + `,"later":"x"` + end,
		"WithANameTwice":     start + `,"lineage":"k"` + end,
		"WithNull":           start + `,"scope":null` + end,
		"WithAnEmptyList":    start + `,"scope":[]` + end,
		"WithAnEmptyText":    start + `,"step":""` + end,
		"WithNumbersInAList": start + `,"scope":["w",1]` + end,
		"WithAnOpenList":     start + `,"scope":["w"`,
		"WithAnOpenText":     start + `,"lineage":"l`,
		"WithAnOpenObject":   start + `,"lineage":"l","n":1`,
		"WithMoreBehind":     start + end + `}`,
		"WithALeadingZero":   start + `,"lineage":"l","n":01}`,
		"WithTenDigits":      start + `,"lineage":"l","n":1000000000}`,
		"WithASign":          start + `,"lineage":"l","n":-1}`,
		"WithAFraction":      start + `,"lineage":"l","n":1.0}`,
		"WithoutDigits":      start + `,"lineage":"l","n":}`,
		"WithFalse":          start + `,"cron":false` + end,
		"OfALaterVersion":    strings.Replace(start+end, `"v":1`, `"v":2`, 1),
		"WithoutAVersion":    strings.Replace(start+end, `"v":1,`, ``, 1),
		"WithTheEndAlone":    `}`,
		"WithNothing":        ``,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, wantErr := wire.Decode(plain(" " + header))
			got, err := wire.Decode(plain(header))
			require.Equal(t, want, got)
			require.Equal(t, text(wantErr), text(err))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	header := wire.Encode(charge())
	for name, payload := range map[string]*commonpb.Payload{"AsEncoded": header, "Spaced": plain(" " + string(header.GetData()))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Decode(payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	require.Equal(t, "short", wire.Shorten("short"))
	require.LessOrEqual(t, len(wire.Shorten(strings.Repeat("ü", 1000))), 520)
	require.True(t, bytes.HasSuffix([]byte(wire.Shorten(strings.Repeat("ü", 1000))), []byte("ü…")))
}
