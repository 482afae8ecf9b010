package redisstore

import (
	"errors"
	"strconv"
	"time"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// errAnswer is a reply that no script of this package gives.
var errAnswer = errors.New("dedupe: redisstore: unexpected answer of a script")

// readRecord reads what the scripts' function found answers.
func readRecord(key string, reply any) (store.Record, error) {
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		return store.Record{}, errAnswer
	}
	left, isText := pair[0].(string)
	flat, isList := pair[1].([]any)
	if !isText || !isList || len(flat)%2 != 0 {
		return store.Record{}, errAnswer
	}
	h := hash{values: make(map[string]string, len(flat)/2)}
	for i := 0; i < len(flat); i += 2 {
		name, nameOK := flat[i].(string)
		value, valueOK := flat[i+1].(string)
		if !nameOK || !valueOK {
			return store.Record{}, errAnswer
		}
		h.values[name] = value
	}
	r := h.record()
	r.Key = key
	microseconds, err := strconv.ParseInt(left, 10, 64)
	if err != nil || h.err != nil {
		return store.Record{}, errAnswer
	}
	r.LeaseLeft = time.Duration(microseconds) * time.Microsecond
	return r, nil
}

// hash reads the fields of a record and remembers whether one was not as it is
// written.
type hash struct {
	values map[string]string
	err    error
}

func (h *hash) record() store.Record {
	r := store.Record{
		Version:        int(h.number("version")),
		Status:         store.Status(h.values["status"]),
		Hash:           h.values["hash"],
		Policy:         store.TakeoverPolicy(h.values["policy"]),
		EffectPossible: h.flag("effect"),
		Held:           h.flag("held"),
		Pending:        h.flag("pending"),
		NonRetryable:   h.flag("final"),
		Generation:     int(h.number("generation")),
		Acquisitions:   int(h.number("acquisitions")),
		Result:         h.bytes("result"),
		ResultSize:     h.number("result_size"),
		Tombstone:      store.Tombstone(h.values["tombstone"]),
		Failure:        h.bytes("failure"),
		CreatedAt:      h.time("created"),
		UpdatedAt:      h.time("updated"),
		ExpiresAt:      h.time("expires"),
		Origin: store.Origin{
			Lineage:      h.values["lineage"],
			Invocation:   h.values["invocation"],
			Namespace:    h.values["namespace"],
			WorkflowID:   h.values["workflow_id"],
			RunID:        h.values["run_id"],
			ActivityID:   h.values["activity_id"],
			ActivityType: h.values["activity_type"],
			Attempt:      int(h.number("attempt")),
			Owner:        h.values["owner"],
			TraceParent:  h.values["trace_parent"],
		},
	}
	var err error
	r.Token, err = store.ParseToken(h.values["token"])
	h.err = errors.Join(h.err, err)
	if text, ok := h.values["scheduled"]; ok {
		r.ScheduledAt, err = time.Parse(time.RFC3339Nano, text)
		h.err = errors.Join(h.err, err)
	}
	return r
}

func (h *hash) flag(name string) bool { return h.values[name] == "1" }

func (h *hash) number(name string) int64 {
	text, ok := h.values[name]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	h.err = errors.Join(h.err, err)
	return n
}

// bytes keeps nil and empty apart.
func (h *hash) bytes(name string) []byte {
	text, ok := h.values[name]
	if !ok {
		return nil
	}
	return []byte(text)
}

func (h *hash) time(name string) time.Time { return time.UnixMicro(h.number(name)).UTC() }
