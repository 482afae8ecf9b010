package pgstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/pgstore"
)

var order = store.Order{Actor: "ann@ops", Reason: "provider says it never happened"}

// hold leaves a record held, with its lease over.
func (b bundle) hold(t *testing.T, r store.Reservation) {
	t.Helper()
	insert(t, b.store, r)
	require.Equal(t, []store.Settled{store.SettledApplied},
		settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true})))
}

// look reads one record as an operator does.
func (b bundle) look(t *testing.T, key string) store.Entry {
	t.Helper()
	entries, err := b.store.Admin().Find(t.Context(), []string{key})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	return entries[0]
}

// change is a change of a record as it is now.
func (b bundle) change(t *testing.T, key string, verb store.Verb, edit ...func(*store.Change)) store.Change {
	t.Helper()
	c := store.Change{Key: key, Seen: b.look(t, key).Seen(), Token: store.NewToken(), Verb: verb}
	if verb != store.VerbPurge && verb != store.VerbDelete {
		c.Keep = time.Hour
	}
	if verb == store.VerbFail {
		c.Failure = []byte("a failure")
	}
	for _, e := range edit {
		e(&c)
	}
	return c
}

// resolve carries out one change.
func (b bundle) resolve(t *testing.T, c store.Change) store.Resolved {
	t.Helper()
	do := b.store.Admin().Resolve
	if c.Verb == store.VerbPurge || c.Verb == store.VerbDelete {
		do = b.store.Admin().Purge
	}
	got, err := do(t.Context(), order, []store.Change{c})
	require.NoError(t, err)
	require.Len(t, got, 1)
	return got[0]
}

// decide tells what a new execution of r would do.
func (b bundle) decide(t *testing.T, r store.Reservation) store.Action {
	t.Helper()
	found, err := b.store.Reserve(t.Context(), []store.Reservation{again(r)})
	require.NoError(t, err)
	require.True(t, found[0].Exists)
	return store.Decide(found[0].Record, again(r)).Action
}

func underPolicy(key string, p store.TakeoverPolicy) store.Reservation {
	r := reservation(key)
	r.Policy = p
	return r
}

