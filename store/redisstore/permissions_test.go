package redisstore_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis/localredistest"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/redisstore"
)

// What a user needs, as the error for a permission that is missing lists it, and
// the page about stores.
var (
	permissions = []string{
		"+info", "+time", "+eval", "+evalsha", "+hset", "+hget", "+hmget", "+hgetall", "+hdel", "+del", "+pexpireat", "+persist",
	}
	inCluster    = []string{"+cluster|slots", "+command", "+asking"}
	withReplicas = []string{"+readonly", "+ping"}
)

// requireUser makes a user who may do so much.
func requireUser(t *testing.T, admin *redis.Client, name string, rules ...string) {
	t.Helper()
	args := []any{"ACL", "SETUSER", name, "on", ">secret", "~dedupe:*"}
	for _, rule := range rules {
		args = append(args, rule)
	}
	require.NoError(t, admin.Do(t.Context(), args...).Err())
}

// requireNothingDenied requires that the client sent no command that its user may
// not use, but for what it tells of itself.
func requireNothingDenied(t *testing.T, admin *redis.Client) {
	t.Helper()
	entries, err := admin.Do(t.Context(), "ACL", "LOG").Slice()
	require.NoError(t, err)
	for _, entry := range entries {
		if text := fmt.Sprint(entry); !strings.Contains(text, "object:client|") {
			t.Error(text)
		}
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	b := setup(t, patient, nil)
	user := func(t *testing.T, name string, rules ...string) *redis.Client {
		t.Helper()
		requireUser(t, b.client, name, rules...)
		return localredistest.RequireClient(t, b.server, func(o *redis.Options) { o.Username, o.Password = name, "secret" })
	}

	t.Run("the page about stores lists them", func(t *testing.T) {
		t.Parallel()
		page, err := os.ReadFile("../../docs/stores.md")
		require.NoError(t, err)
		for _, permission := range slices.Concat(permissions, inCluster, withReplicas) {
			require.Contains(t, string(page), permission)
		}
	})
	t.Run("a user with the ones that the error lists can do everything", func(t *testing.T) {
		s := requireStore(t, user(t, "enough", permissions...), patient)
		require.NoError(t, walk(t.Context(), s, "walked", []byte("paid")))
		requireNothingDenied(t, b.client)
	})
	for i, missing := range permissions {
		t.Run("a user without "+missing+" is refused, with the list", func(t *testing.T) {
			require.NoError(t, b.client.ScriptFlush(t.Context()).Err()) // or EVAL is not needed
			rest := slices.Concat(permissions[:i], permissions[i+1:])
			_, err := redisstore.New(t.Context(), user(t, "no"+missing[1:], rest...), patient)
			require.ErrorIs(t, err, store.ErrUnavailable)
			require.ErrorContains(t, err, "(NOPERM)")
			for _, permission := range slices.Concat(permissions, inCluster) {
				require.ErrorContains(t, err, permission)
			}
		})
	}
}

func TestPermissionsInACluster(t *testing.T) {
	t.Parallel()
	cluster := localredistest.RequireCluster(t, localredis.Options{})
	admins := make([]*redis.Client, len(cluster.Nodes()))
	for i, node := range cluster.Nodes() {
		admins[i] = localredistest.RequireClient(t, node)
		requireUser(t, admins[i], "enough", slices.Concat(permissions, inCluster)...)
		requireUser(t, admins[i], "reader", slices.Concat(permissions, inCluster, withReplicas)...)
	}
	requireMoving(t, admins, "dedupe:moving")

	for name, change := range map[string]func(*redis.ClusterOptions){
		"enough": func(*redis.ClusterOptions) {},
		"reader": func(o *redis.ClusterOptions) { o.RouteByLatency = true },
	} {
		o := cluster.ClientOptions()
		o.Username, o.Password = name, "secret"
		change(o)
		client := redis.NewClusterClient(o)
		t.Cleanup(func() { _ = client.Close() })
		s := requireStore(t, client, patient)
		require.NoError(t, walk(t.Context(), s, "walked by "+name, []byte("paid")))
		require.NoError(t, walk(t.Context(), s, "{dedupe:moving} by "+name, []byte("paid")), "in a slot that moves")
		for _, admin := range admins {
			requireNothingDenied(t, admin)
		}
	}
}

// requireMoving begins to move the slot of a key to the next node.
func requireMoving(t *testing.T, nodes []*redis.Client, key string) {
	t.Helper()
	slot, err := nodes[0].ClusterKeySlot(t.Context(), key).Result()
	require.NoError(t, err)
	from := int(slot) * len(nodes) / 16384
	to := (from + 1) % len(nodes)
	id := func(node int) string { return nodes[node].Do(t.Context(), "CLUSTER", "MYID").Val().(string) }
	require.NoError(t, nodes[to].Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", id(from)).Err())
	require.NoError(t, nodes[from].Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", id(to)).Err())
}
