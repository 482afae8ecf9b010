package dedupe_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// vault is a codec that encrypts with the first key and decrypts with all of
// them. Nonces are random, so that nothing looks the same twice.
type vault struct{ keys []vaultKey }

type vaultKey struct{ id, key string }

var (
	oldKey = vaultKey{"2025", "0123456789abcdef0123456789abcdef"}
	newKey = vaultKey{"2026", "fedcba9876543210fedcba9876543210"}
)

func (k vaultKey) cipher() (cipher.AEAD, error) {
	block, err := aes.NewCipher([]byte(k.key))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Encode implements converter.PayloadCodec.
func (v *vault) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	sealed := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		aead, err := v.keys[0].cipher()
		if err != nil {
			return nil, err
		}
		text, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, aead.NonceSize())
		_, _ = rand.Read(nonce)
		sealed[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte("binary/encrypted"), "key": []byte(v.keys[0].id)},
			Data:     aead.Seal(nonce, nonce, text, nil),
		}
	}
	return sealed, nil
}

// Decode implements converter.PayloadCodec.
func (v *vault) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	opened := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != "binary/encrypted" {
			return nil, errors.New("not encrypted")
		}
		p, err := v.open(p)
		if err != nil {
			return nil, err
		}
		opened[i] = p
	}
	return opened, nil
}

func (v *vault) open(p *commonpb.Payload) (*commonpb.Payload, error) {
	for _, k := range v.keys {
		if k.id != string(p.GetMetadata()["key"]) {
			continue
		}
		aead, err := k.cipher()
		if err != nil {
			return nil, err
		}
		n := aead.NonceSize()
		text, err := aead.Open(nil, p.GetData()[:n], p.GetData()[n:], nil)
		if err != nil {
			return nil, err
		}
		var opened commonpb.Payload
		return &opened, proto.Unmarshal(text, &opened)
	}
	return nil, fmt.Errorf("no key %q", p.GetMetadata()["key"])
}

// encrypted is a wiring on which everything is encrypted, and protos are binary.
func encrypted(name string, keys ...vaultKey) wiring {
	v := &vault{keys}
	data := converter.NewCodecDataConverter(converter.NewCompositeDataConverter(
		converter.NewNilPayloadConverter(), converter.NewByteSlicePayloadConverter(),
		converter.NewProtoPayloadConverter(), converter.NewProtoJSONPayloadConverter(), converter.NewJSONPayloadConverter(),
	), v)
	return wiring{name: name, vault: v, data: data, failing: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: data, EncodeCommonAttributes: true,
	})}
}

// declined is an error of the author's own, for which there may be a converter.
type declined struct{ code, who string }

func (d *declined) Error() string { return d.who + " was declined: " + d.code }

// coded is a failure converter that knows declined, and keeps a secret.
type coded struct{ converter.FailureConverter }

// ErrorToFailure implements converter.FailureConverter.
func (c coded) ErrorToFailure(err error) *failurepb.Failure {
	if d, ok := err.(*declined); ok { //nolint:errorlint // at the top only
		return &failurepb.Failure{Message: d.who, Source: "payments", FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
			ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: "card/declined", NonRetryable: true,
				Details: &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: []byte(d.code)}}}},
		}}
	}
	f := c.FailureConverter.ErrorToFailure(err)
	f.Message = strings.ReplaceAll(f.GetMessage(), mark, "…")
	return f
}

// FailureToError implements converter.FailureConverter.
func (c coded) FailureToError(f *failurepb.Failure) error {
	if info := f.GetApplicationFailureInfo(); info.GetType() == "card/declined" {
		return &declined{code: string(info.GetDetails().GetPayloads()[0].GetData()), who: f.GetMessage()}
	}
	return errors.New(f.GetMessage()) // and forgets the rest
}