func TestResolve(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{CallTimeout: time.Minute})

	for _, policy := range []store.TakeoverPolicy{store.Refuse, store.Verify, store.Reexecute} {
		t.Run("release lets the next execution run under "+string(policy)+", with the same provider key", func(t *testing.T) {
			t.Parallel()
			r := underPolicy("release "+string(policy), policy)
			b.hold(t, r)
			require.NotEqual(t, store.ActAcquire, b.decide(t, r))
			require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbRelease)))
			got := b.look(t, r.Key)
			require.True(t, got.GivenUp)
			require.True(t, got.HeldSince.IsZero())
			require.False(t, got.EffectPossible)
			claimed, err := store.Claim(t.Context(), b.store, again(r))
			require.NoError(t, err)
			require.Equal(t, store.ActAcquire, claimed.Action)
			require.Zero(t, claimed.Generation)
		})
	}

	t.Run("release with a fresh key moves the generation, once", func(t *testing.T) {
		t.Parallel()
		r := underPolicy("fresh", store.Refuse)
		b.hold(t, r)
		fresh := func(c *store.Change) { c.FreshKey = true }
		require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbRelease, fresh)))
		claimed, err := store.Claim(t.Context(), b.store, again(r))
		require.NoError(t, err)
		require.Equal(t, 1, claimed.Generation)
	})

	t.Run("release of a failure that nobody understands keeps it for people to read", func(t *testing.T) {
		t.Parallel()
		r := underPolicy("failed", store.Refuse)
		insert(t, b.store, r)
		settle(t, b.store, settlement(r, store.Settlement{
			Outcome: store.OutcomeFail, Failure: []byte("timeout"), EffectPossible: true,
		}))
		require.Equal(t, store.ActUnknown, b.decide(t, r))
		require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbRelease)))
		require.Equal(t, store.ActAcquire, b.decide(t, r))
		require.Equal(t, []byte("timeout"), get(t, b.store, r).Failure)
	})

	t.Run("release of a final failure lets its own scheduling run again", func(t *testing.T) {
		t.Parallel()
		r := reservation("final")
		insert(t, b.store, r)
		settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("declined"), NonRetryable: true}))
		require.Equal(t, store.ActReplayFailure, b.decide(t, r))
		require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbRelease)))
		require.Equal(t, store.ActAcquire, b.decide(t, r))
	})

	t.Run("complete gives the result that every execution replays", func(t *testing.T) {
		t.Parallel()
		for name, result := range map[string][]byte{"some": []byte("paid"), "nil": nil, "empty": {}} {
			r := underPolicy("complete "+name, store.Refuse)
			b.hold(t, r)
			given := func(c *store.Change) { c.Result = result }
			require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbComplete, given)))
			require.Equal(t, store.ActReplay, b.decide(t, r))
			require.Equal(t, result, get(t, b.store, r).Result)
			require.EqualValues(t, len(result), b.look(t, r.Key).ResultSize)
			other := r
			other.Invocation, other.Hashes = "run-2/5/9", []string{"v1:s1:bbbb"}
			require.Equal(t, store.ActConflict, b.decide(t, other), "the fingerprint stays")
		}
	})

	t.Run("complete gives a tombstone its result", func(t *testing.T) {
		t.Parallel()
		r := reservation("tombstone")
		insert(t, b.store, r)
		settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeComplete, Tombstone: store.TombstoneResultTooLarge, ResultSize: 9 << 20}))
		given := func(c *store.Change) { c.Result = []byte("short") }
		require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbComplete, given)))
		got := get(t, b.store, r)
		require.Equal(t, []byte("short"), got.Result)
		require.Empty(t, got.Tombstone)
	})

	t.Run("fail is replayed to the same scheduling, and another one runs", func(t *testing.T) {
		t.Parallel()
		r := underPolicy("fail", store.Refuse)
		b.hold(t, r)
		require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbFail)))
		require.Equal(t, store.ActReplayFailure, b.decide(t, r))
		require.Equal(t, []byte("a failure"), get(t, b.store, r).Failure)
		other := r
		other.Invocation = "run-1/5/2"
		require.Equal(t, store.ActAcquire, b.decide(t, other))
	})

	t.Run("keeps the record although its retention is over", func(t *testing.T) {
		t.Parallel()
		r := underPolicy("kept", store.Refuse)
		b.hold(t, r)
		execute(t, b.pool, `UPDATE idempotency_records SET expires_at = now() - interval '30 days' WHERE key = $1`, r.Key)
		require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbComplete)))
		_, err := b.store.Evict(t.Context(), 1000)
		require.NoError(t, err)
		require.Equal(t, store.ActReplay, b.decide(t, r))
	})

	t.Run("purge leaves a tombstone, and the call is answered and not run", func(t *testing.T) {
		t.Parallel()
		r := reservation("purged")
		insert(t, b.store, r)
		settle(t, b.store, complete(r, "s3cret"))
		require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbPurge)))
		require.Equal(t, store.ActReplay, b.decide(t, r))
		got := get(t, b.store, r)
		require.Nil(t, got.Result)
		require.Equal(t, store.TombstonePurged, got.Tombstone)
		// Its owner, whose answer was lost, changes nothing.
		require.Equal(t, []store.Settled{store.SettledStale}, settle(t, b.store, complete(r, "s3cret")))
	})

	t.Run("delete removes the record, with its trail left behind", func(t *testing.T) {
		t.Parallel()
		r := reservation("deleted")
		insert(t, b.store, r)
		settle(t, b.store, complete(r, "s3cret"))
		c := b.change(t, r.Key, store.VerbDelete)
		require.Equal(t, store.ResolvedDone, b.resolve(t, c))
		entries, err := b.store.Admin().Find(t.Context(), []string{r.Key})
		require.NoError(t, err)
		require.Empty(t, entries)
		trail, err := b.store.Admin().Audit(t.Context(), r.Key, 10)
		require.NoError(t, err)
		require.Len(t, trail, 1)
		require.Nil(t, trail[0].After)
		require.Equal(t, store.ResolvedDone, b.resolve(t, c), "the answer was lost, and the call repeated")
		c.Seen.Token = store.NewToken()
		require.Equal(t, store.ResolvedMissing, b.resolve(t, c))
	})
}

