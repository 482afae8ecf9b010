package activity_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"google.golang.org/protobuf/proto"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// FuzzStored looks for stored bytes that are read as something else than they
// were written as, or that panic a reader.
func FuzzStored(f *testing.F) {
	seed := func(m proto.Message) {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	seed(&commonpb.Payloads{})
	seed(&commonpb.Payloads{Payloads: []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"a\u0000b"`)}, {}}})
	seed(&failurepb.Failure{Message: "declined", FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
		ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: "Declined", NonRetryable: true}}})
	f.Add([]byte{0xff, 0xfe})
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, read := range map[string]func([]byte) ([]byte, error){"result": activity.StoredResult, "failure": activity.StoredFailure} {
			once, err := read(b)
			if err != nil {
				continue
			}
			if (once == nil) != (b == nil) {
				t.Fatalf("%s: nil and empty were taken for each other", name)
			}
			twice, err := read(once)
			require.NoError(t, err)
			require.Len(t, twice, len(once), name)
		}
	})
}

func TestACorruptRecordIsRefused(t *testing.T) {
	t.Parallel()
	b, runs := setup(t), 0
	_, err := b.run(1, counted(&runs), "10 EUR")
	require.NoError(t, err)
	corrupt := setup(t, withStore(garbled{b.store}))
	_, err = corrupt.run(1, counted(&runs), "10 EUR")
	app := requireErrType(t, err, activity.ErrTypeRecordCorrupt)
	require.True(t, app.NonRetryable())
	require.Equal(t, 1, runs)
}

// garbled is a store whose results have lost their form.
type garbled struct{ store.Store }

func (g garbled) Reserve(ctx context.Context, r []store.Reservation) ([]store.Found, error) {
	found, err := g.Store.Reserve(ctx, r)
	for i := range found {
		found[i].Record.Result = []byte{0xff, 0xfe}
	}
	return found, err
}
