package storetest_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/storetest"
)

// faultVar makes this test binary run the suite on a store with the fault that it
// names.
const faultVar = "DEDUPE_TEST_STORE_FAULT"

// faulty is a store of which one method is replaced.
type faulty struct {
	*memstore.Store

	reserve func(context.Context, []store.Reservation) ([]store.Found, error)
	acquire func(context.Context, []store.Acquisition) ([]store.Acquired, error)
	renew   func(context.Context, []store.Lease) ([]store.Renewal, error)
	settle  func(context.Context, []store.Settlement) ([]store.Settled, error)
	get     func(context.Context, string) (store.Record, error)
	evict   func(context.Context, int) (int, error)
}

func (f *faulty) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	return f.reserve(ctx, r)
}

func (f *faulty) Acquire(ctx context.Context, a []store.Acquisition) ([]store.Acquired, error) {
	return f.acquire(ctx, a)
}

func (f *faulty) Renew(ctx context.Context, l []store.Lease) ([]store.Renewal, error) {
	return f.renew(ctx, l)
}

func (f *faulty) Settle(ctx context.Context, s []store.Settlement) ([]store.Settled, error) {
	return f.settle(ctx, s)
}

func (f *faulty) Get(ctx context.Context, key string) (store.Record, error) { return f.get(ctx, key) }

func (f *faulty) Evict(ctx context.Context, limit int) (int, error) { return f.evict(ctx, limit) }

// faults are what somebody who writes a store gets wrong, and the tests that must
// notice it.
var faults = map[string]struct {
	test  string
	spoil func(*faulty, *storetest.Harness)
}{
	"none":                                 {"", func(*faulty, *storetest.Harness) {}},
	"none, where records go by themselves": {"", func(f *faulty, h *storetest.Harness) { expire(f, h) }},
	"a stale owner settles": {"Fencing", func(f *faulty, _ *storetest.Harness) {
		f.settle = func(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
			all = slices.Clone(all)
			for i := range all {
				if r, err := f.Store.Get(ctx, all[i].Key); err == nil {
					all[i].Token = r.Token
				}
			}
			return f.Store.Settle(ctx, all)
		}
	}},
	"a stale owner is told that it renewed": {"Fencing", func(f *faulty, _ *storetest.Harness) {
		f.renew = func(ctx context.Context, all []store.Lease) ([]store.Renewal, error) {
			answers, err := f.Store.Renew(ctx, all)
			for i := range answers {
				answers[i] = store.LeaseRenewed
			}
			return answers, err
		}
	}},
	"everybody is told that it inserted": {"Races", func(f *faulty, _ *storetest.Harness) {
		f.reserve = func(ctx context.Context, all []store.Reservation) ([]store.Found, error) {
			answers, err := f.Store.Reserve(ctx, all)
			for i := range answers {
				answers[i] = store.Found{Inserted: true}
			}
			return answers, err
		}
	}},
	"everybody is told that it acquired": {"Races", func(f *faulty, _ *storetest.Harness) {
		f.acquire = func(ctx context.Context, all []store.Acquisition) ([]store.Acquired, error) {
			answers, err := f.Store.Acquire(ctx, all)
			for i := range answers {
				answers[i].OK = true
			}
			return answers, err
		}
	}},
	"a repeated completion is refused": {"Lost acknowledgements", func(f *faulty, _ *storetest.Harness) {
		f.settle = func(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
			var done []bool
			for _, s := range all {
				r, err := f.Store.Get(ctx, s.Key)
				done = append(done, err == nil && r.Status == store.StatusCompleted)
			}
			answers, err := f.Store.Settle(ctx, all)
			for i := range answers {
				if done[i] && answers[i] == store.SettledApplied {
					answers[i] = store.SettledStale
				}
			}
			return answers, err
		}
	}},
	"an empty result becomes none": {"Payloads", func(f *faulty, _ *storetest.Harness) {
		f.get = func(ctx context.Context, key string) (store.Record, error) {
			r, err := f.Store.Get(ctx, key)
			if len(r.Result) == 0 {
				r.Result = nil
			}
			return r, err
		}
	}},
	"a result is stored as text": {"Payloads", func(f *faulty, _ *storetest.Harness) {
		f.settle = func(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
			all = slices.Clone(all)
			for i := range all {
				if all[i].Result != nil {
					all[i].Result = bytes.ToValidUTF8(all[i].Result, []byte("?"))
				}
			}
			return f.Store.Settle(ctx, all)
		}
	}},
	"a pending record is evicted": {"Evict", func(f *faulty, _ *storetest.Harness) {
		pending := map[string]store.Token{}
		f.settle = func(ctx context.Context, all []store.Settlement) ([]store.Settled, error) {
			for _, s := range all {
				if s.Outcome == store.OutcomePend {
					pending[s.Key] = s.Token
				}
			}
			return f.Store.Settle(ctx, all)
		}
		f.evict = func(ctx context.Context, limit int) (int, error) {
			for key, token := range pending {
				_, _ = f.Store.Settle(ctx, []store.Settlement{{Key: key, Token: token, Outcome: store.OutcomeRelease}})
			}
			return f.Store.Evict(ctx, limit)
		}
	}},
	"more is evicted than was asked for": {"Evict", func(f *faulty, _ *storetest.Harness) {
		f.evict = func(ctx context.Context, limit int) (int, error) { return f.Store.Evict(ctx, limit+1) }
	}},
	"time does not pass": {"Acquire", func(_ *faulty, h *storetest.Harness) { h.Advance = func(time.Duration) {} }},
	"what was given up is owned again when the clock is set back": {"Release", func(f *faulty, h *storetest.Harness) {
		back, advance := false, h.Advance
		h.Advance = func(d time.Duration) { back = d < 0; advance(d) }
		f.get = func(ctx context.Context, key string) (store.Record, error) {
			r, err := f.Store.Get(ctx, key)
			if back {
				r.LeaseLeft = time.Minute
			}
			return r, err
		}
	}},
	"a batch is answered in another order": {"Batches", func(f *faulty, _ *storetest.Harness) {
		f.renew = func(ctx context.Context, all []store.Lease) ([]store.Renewal, error) {
			answers, err := f.Store.Renew(ctx, all)
			slices.Reverse(answers)
			return answers, err
		}
	}},
	"a full store drops what lives": {"Bounds", func(_ *faulty, h *storetest.Harness) {
		h.Bounded = func(t *testing.T, _ int) storetest.Harness { return healthy(t, 0) }
	}},
	"a cancelled context is not looked at": {"Cancellation", func(f *faulty, _ *storetest.Harness) {
		f.reserve = func(ctx context.Context, all []store.Reservation) ([]store.Found, error) {
			return f.Store.Reserve(context.WithoutCancel(ctx), all)
		}
	}},
	"a closed store goes on": {"Close", func(_ *faulty, h *storetest.Harness) { h.Close = func() {} }},
	"records that are due stay, in a store that says they go": {"Evict", func(f *faulty, h *storetest.Harness) {
		h.Expires = true
		f.evict = func(context.Context, int) (int, error) { return 0, nil }
	}},
}