func TestALiveLeaseIsLeftAloneUnlessForced(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{CallTimeout: time.Minute})
	for _, verb := range []store.Verb{store.VerbRelease, store.VerbComplete, store.VerbFail} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			r := reservation(string(verb))
			insert(t, b.store, r)
			require.Equal(t, store.ResolvedLive, b.resolve(t, b.change(t, r.Key, verb)))
			require.Equal(t, r.Token, b.look(t, r.Key).Token)

			force := func(c *store.Change) { c.Force = true }
			require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, verb, force)))
			renewed, err := b.store.Renew(t.Context(), []store.Lease{leaseOf(r)})
			require.NoError(t, err)
			require.Equal(t, []store.Renewal{store.LeaseLost}, renewed, "the body is cancelled")
			require.Equal(t, []store.Settled{store.SettledStale}, settle(t, b.store, complete(r, "late")), "and cannot record")
		})
	}
	t.Run("delete", func(t *testing.T) {
		t.Parallel()
		r := reservation("delete")
		insert(t, b.store, r)
		require.Equal(t, store.ResolvedLive, b.resolve(t, b.change(t, r.Key, store.VerbDelete)))
	})
	t.Run("pending", func(t *testing.T) {
		t.Parallel()
		r := reservation("pending")
		insert(t, b.store, r)
		settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomePend, Lease: time.Minute}))
		require.Equal(t, store.ResolvedLive, b.resolve(t, b.change(t, r.Key, store.VerbRelease)))
		force := func(c *store.Change) { c.Force = true }
		require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbRelease, force)))
		require.False(t, b.look(t, r.Key).Pending)
		require.Equal(t, []store.Settled{store.SettledStale}, settle(t, b.store, complete(r, "late")), "whoever completes it from outside is told")
		require.Equal(t, store.ActAcquire, b.decide(t, r))
	})
}

