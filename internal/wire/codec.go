package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
)

// MaxBytes bounds a header. The longest that Encode can write is a workflow ID,
// a step and a business key of MaxTextBytes each, escaped; anything larger was
// not written by us, and a reader must not spend memory on it.
const MaxBytes = 256 << 10

const (
	metadataEncoding = "encoding"
	encodingPlain    = "json/plain"
)

// Encode writes facts in the current version of the format. Equal facts give
// equal payloads.
func Encode(f Facts) *commonpb.Payload {
	f.Version = Version
	data, err := json.Marshal(f)
	if err != nil {
		// Strings, integers and booleans can always be encoded.
		panic("dedupe: encoding the header: " + err.Error())
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{metadataEncoding: []byte(encodingPlain)},
		Data:     data,
	}
}

// Decode reads facts from a payload that anybody may have written. The error
// wraps ErrMalformed or ErrVersion.
func Decode(p *commonpb.Payload) (Facts, error) {
	switch encoding := p.GetMetadata()[metadataEncoding]; {
	case p == nil:
		return Facts{}, fmt.Errorf("%w: no payload", ErrMalformed)
	case string(encoding) != encodingPlain:
		// Some SDKs run headers through the payload codec.
		return Facts{}, fmt.Errorf("%w: encoding is %s, not %s", ErrMalformed, quote(string(encoding)), encodingPlain)
	case len(p.GetData()) > MaxBytes:
		return Facts{}, fmt.Errorf("%w: %d bytes, more than %d", ErrMalformed, len(p.GetData()), MaxBytes)
	}
	f, ok := scan(p.GetData())
	var err error
	if !ok {
		f, err = unmarshal(p.GetData())
	}
	version := f.Version
	if err != nil {
		version = versionOf(p.GetData())
	}
	switch {
	case version > Version:
		// It decides what the other fields mean: a later version is reported as
		// such also where its fields have other types and could not be read.
		return Facts{}, fmt.Errorf("%w: version %d, this release knows %d", ErrVersion, version, Version)
	case err != nil:
		return Facts{}, malformed(err)
	}
	if err := f.validate(); err != nil {
		return Facts{}, err
	}
	return f, nil
}

// unmarshal reads any JSON of facts.
func unmarshal(data []byte) (f Facts, err error) {
	err = json.Unmarshal(data, &f)
	return f, err
}

// versionOf reads nothing but the version, and 0 where there is none to read.
func versionOf(data []byte) int {
	var head struct {
		Version int `json:"v"`
	}
	if json.Unmarshal(data, &head) != nil {
		return 0
	}
	return head.Version
}

// malformed keeps the decoder's error out of the chain: its types belong to
// whoever decodes JSON, not to readers of headers.
func malformed(err error) error {
	return fmt.Errorf("%w: not the JSON of a header: %.200s", ErrMalformed, err.Error())
}

// Shorten bounds a text that only people read, so that it fits in a header.
func Shorten(text string) string {
	const limit = 512
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// quote shows foreign text in an error message, shortened.
func quote(s string) string {
	const limit = 64
	if len(s) > limit {
		return fmt.Sprintf("%q…", s[:limit])
	}
	return fmt.Sprintf("%q", s)
}
