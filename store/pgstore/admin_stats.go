package pgstore

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// Stats counts the records. It reads the main part of the table, once, and of a
// table that is larger than the options allow a random sample of its pages.
func (a *Admin) Stats(ctx context.Context, o store.StatsOptions) (store.Stats, error) {
	return once(ctx, a.store, "stats", "", func(ctx context.Context) (store.Stats, error) { return a.stats(ctx, o) })
}

func (a *Admin) stats(ctx context.Context, o store.StatsOptions) (st store.Stats, err error) {
	err = query(ctx, a.store.callers, a.sql.size, []any{a.sql.records}, func(rows pgx.Rows) error {
		var held, expiry *time.Time
		err := rows.Scan(&st.At, &st.Pages, &st.TableBytes, &st.IndexBytes, &st.Held, &held, &expiry)
		st.At, st.OldestHeld, st.OldestExpiry = st.At.UTC(), utc(held), utc(expiry)
		return err
	})
	if err != nil {
		return st, err
	}
	percent := 100.0
	st.SampledPages = st.Pages
	if o.MaxPages > 0 && o.MaxPages < st.Pages {
		percent = 100 * float64(o.MaxPages) / float64(st.Pages)
		st.Estimated, st.SampledPages = true, o.MaxPages
	}
	err = query(ctx, a.store.callers, a.sql.count, []any{percent}, func(rows pgx.Rows) error {
		var t store.TypeCounts
		var oldest *time.Time
		err := rows.Scan(append(append([]any{&t.ActivityType}, numbers(&t.Counts)...), &oldest)...)
		t.Oldest = utc(oldest)
		scale(&t.Counts, 100/percent)
		st.Types = append(st.Types, t)
		add(&st.Total, t.Counts)
		return err
	})
	return st, err
}

// numbers are the counts in the order of countSQL.
func numbers(c *store.Counts) []any {
	return []any{
		&c.Records, &c.InProgress, &c.Completed, &c.Failed, &c.Live, &c.PastLease,
		&c.Pending, &c.Held, &c.EffectPossible, &c.Tombstones, &c.Expired,
	}
}

// scale makes the counts of a sample those of the table. Sums are added up from
// their rounded parts, and no part is larger than what it is a part of.
func scale(c *store.Counts, by float64) {
	for _, n := range numbers(c) {
		p := n.(*int64) //nolint:errcheck // as numbers makes them
		*p = int64(math.Round(float64(*p) * by))
	}
	c.InProgress = c.Live + c.PastLease
	c.Records = c.InProgress + c.Completed + c.Failed
	c.Pending = min(c.Pending, c.InProgress)
	c.Held, c.Expired = min(c.Held, c.Records), min(c.Expired, c.Records)
	c.EffectPossible = min(c.EffectPossible, c.Records-c.Live)
}

func add(total *store.Counts, c store.Counts) {
	to, from := numbers(total), numbers(&c)
	for i := range to {
		*to[i].(*int64) += *from[i].(*int64) //nolint:errcheck // as numbers makes them
	}
	if total.Oldest.IsZero() || (!c.Oldest.IsZero() && c.Oldest.Before(total.Oldest)) {
		total.Oldest = c.Oldest
	}
}