func TestAChangeBetweenLookAndActIsNotTouched(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{CallTimeout: time.Minute})
	for name, between := range map[string]func(*testing.T, store.Reservation){
		"a new owner": func(t *testing.T, r store.Reservation) {
			got, err := b.store.Acquire(t.Context(), []store.Acquisition{
				{Reservation: again(r), SeenToken: r.Token, SeenStatus: store.StatusInProgress, SeenHeld: true},
			})
			require.NoError(t, err)
			require.True(t, got[0].OK)
		},
		"a new owner, that is just as dead": func(t *testing.T, r store.Reservation) {
			next := again(r)
			got, err := b.store.Acquire(t.Context(), []store.Acquisition{
				{Reservation: next, SeenToken: r.Token, SeenStatus: store.StatusInProgress, SeenHeld: true},
			})
			require.NoError(t, err)
			require.True(t, got[0].OK)
			settle(t, b.store, settlement(next, store.Settlement{Outcome: store.OutcomeHold, OwnLease: true}))
		},
		"its owner came back with the result": func(t *testing.T, r store.Reservation) {
			settle(t, b.store, complete(r, "the truth"))
		},
		"its owner came back with a failure": func(t *testing.T, r store.Reservation) {
			settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeFail, Failure: []byte("f")}))
		},
		"its owner has released it": func(t *testing.T, r store.Reservation) {
			settle(t, b.store, settlement(r, store.Settlement{Outcome: store.OutcomeRelease}))
		},
		"another operator": func(t *testing.T, r store.Reservation) {
			require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, r.Key, store.VerbFail)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := underPolicy(name, store.Refuse)
			b.hold(t, r)
			var changes []store.Change
			for _, verb := range []store.Verb{store.VerbRelease, store.VerbComplete, store.VerbFail, store.VerbDelete} {
				changes = append(changes, b.change(t, r.Key, verb))
			}
			between(t, r)
			before := value[string](t, b.pool, `SELECT r::text FROM idempotency_records r WHERE key = $1`, r.Key)
			trail, err := b.store.Admin().Audit(t.Context(), r.Key, 10)
			require.NoError(t, err)
			for _, c := range changes {
				require.Equal(t, store.ResolvedChanged, b.resolve(t, c), c.Verb)
			}
			require.Equal(t, before, value[string](t, b.pool, `SELECT r::text FROM idempotency_records r WHERE key = $1`, r.Key))
			now, err := b.store.Admin().Audit(t.Context(), r.Key, 10)
			require.NoError(t, err)
			require.Equal(t, trail, now)
		})
	}

	t.Run("a record that a transaction has locked is said to be, and waits for nobody", func(t *testing.T) {
		t.Parallel()
		locked, free := underPolicy("locked", store.Refuse), underPolicy("free", store.Refuse)
		b.hold(t, locked)
		b.hold(t, free)
		changes := []store.Change{b.change(t, locked.Key, store.VerbRelease), b.change(t, free.Key, store.VerbRelease)}
		b.begin(t, lockRow, locked.Key)
		got, err := b.store.Admin().Resolve(t.Context(), order, changes)
		require.NoError(t, err)
		require.Equal(t, []store.Resolved{store.ResolvedLocked, store.ResolvedDone}, got)
	})

	t.Run("a record of a later release is left alone", func(t *testing.T) {
		t.Parallel()
		r := underPolicy("newer", store.Refuse)
		b.hold(t, r)
		execute(t, b.pool, `UPDATE idempotency_records SET record_version = 9 WHERE key = $1`, r.Key)
		require.Equal(t, store.ResolvedNewer, b.resolve(t, b.change(t, r.Key, store.VerbRelease)))
	})
}

func TestOfManyOperatorsAtOnceOneIsHeard(t *testing.T) {
	t.Parallel()
	const operators, records = 8, 20
	b := setup(t, pgstore.Options{CallTimeout: time.Minute})
	changes := make([][]store.Change, operators)
	for n := range records {
		r := underPolicy(fmt.Sprintf("key-%02d", n), store.Refuse)
		b.hold(t, r)
		for i := range operators {
			changes[i] = append(changes[i], b.change(t, r.Key, []store.Verb{store.VerbRelease, store.VerbFail}[i%2]))
		}
	}
	var group sync.WaitGroup
	done := make([]int, records)
	var mu sync.Mutex
	for i := range operators {
		group.Go(func() {
			for pending := changes[i]; len(pending) > 0; {
				got, err := b.store.Admin().Resolve(context.WithoutCancel(t.Context()), order, pending)
				if err != nil {
					t.Errorf("resolve: %v", err)
					return
				}
				var locked []store.Change
				mu.Lock()
				for j, answer := range got {
					switch answer {
					case store.ResolvedDone:
						var n int
						_, _ = fmt.Sscanf(pending[j].Key, "key-%02d", &n)
						done[n]++
					case store.ResolvedLocked:
						locked = append(locked, pending[j])
					}
				}
				mu.Unlock()
				pending = locked
			}
		})
	}
	group.Wait()
	for n := range done {
		require.Equal(t, 1, done[n], n)
	}
	require.Equal(t, records, value[int](t, b.pool, `SELECT count(*) FROM idempotency_audit`))
}

