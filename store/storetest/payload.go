package storetest

import (
	"bytes"
	"math/rand/v2"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

func payloadTests() []named {
	return []named{
		{"a result comes back byte for byte", payloadResults},
		{"no result and an empty one stay apart", payloadNil},
		{"a failure comes back byte for byte", payloadFailures},
		{"no failure and an empty one stay apart", payloadNilFailure},
		{"a caller's slices are its own", payloadAliasing},
		{"names and times of an origin come back", payloadOrigin},
		{"an origin may be empty", payloadNoOrigin},
		{"a time far away comes back, or is not known", payloadFarTimes},
	}
}

func payloads() map[string][]byte {
	big := make([]byte, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range big {
		big[i] = byte(random.Uint32())
	}
	return map[string][]byte{
		"NUL":              {'a', 0, 'b'},
		"NUL alone":        {0},
		"invalid UTF-8":    {0xff, 0xfe, 0xc3, 0x28},
		"escaped":          []byte(`\x00 \u0000 '' "" \`),
		"a megabyte":       big,
		"text like null":   []byte("null"),
		"spaces and lines": []byte(" \r\n\t "),
	}
}

func payloadResults(k *kit) {
	for name, payload := range payloads() {
		r := k.reservation()
		k.insert(r)
		k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: payload, ResultSize: int64(len(payload))})
		require.True(k, bytes.Equal(payload, k.get(r).Result), "%s, from Get", name)
		require.True(k, bytes.Equal(payload, k.reserve(again(r)).Record.Result), "%s, from Reserve", name)
	}
}

func payloadNil(k *kit) {
	r := k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete})
	require.Nil(k, k.get(r).Result)
	require.Nil(k, k.reserve(again(r)).Record.Result)

	r = k.reservation()
	k.insert(r)
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: []byte{}})
	for _, result := range [][]byte{k.get(r).Result, k.reserve(again(r)).Record.Result} {
		require.NotNil(k, result)
		require.Empty(k, result)
	}
}

func payloadNilFailure(k *kit) {
	for _, failure := range [][]byte{nil, {}} {
		r := k.reservation()
		k.insert(r)
		k.apply(r, store.Settlement{Outcome: store.OutcomeFail, Failure: failure})
		require.Equal(k, failure, k.get(r).Failure)
		require.Equal(k, failure, k.reserve(again(r)).Record.Failure)
	}
}

func payloadFailures(k *kit) {
	for name, payload := range payloads() {
		r := k.reservation()
		k.insert(r)
		k.apply(r, store.Settlement{Outcome: store.OutcomeFail, Failure: payload})
		require.True(k, bytes.Equal(payload, k.get(r).Failure), "%s, from Get", name)
		require.True(k, bytes.Equal(payload, k.reserve(again(r)).Record.Failure), "%s, from Reserve", name)
	}
}

func payloadAliasing(k *kit) {
	spoil := func(b []byte) {
		for i := range b {
			b[i] = 'x'
		}
	}
	r := k.reservation()
	k.insert(r)
	given := []byte("paid")
	k.apply(r, store.Settlement{Outcome: store.OutcomeComplete, Result: given})
	spoil(given)
	require.Equal(k, []byte("paid"), k.get(r).Result)
	spoil(k.get(r).Result)
	spoil(k.reserve(again(r)).Record.Result)
	require.Equal(k, []byte("paid"), k.get(r).Result)

	r = k.reservation()
	k.insert(r)
	given = []byte("boom")
	k.apply(r, store.Settlement{Outcome: store.OutcomeFail, Failure: given})
	spoil(given)
	require.Equal(k, []byte("boom"), k.get(r).Failure)
	spoil(k.get(r).Failure)
	spoil(k.reserve(again(r)).Record.Failure)
	require.Equal(k, []byte("boom"), k.get(r).Failure)
}

func payloadOrigin(k *kit) {
	r := k.reservation(func(r *store.Reservation) {
		r.Origin = store.Origin{
			Lineage: "l/ä", Invocation: "i'/\\\"", Namespace: "{n,m}", WorkflowID: "日本 42", RunID: "NULL", ActivityID: "",
			ActivityType: "%s", ScheduledAt: time.Date(1999, 12, 31, 23, 59, 59, 999_999_000, time.FixedZone("", 3600)),
			Attempt: 1_000_000, Owner: "a@b", TraceParent: "tp",
		}
	})
	k.insert(r)
	k.requireOrigin(r.Origin, k.get(r).Origin)
	k.requireOrigin(r.Origin, k.reserve(again(r)).Record.Origin)
}

func payloadNoOrigin(k *kit) {
	r := k.reservation(func(r *store.Reservation) { r.Origin = store.Origin{} })
	k.insert(r)
	rec := k.get(r)
	require.True(k, rec.ScheduledAt.IsZero())
	k.requireOrigin(store.Origin{}, rec.Origin)
}

func payloadFarTimes(k *kit) {
	west, east := time.FixedZone("", -5*3600), time.FixedZone("", 5*3600)
	for _, far := range []time.Time{
		time.Date(1500, 6, 1, 1, 2, 3, 654_321_000, time.UTC), time.Date(2300, 6, 1, 1, 2, 3, 654_321_000, time.UTC),
		time.Date(9998, 6, 1, 1, 2, 3, 654_321_000, time.UTC), time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 0, 0, 0, west), time.Date(1, 1, 1, 0, 30, 0, 0, east), time.Unix(1<<60, 0), time.Unix(-1<<60, 0),
	} {
		r := k.reservation(func(r *store.Reservation) { r.ScheduledAt = far })
		k.insert(r)
		if got := k.get(r).ScheduledAt; !got.IsZero() {
			require.True(k, far.Equal(got), "%v, want %v", got, far)
		}
	}
}
