package canonical_test

import (
	"reflect"
	"testing"

	gogotypes "github.com/gogo/protobuf/types"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/canonical"
)

func someMessage(t *testing.T) *structpb.Struct {
	t.Helper()
	m, err := structpb.NewStruct(map[string]any{"a": 1, "b": "x", "c": []any{true, nil}, "d": map[string]any{"e": 2}})
	require.NoError(t, err)
	return m
}

// noted is a message with a note beside it.
type noted struct {
	*wrapperspb.StringValue
	Note  string
	Trace string `dedupe:"-"`
}

func TestAppendOfMessages(t *testing.T) {
	t.Parallel()

	t.Run("HasOneFormWhateverTheOrderOfMaps", func(t *testing.T) {
		t.Parallel()
		want := requireForm(t, canonical.Exact, someMessage(t))
		for range 50 {
			require.Equal(t, want, requireForm(t, canonical.Exact, someMessage(t)))
		}
	})

	t.Run("TakesAMessageByValueToo", func(t *testing.T) {
		t.Parallel()
		byValue := reflect.ValueOf(wrapperspb.String("a")).Elem().Interface() // the SDK's converters accept it
		require.Equal(t, requireForm(t, canonical.Exact, wrapperspb.String("a")), requireForm(t, canonical.Exact, byValue))
	})

	t.Run("TellsTypesOfEqualBytesApart", func(t *testing.T) {
		t.Parallel()
		require.NotEqual(t, requireForm(t, canonical.Exact, wrapperspb.Int32(7)), requireForm(t, canonical.Exact, wrapperspb.Int64(7)))
	})

	t.Run("TakesMessagesOfGogo", func(t *testing.T) {
		t.Parallel()
		one, two := &gogotypes.StringValue{Value: "a"}, &gogotypes.StringValue{Value: "b"}
		require.Equal(t, requireForm(t, canonical.Exact, one), requireForm(t, canonical.Exact, &gogotypes.StringValue{Value: "a"}))
		require.NotEqual(t, requireForm(t, canonical.Exact, one), requireForm(t, canonical.Exact, two))
	})

	t.Run("WritesANilMessageAsNil", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, requireForm(t, canonical.Exact, nil), requireForm(t, canonical.Exact, (*structpb.Struct)(nil)))
	})

	t.Run("TakesAStructThatAddsNothingToAMessage", func(t *testing.T) {
		t.Parallel()
		for _, mode := range []canonical.Mode{canonical.Lenient, canonical.Exact} {
			require.Equal(t, requireForm(t, mode, wrapperspb.String("a")), requireForm(t, mode, struct{ *wrapperspb.StringValue }{wrapperspb.String("a")}))
		}
	})

	t.Run("RefusesFieldsBesideAMessage", func(t *testing.T) {
		t.Parallel()
		for _, arg := range []any{
			noted{wrapperspb.String("a"), "n", ""},
			&noted{wrapperspb.String("a"), "n", ""},
			struct{ noted }{noted{wrapperspb.String("a"), "n", ""}},
			struct {
				*gogotypes.StringValue
				Note string
			}{&gogotypes.StringValue{Value: "a"}, "n"},
		} {
			for _, mode := range []canonical.Mode{canonical.Lenient, canonical.Exact} {
				problem := requireProblem(t, mode, arg)
				require.Regexp(t, `^(\.noted)?\.Note$`, problem.Path)
				require.Contains(t, problem.Reason, "does not hold this field")
			}
		}
	})

	t.Run("TakesThemWhereTheyAreEmptyUnlessExact", func(t *testing.T) {
		t.Parallel()
		arg := noted{StringValue: wrapperspb.String("a"), Trace: "not counted"} // as the SDK's converters leave it
		requireProblem(t, canonical.Exact, arg)
		require.Equal(t, requireForm(t, canonical.Lenient, wrapperspb.String("a")), requireForm(t, canonical.Lenient, arg))
		require.Contains(t, requireProblem(t, canonical.Lenient, struct{ *noted }{}).Reason, "panicked")
	})

	t.Run("NamesAMessageThatCannotBeEncoded", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "the message cannot be encoded", requireProblem(t, canonical.Exact, wrapperspb.String("\xff")).Reason)
	})
}

