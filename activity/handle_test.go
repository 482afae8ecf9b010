package activity_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// ownConverter is one that is not Temporal's default one.
type ownConverter struct{ converter.DataConverter }

func TestHandle(t *testing.T) {
	t.Parallel()

	t.Run("survives JSON, and its text is safe in a URL", func(t *testing.T) {
		t.Parallel()
		h := setup(t).hand()
		text, err := h.MarshalText()
		require.NoError(t, err)
		require.Regexp(t, `^[A-Za-z0-9_-]+$`, string(text))
		b, err := json.Marshal(map[string]activity.Handle{"handle": h})
		require.NoError(t, err)
		got := map[string]activity.Handle{}
		require.NoError(t, json.Unmarshal(b, &got))
		require.Equal(t, h, got["handle"])
	})

	t.Run("printed, it shows the short key and no token", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		h := b.hand()
		for _, format := range []string{"%v", "%+v", "%s"} {
			text := fmt.Sprintf(format, h)
			require.Equal(t, activity.ShortKey(b.record("1").Key), text)
		}
	})

	t.Run("that cannot be read is refused", func(t *testing.T) {
		t.Parallel()
		encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
		for text, want := range map[string]string{
			"":                "cannot be read",
			"!":               "cannot be read",
			encode(`x`):       "cannot be read",
			encode(`{}`):      "is empty",
			encode(`{"v":2}`): "version 2",
			encode(`{"v":1}`): "names no activity",
			encode(`{"v":1,"namespace":"n","run_id":"r","activity_id":"5","key":"k","token":"t"}`): "not a UUID",
		} {
			var h activity.Handle
			require.ErrorContains(t, h.UnmarshalText([]byte(text)), want)
		}
	})

	t.Run("is refused outside an activity", func(t *testing.T) {
		t.Parallel()
		require.PanicsWithValue(t, "dedupe: PendingHandle was called outside an activity", func() { activity.PendingHandle(context.Background()) })
	})

	t.Run("without a record completes the activity alone", func(t *testing.T) {
		t.Parallel()
		c := setup(t, withPolicy(activity.Policy{Off: true})).completer()
		h := c.hand()
		require.NoError(t, c.complete(h, "paid", nil))
		require.NoError(t, c.complete(h, nil, temporal.NewApplicationError("no", "No")))
		require.NotNil(t, c.temporal.completed(t, 0).GetResult())
		require.Equal(t, "no", c.temporal.failed(t, 1).GetFailure().GetMessage())
	})
}

func TestAsyncOptions(t *testing.T) {
	t.Parallel()

	t.Run("name what is missing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(o *activity.Options) { o.DataConverter = ownConverter{converter.GetDefaultDataConverter()} })
		h := b.hand()
		c := b.completer()
		for _, change := range []struct {
			change func(*activity.AsyncOptions)
			want   string
		}{
			{func(o *activity.AsyncOptions) { o.Client = nil }, "AsyncOptions.Client"},
			{func(o *activity.AsyncOptions) { o.Store = nil }, "AsyncOptions.Store"},
			{func(o *activity.AsyncOptions) { o.StoreCallTimeout = -1 }, "AsyncOptions.StoreCallTimeout"},
			{func(o *activity.AsyncOptions) { o.SettleTimeout = -1 }, "AsyncOptions.SettleTimeout"},
			{func(*activity.AsyncOptions) {}, "the worker encodes with activity_test.ownConverter"},
		} {
			c.options = activity.AsyncOptions{Client: clientOf{service: c.temporal}, Store: b.store}
			change.change(&c.options)
			require.ErrorContains(t, c.complete(h, "paid", nil), change.want)
		}
		require.True(t, b.record("1").Pending, "nothing was written")
		c.options.DataConverter = ownConverter{converter.GetDefaultDataConverter()}
		require.NoError(t, c.complete(h, "paid", nil))
		require.Equal(t, store.StatusCompleted, b.record("1").Status)
	})

	t.Run("and what cannot be meant", func(t *testing.T) {
		t.Parallel()
		c := setup(t).completer()
		require.ErrorContains(t, c.complete(activity.Handle{}, "paid", nil), "handle is empty")
		require.ErrorContains(t, c.complete(c.hand(), nil, sdkactivity.ErrResultPending), "ErrResultPending")
		require.True(t, c.record("1").Pending)
	})
}
