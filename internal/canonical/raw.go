package canonical

import (
	"encoding/binary"
	"fmt"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// raw writes arguments that were never decoded: RawValue parameters, and all
// arguments of dynamic activities.
func (e *encoder) raw(v any) *problem {
	if raw, ok := v.(converter.RawValue); ok {
		return e.payload(raw.Payload())
	}
	source, ok := v.(converter.ValuesPayloads)
	if !ok {
		return &problem{reason: "its payloads cannot be read"}
	}
	payloads := decoded(v, source.Payloads().GetPayloads())
	e.dst = append(e.dst, tagDynamic)
	e.dst = binary.AppendUvarint(e.dst, uint64(len(payloads)))
	for _, p := range payloads {
		if problem := e.payload(p); problem != nil {
			return problem
		}
	}
	return nil
}

// decoded takes the codec off the values of a dynamic activity, which reach it as
// they were sent. Where the converter cannot do that, they stay as they are.
func decoded(v any, payloads []*commonpb.Payload) []*commonpb.Payload {
	values, ok := v.(converter.EncodedValues)
	if !ok || !slices.ContainsFunc(payloads, foreignEncoding) {
		return payloads
	}
	raw, pointers := make([]converter.RawValue, len(payloads)), make([]any, len(payloads))
	for i := range raw {
		pointers[i] = &raw[i]
	}
	if values.Get(pointers...) != nil {
		return payloads
	}
	plain := make([]*commonpb.Payload, len(raw))
	for i := range raw {
		if plain[i] = raw[i].Payload(); plain[i] == nil {
			return payloads
		}
	}
	return plain
}

func foreignEncoding(p *commonpb.Payload) bool {
	switch string(p.GetMetadata()[converter.MetadataEncoding]) {
	case converter.MetadataEncodingNil, converter.MetadataEncodingBinary, converter.MetadataEncodingJSON,
		converter.MetadataEncodingProtoJSON, converter.MetadataEncodingProto:
		return false
	}
	return true
}

// payload writes one payload by its content. Encodings other than the SDK's own
// are what a codec left behind: ciphertext differs each time, and what is
// compressed depends on the compressor, so they have no form.
func (e *encoder) payload(p *commonpb.Payload) *problem {
	switch encoding := string(p.GetMetadata()[converter.MetadataEncoding]); encoding {
	case converter.MetadataEncodingNil:
		e.dst = append(e.dst, tagNull)
		return nil
	case converter.MetadataEncodingBinary:
		e.frame(tagBytes, p.GetData())
		return nil
	case converter.MetadataEncodingJSON:
		e.dst = append(e.dst, tagJSON)
		return e.foreign(p.GetData())
	case converter.MetadataEncodingProtoJSON:
		e.frame(tagProtoJSON, p.GetMetadata()[converter.MetadataMessageType])
		return e.foreign(p.GetData())
	case converter.MetadataEncodingProto:
		e.message(tagWire, string(p.GetMetadata()[converter.MetadataMessageType]), p.GetData())
		return nil
	default:
		return &problem{reason: fmt.Sprintf("a payload of encoding %.64q was not decoded, so its content is not known", encoding)}
	}
}