func TestAppendOfPayloads(t *testing.T) {
	t.Parallel()
	payload := func(encoding, data string) *commonpb.Payload {
		return &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding), "codec-version": []byte("3")}, Data: []byte(data)}
	}

	t.Run("LooksThroughTheEncodingsOfTheSDK", func(t *testing.T) {
		t.Parallel()
		for _, v := range []any{nil, []byte("bytes"), map[string]any{"b": 1, "a": 2.50}, "text"} {
			p, err := converter.GetDefaultDataConverter().ToPayload(v)
			require.NoError(t, err)
			require.Equal(t, requireForm(t, canonical.Exact, v), requireForm(t, canonical.Exact, converter.NewRawValue(p)))
		}
	})

	t.Run("IgnoresTheSpacingOfProtoJSON", func(t *testing.T) {
		t.Parallel()
		require.Equal(t,
			requireForm(t, canonical.Lenient, converter.NewRawValue(payload("json/protobuf", `{"a":1, "b":2}`))),
			requireForm(t, canonical.Lenient, converter.NewRawValue(payload("json/protobuf", `{"b":2,"a": 1}`))))
		charge, refund := payload("json/protobuf", `{"id":1}`), payload("json/protobuf", `{"id":1}`)
		charge.Metadata["messageType"], refund.Metadata["messageType"] = []byte("pay.Charge"), []byte("pay.Refund")
		for _, mode := range []canonical.Mode{canonical.Lenient, canonical.Exact} {
			require.NotEqual(t, requireForm(t, mode, converter.NewRawValue(charge)), requireForm(t, mode, converter.NewRawValue(refund)))
		}
	})

	t.Run("TakesTheValuesOfADynamicActivity", func(t *testing.T) {
		t.Parallel()
		values := func(args ...any) converter.EncodedValues {
			p, err := converter.GetDefaultDataConverter().ToPayloads(args...)
			require.NoError(t, err)
			return payloads{p}
		}
		require.Equal(t, requireForm(t, canonical.Exact, values("a", 1)), requireForm(t, canonical.Exact, values("a", 1.0)))
		require.NotEqual(t, requireForm(t, canonical.Exact, values("a", "b")), requireForm(t, canonical.Exact, values("ab")))
		require.NotEqual(t, requireForm(t, canonical.Exact, values("a")), requireForm(t, canonical.Exact, values("a", nil)))
		require.NotEqual(t, requireForm(t, canonical.Exact, values("a")), requireForm(t, canonical.Exact, "a"))
	})

	t.Run("TakesTheCodecOffTheValuesOfADynamicActivity", func(t *testing.T) {
		t.Parallel()
		zlib := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), converter.NewZlibCodec(converter.ZlibCodecOptions{AlwaysEncode: true}))
		plain, err := converter.GetDefaultDataConverter().ToPayloads("a", 1, nil)
		require.NoError(t, err)
		packed, err := zlib.ToPayloads("a", 1, nil)
		require.NoError(t, err)
		require.Equal(t, requireForm(t, canonical.Exact, payloads{plain}), requireForm(t, canonical.Exact, values{payloads{packed}, zlib}))
		requireProblem(t, canonical.Exact, values{payloads{packed}, converter.GetDefaultDataConverter()})
		requireProblem(t, canonical.Exact, payloads{packed}) // whose Get gives nothing
	})

	t.Run("TakesTheFormThatAnArgumentGivesItself", func(t *testing.T) {
		t.Parallel()
		one, same := requireForm(t, canonical.Lenient, canonical.Own("a")), requireForm(t, canonical.Lenient, canonical.Own("a"))
		require.Equal(t, one, same)
		for _, other := range []any{canonical.Own("b"), []byte("a"), "a", nil} {
			require.NotEqual(t, one, requireForm(t, canonical.Lenient, other))
		}
		require.NotEqual(t, requireForm(t, canonical.Lenient, canonical.Own(nil)), requireForm(t, canonical.Lenient, nil))
	})

	for name, p := range map[string]*commonpb.Payload{
		"RefusesCiphertext":     payload("binary/encrypted", "\x00\x01"),
		"RefusesCompressedData": payload("binary/zlib", "\x78\x9c"),
		"RefusesNoEncoding":     {Data: []byte("x")},
		"RefusesNoPayload":      nil,
		"RefusesBrokenJSON":     payload("json/plain", "{"),
		"RefusesALongEncoding":  payload(string(make([]byte, 10_000)), ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Less(t, len(requireProblem(t, canonical.Lenient, converter.NewRawValue(p)).Error()), 1000)
		})
	}
}

// values are payloads with the converter that reads them.
type values struct {
	payloads
	data converter.DataConverter
}

func (v values) Get(pointers ...any) error { return v.data.FromPayloads(v.p, pointers...) }

// payloads stands for what the SDK hands to a dynamic activity.
type payloads struct{ p *commonpb.Payloads }

func (p payloads) HasValues() bool              { return true }
func (p payloads) Get(...any) error             { return nil }
func (p payloads) Payloads() *commonpb.Payloads { return p.p }