func TestAudit(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{})
	a := b.store.Admin()
	r := underPolicy("a", store.Refuse)
	b.hold(t, r)
	was := b.look(t, "a")
	fresh := func(c *store.Change) { c.FreshKey = true }
	require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, "a", store.VerbRelease, fresh)))
	given := func(c *store.Change) { c.Result = []byte("s3cret-result") }
	require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, "a", store.VerbComplete, given)))
	other := underPolicy("b", store.Refuse)
	b.hold(t, other)
	fails := func(c *store.Change) { c.Failure = []byte("s3cret-failure") }
	require.Equal(t, store.ResolvedDone, b.resolve(t, b.change(t, "b", store.VerbFail, fails)))

	trail, err := a.Audit(t.Context(), "a", 10)
	require.NoError(t, err)
	require.Len(t, trail, 2)
	require.Equal(t, []string{"complete", "release --fresh-key"}, []string{trail[0].Verb, trail[1].Verb})
	release := trail[1]
	require.Equal(t, order.Actor, release.Actor)
	require.Equal(t, order.Reason, release.Reason)
	require.WithinDuration(t, value[time.Time](t, b.pool, `SELECT clock_timestamp()`), release.At, time.Hour)
	var before, after map[string]any
	require.NoError(t, json.Unmarshal(release.Before, &before))
	require.NoError(t, json.Unmarshal(release.After, &after))
	require.Equal(t, was.Token.String(), before["owner_token"])
	require.NotEqual(t, before["owner_token"], after["owner_token"])
	require.NotNil(t, before["held_since"])
	require.Nil(t, after["held_since"])
	require.Equal(t, []any{true, false}, []any{before["effect_possible"], after["effect_possible"]})
	require.Equal(t, []any{0.0, 1.0}, []any{before["generation"], after["generation"]})

	all, err := a.Audit(t.Context(), "", 10)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, "b", all[0].Key)
	latest, err := a.Audit(t.Context(), "", 1)
	require.NoError(t, err)
	require.Equal(t, all[:1], latest)

	t.Run("holds every column but the bytes", func(t *testing.T) {
		columns := value[[]string](t, b.pool, `SELECT array_agg(attname::text) FROM pg_attribute
			WHERE attrelid = 'idempotency_records'::regclass AND attnum > 0 AND attname NOT IN ('response_body', 'failure')`)
		for _, entry := range all {
			for _, document := range [][]byte{entry.Before, entry.After} {
				var row map[string]any
				require.NoError(t, json.Unmarshal(document, &row))
				for _, column := range columns {
					require.Contains(t, row, column)
				}
				require.Contains(t, row, "has_result")
				require.Len(t, row, len(columns)+2)
			}
		}
		text := value[string](t, b.pool, `SELECT string_agg(a::text, '') FROM idempotency_audit a`)
		require.NotContains(t, text, "s3cret")
		require.NotContains(t, strings.ToLower(text), fmt.Sprintf("%x", "s3cret"))
	})
}

func TestAdminArguments(t *testing.T) {
	t.Parallel()
	b := setup(t, pgstore.Options{})
	a := b.store.Admin()
	b.hold(t, underPolicy("a", store.Refuse))
	release := b.change(t, "a", store.VerbRelease)
	invalid := func(err error, text string) {
		t.Helper()
		require.ErrorIs(t, err, store.ErrInvalidArgument)
		require.ErrorContains(t, err, text)
	}
	_, err := a.Resolve(t.Context(), store.Order{Actor: "ann"}, []store.Change{release})
	invalid(err, "Order.Reason")
	_, err = a.Resolve(t.Context(), order, []store.Change{release, release})
	invalid(err, "stands twice")
	_, err = a.Resolve(t.Context(), order, []store.Change{b.change(t, "a", store.VerbDelete)})
	invalid(err, "Verb")
	_, err = a.Purge(t.Context(), order, []store.Change{release})
	invalid(err, "Verb")
	_, err = a.List(t.Context(), store.Query{Limit: 1, WorkflowID: "\x00"})
	invalid(err, "Query.WorkflowID")
	_, err = a.Find(t.Context(), []string{"\xff"})
	invalid(err, "invalid UTF-8")
	require.True(t, b.look(t, "a").Held, "nothing was changed")

	b.store.Close()
	_, err = a.Find(t.Context(), []string{"a"})
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = a.Resolve(t.Context(), order, []store.Change{release})
	require.ErrorIs(t, err, store.ErrClosed)
}
