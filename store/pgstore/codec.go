package pgstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
)

// registerColumns makes the columns of arguments cheap to send in one session. For
// an array of any Go type pgx asks an interface for each element, and begins each
// statement with a small buffer, which together are a third of what a store call
// costs its process. Other types and formats than those here are left to the codecs
// that were registered before.
func registerColumns(m *pgtype.Map) {
	kept := new([]byte)
	register(m, kept, pgtype.TextArrayOID, pgtype.TextOID, func(buf []byte, s string) []byte {
		return append(buf, s...)
	})
	register(m, kept, pgtype.Int8ArrayOID, pgtype.Int8OID, func(buf []byte, n int64) []byte {
		return binary.BigEndian.AppendUint64(buf, uint64(n))
	})
	register(m, kept, pgtype.ByteaArrayOID, pgtype.ByteaOID, func(buf, b []byte) []byte {
		if b == nil {
			return nil
		}
		return append(buf, b...)
	})
}

// register puts a plan for []T before the known codec of an array type.
func register[T any](m *pgtype.Map, kept *[]byte, array, element uint32, appendTo func([]byte, T) []byte) {
	if known, ok := m.TypeForOID(array); ok {
		codec := columnCodec[T]{known.Codec, columnPlan[T]{element, appendTo, kept}}
		m.RegisterType(&pgtype.Type{Name: known.Name, OID: array, Codec: codec})
	}
}

// columnCodec encodes a []T with a plan of its own.
type columnCodec[T any] struct {
	pgtype.Codec
	plan columnPlan[T]
}

// PlanEncode implements [pgtype.Codec].
func (c columnCodec[T]) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.([]T); ok && format == pgtype.BinaryFormatCode {
		return c.plan
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

// columnPlan writes an array of one dimension in the protocol's binary form.
type columnPlan[T any] struct {
	element  uint32
	appendTo func([]byte, T) []byte // nil is NULL
	// kept is the session's largest buffer so far. pgx has sent or dropped what is
	// in it when it encodes the first argument of another statement.
	kept *[]byte
}

const (
	keepBytes   = 256 << 10 // larger buffers are for the collector
	columnGuess = 64        // bytes of an element
)

// Encode implements [pgtype.EncodePlan].
func (p columnPlan[T]) Encode(value any, buf []byte) ([]byte, error) {
	column, ok := value.([]T)
	if !ok {
		return nil, fmt.Errorf("dedupe: pgstore: a %T where a %T was expected", value, column)
	}
	if cap(*p.kept) > cap(buf) {
		buf = append((*p.kept)[:0], buf...)
	}
	const dimensions, lowerBound = 1, 1
	hasNulls := len(buf) + 4
	buf = slices.Grow(buf, 20+len(column)*columnGuess)
	for _, n := range []uint32{dimensions, 0, p.element, uint32(len(column)), lowerBound} {
		buf = binary.BigEndian.AppendUint32(buf, n)
	}
	for _, v := range column {
		at := len(buf)
		buf = binary.BigEndian.AppendUint32(buf, math.MaxUint32) // -1, the length of NULL
		if written := p.appendTo(buf, v); written != nil {
			buf = written
			binary.BigEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
		} else {
			binary.BigEndian.PutUint32(buf[hasNulls:], 1)
		}
	}
	if cap(buf) > cap(*p.kept) && cap(buf) <= keepBytes {
		*p.kept = buf[:0]
	}
	return buf, nil
}
