package pgstore

import "github.com/jackc/pgx/v5"

// outbox is the buffer of a session for what it sends. pgx drops its own after each
// message of more than a kilobyte, begins with a small one and doubles it until the next
// message fits: three times the message in garbage, which is two fifths of what grouped
// calls leave to the collector.
type outbox struct {
	kept []byte
	next int // bytes that are about to be sent
}

// It is sent before other messages, as one of no bytes that makes room for them.

// Frontend implements pgproto3.FrontendMessage.
func (*outbox) Frontend() {}

// Decode implements pgproto3.Message.
func (*outbox) Decode([]byte) error { return nil }

// Encode implements pgproto3.Message.
func (o *outbox) Encode(waiting []byte) ([]byte, error) {
	need := len(waiting) + o.next
	if need <= cap(waiting) {
		return waiting, nil
	}
	if need > keepBytes {
		return append(make([]byte, 0, need), waiting...), nil
	}
	if need > cap(o.kept) {
		o.kept = make([]byte, 0, min(2*need, keepBytes))
	}
	return append(o.kept[:0], waiting...), nil
}

const outboxKey = "temporal-dedupe outbox"

// giveOutbox gives a session an outbox.
func giveOutbox(conn *pgx.Conn) { conn.PgConn().CustomData()[outboxKey] = new(outbox) }

// makeRoom prepares a session that has an outbox for the arguments of a statement, or
// of several that go together.
func makeRoom(conn *pgx.Conn, statements ...[]any) {
	o, ok := conn.PgConn().CustomData()[outboxKey].(*outbox)
	if !ok || conn.IsClosed() { // by a hook, and the driver may be saying goodbye
		return
	}
	o.next = 0
	for _, args := range statements {
		o.next += messageBytes(args)
	}
	conn.PgConn().Frontend().Send(o)
}

// messageBytes is about what the messages of a statement weigh. Too little makes pgx
// look for more memory, and is no error.
func messageBytes(args []any) int {
	const (
		messages = 256 // Bind without arguments, Describe, Execute and Sync
		argument = 32  // its format, its length and the header of an array
		element  = 4   // its length
	)
	bytes := messages + len(args)*argument
	for _, a := range args {
		switch a := a.(type) {
		case string:
			bytes += len(a)
		case []byte:
			bytes += len(a)
		case []string:
			bytes += len(a) * element
			for _, s := range a {
				bytes += len(s)
			}
		case [][]byte:
			bytes += len(a) * element
			for _, b := range a {
				bytes += len(b)
			}
		case []int64:
			bytes += len(a) * (element + 8)
		case []bool:
			bytes += len(a) * (element + 1)
		}
	}
	return bytes
}