func healthy(t *testing.T, records int) storetest.Harness {
	t.Helper()
	var passed time.Duration
	clock := make(chan struct{}, 1) // a lock
	s, err := memstore.New(memstore.Options{MaxRecords: records, Now: func() time.Time {
		clock <- struct{}{}
		defer func() { <-clock }()
		return time.Unix(1_700_000_000, 0).Add(passed)
	}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	f := &faulty{
		Store: s, reserve: s.Reserve, acquire: s.Acquire, renew: s.Renew, settle: s.Settle, get: s.Get, evict: s.Evict,
	}
	return storetest.Harness{Store: f, Close: s.Close, Advance: func(d time.Duration) {
		clock <- struct{}{}
		defer func() { <-clock }()
		passed += d
	}}
}

// expire makes a store remove by itself what Evict may remove, at once.
func expire(f *faulty, h *storetest.Harness) {
	bounded := h.Bounded
	h.Expires = true
	h.Bounded = func(t *testing.T, records int) storetest.Harness {
		b := bounded(t, records)
		b.Bounded = nil
		b.Expires = true
		expiring(b.Store.(*faulty))
		return b
	}
	expiring(f)
}

func expiring(f *faulty) {
	purge := func() { _, _ = f.Store.Evict(context.Background(), 1_000_000) }
	f.reserve = func(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
		purge()
		return f.Store.Reserve(ctx, r)
	}
	f.acquire = func(ctx context.Context, a []store.Acquisition) ([]store.Acquired, error) {
		purge()
		return f.Store.Acquire(ctx, a)
	}
	f.renew = func(ctx context.Context, l []store.Lease) ([]store.Renewal, error) {
		purge()
		return f.Store.Renew(ctx, l)
	}
	f.settle = func(ctx context.Context, s []store.Settlement) ([]store.Settled, error) {
		purge()
		return f.Store.Settle(ctx, s)
	}
	f.get = func(ctx context.Context, key string) (store.Record, error) { purge(); return f.Store.Get(ctx, key) }
	f.evict = func(ctx context.Context, limit int) (int, error) { purge(); return f.Store.Evict(ctx, limit) }
}

// TestFault is the suite on a store with a fault, when it is asked for one.
func TestFault(t *testing.T) {
	name, asked := os.LookupEnv(faultVar)
	if !asked {
		t.Skip("runs as a child of TestTheSuiteNoticesAFaultByWhich")
	}
	fault, known := faults[name]
	require.True(t, known, name)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		h := healthy(t, 0)
		h.Bounded = healthy
		fault.spoil(h.Store.(*faulty), &h)
		return h
	})
}

func TestTheSuiteNoticesAFaultByWhich(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			concern := faults[name].test
			run := "^TestFault$"
			if concern != "" {
				run += "/^" + concern + "$"
			}
			cmd := exec.CommandContext(t.Context(), self, "-test.run="+run, "-test.v", "-test.timeout=2m")
			cmd.Env = append(os.Environ(), faultVar+"="+name)
			out, err := cmd.CombinedOutput()
			if concern == "" {
				require.NoError(t, err, string(out))
				require.Contains(t, string(out), "--- PASS: TestFault/Bounds")
				return
			}
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Contains(t, string(out), "--- FAIL: TestFault/")
			require.NotContains(t, string(out), "panic: ", "a fault is a failed test")
		})
	}
}
