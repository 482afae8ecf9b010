package redisstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/redisstore"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := localredistest.RequireCluster(t, localredis.Options{})
	client := redis.NewClusterClient(cluster.ClientOptions())
	t.Cleanup(func() { _ = client.Close() })
	s := requireStore(t, client, patient)
	require.NoError(t, s.Check(t.Context()))

	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Go(func() {
			for j := range 10 {
				errs[i] = errors.Join(errs[i], walk(t.Context(), s, fmt.Sprintf("walk {%d} %d", j, i), []byte{0, 0xff, byte(j)}))
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))

	all := make([]store.Reservation, 60)
	ends := make([]store.Settlement, len(all))
	for i := range all {
		all[i] = reservation(fmt.Sprint("batch ", i))
		ends[i] = complete(all[i], all[i].Key)
	}
	insert(t, s, all...)
	for _, node := range cluster.Nodes() {
		n := localredistest.RequireClient(t, node)
		size, err := n.DBSize(t.Context()).Result()
		require.NoError(t, err)
		require.NotZero(t, size, "the records are on all nodes")
	}
	require.NoError(t, localredistest.RequireClient(t, cluster.Nodes()[0]).ScriptFlush(t.Context()).Err())
	apply(t, s, ends...)
	found, err := s.Reserve(t.Context(), all)
	require.NoError(t, err)
	for i, f := range found {
		require.Equal(t, all[i].Key, string(f.Record.Result), "answers come in the order of the arguments")
	}

	tokens := map[store.Token]bool{}
	var mu sync.Mutex
	for range 32 {
		group.Go(func() {
			r := reservation("race")
			c, err := store.Claim(t.Context(), s, r)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("claim: %v", err)
			}
			if c.Action == store.ActAcquire {
				tokens[r.Token] = true
			}
		})
	}
	group.Wait()
	require.Len(t, tokens, 1)

	impatient := requireStore(t, client, redisstore.Options{CallTimeout: 2 * time.Second})
	cluster.Nodes()[2].Kill()
	_, err = impatient.Reserve(t.Context(), all)
	require.ErrorIs(t, err, store.ErrUnavailable, "a node that is away fails the calls that need it")
}
