package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"google.golang.org/protobuf/proto"
)

// payload is a payload of a result as people read it.
type payload struct {
	// Encoding is what the client's converter called it.
	Encoding string `json:"encoding"`
	// MessageType is the type of a protocol buffer.
	MessageType string `json:"message_type,omitempty"`
	// Size is the size of the data in bytes.
	Size int `json:"size"`
	// JSON is the data, where it is JSON.
	JSON document `json:"json,omitempty"`
	// Note says why there is no JSON.
	Note string `json:"note,omitempty"`
}

// payloads reads a stored result.
func payloads(encoded []byte) ([]payload, error) {
	var list commonpb.Payloads
	if err := proto.Unmarshal(encoded, &list); err != nil {
		return nil, fmt.Errorf("dedupe: the recorded result cannot be read: %w", err)
	}
	out := make([]payload, 0, len(list.GetPayloads()))
	for _, p := range list.GetPayloads() {
		out = append(out, newPayload(p))
	}
	return out, nil
}

func newPayload(p *commonpb.Payload) payload {
	out := payload{
		Encoding: string(p.GetMetadata()["encoding"]), MessageType: string(p.GetMetadata()["messageType"]), Size: len(p.GetData()),
	}
	switch {
	case out.Encoding == "json/plain" || out.Encoding == "json/protobuf":
		if utf8.Valid(p.GetData()) && json.Valid(p.GetData()) {
			out.JSON = p.GetData()
			return out
		}
		out.Note = "no JSON, not shown"
	case out.Encoding == "binary/null":
		out.Note = "nil"
	case strings.HasPrefix(out.Encoding, "binary/plain") || out.Encoding == "binary/protobuf":
		out.Note = "bytes, not shown"
	default:
		out.Note = "encoded by the client, encrypted perhaps, not shown"
	}
	return out
}

// text is the payload on the terminal.
func (p payload) text() string {
	head := plain(p.Encoding)
	if p.MessageType != "" {
		head += " " + plain(p.MessageType)
	}
	head = fmt.Sprintf("%s, %d bytes", or(head), p.Size)
	if p.JSON == nil {
		return head + ": " + p.Note
	}
	var indented bytes.Buffer
	_ = json.Indent(&indented, p.JSON, "", "  ")
	lines := strings.Split(indented.String(), "\n")
	for i := range lines {
		lines[i] = plain(lines[i])
	}
	return head + ":\n" + strings.Join(lines, "\n")
}

// cause is a failure, or a cause in its chain, as people read it.
type cause struct {
	// Message is the failure's own, unless the client has encoded it.
	Message string `json:"message"`
	// Type is the type of an application failure.
	Type string `json:"type,omitempty"`
	// NonRetryable is the flag of an application failure.
	NonRetryable bool `json:"non_retryable,omitempty"`
	// Encoded is what stands in place of the message, if anything.
	Encoded *payload `json:"encoded,omitempty"`
	// Details are those of an application failure.
	Details []payload `json:"details,omitempty"`
}

// causes reads a stored failure with what caused it.
func causes(encoded []byte) ([]cause, error) {
	if len(encoded) == 0 {
		return nil, nil
	}
	var f failurepb.Failure
	if err := proto.Unmarshal(encoded, &f); err != nil {
		return nil, fmt.Errorf("dedupe: the recorded failure cannot be read: %w", err)
	}
	var out []cause
	for part := &f; part != nil; part = part.GetCause() {
		info := part.GetApplicationFailureInfo()
		c := cause{Message: part.GetMessage(), Type: info.GetType(), NonRetryable: info.GetNonRetryable()}
		if attributes := part.GetEncodedAttributes(); attributes != nil {
			p := newPayload(attributes)
			c.Encoded = &p
		}
		for _, d := range info.GetDetails().GetPayloads() {
			c.Details = append(c.Details, newPayload(d))
		}
		out = append(out, c)
	}
	return out, nil
}

// text is the failure on the terminal.
func (c cause) text() string {
	text := plain(c.Message)
	if c.Type != "" {
		text = plain(c.Type) + ": " + text
	}
	if c.NonRetryable {
		text += " (not retryable)"
	}
	if c.Encoded != nil {
		text += "\nencoded: " + c.Encoded.text()
	}
	for _, d := range c.Details {
		text += "\ndetails: " + d.text()
	}
	return text
}
