package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// minVersion is the first major version of Redis whose scripts can say that they
// run at maxmemory. Valkey counts on from it.
const minVersion = 7

// probeKey follows the prefix. It is longer than a record's key can be after any
// prefix.
var probeKey = "probe" + strings.Repeat("-", maxPrefixBytes+store.MaxKeyBytes)

// probes is how many keys are probed. Their slots lie all over those of a cluster:
// some belong to another node than the one that a client of a single server has.
const probes = 20

// Check tells whether every primary answers within the call's time, is of a
// version that works, is no replica and may not evict keys, and whether the
// client may run the scripts. Its error wraps [store.ErrUnavailable] and says what
// to do.
func (s *Store) Check(ctx context.Context) error {
	if err := s.requireOpen("check"); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	_, err := within(bounded, func() (struct{}, error) { return struct{}{}, s.look(bounded) })
	if err == nil {
		err = s.probe(bounded)
	}
	if err != nil {
		return s.fault(ctx, "check", err)
	}
	return nil
}

// probe tries the scripts' commands, on several nodes where there are some.
func (s *Store) probe(ctx context.Context) error {
	rows := make([]row, probes)
	for i := range rows {
		rows[i].key = s.options.KeyPrefix + probeKey + strconv.Itoa(i)
	}
	replies, err := s.run(ctx, probeScript, rows)
	for _, reply := range replies {
		if err == nil && reply != "fine" {
			err = fmt.Errorf("%w: INFO does not tell how long the server has been up", store.ErrUnavailable)
		}
	}
	return err
}

// primaries is what a client of a cluster has.
type primaries interface {
	ForEachMaster(ctx context.Context, look func(context.Context, *redis.Client) error) error
}

// look looks at every server that may hold a record, one after the other: in the
// client's own goroutines nobody would recover from a panic of a hook.
func (s *Store) look(ctx context.Context) error {
	c, ok := s.client.(primaries)
	if !ok {
		return suitable(ctx, s.client)
	}
	var mu sync.Mutex
	var nodes []*redis.Client
	err := c.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, node)
		return nil
	})
	for _, node := range nodes {
		if err == nil {
			err = suitable(ctx, node)
		}
	}
	return err
}

func suitable(ctx context.Context, server redis.Cmdable) error {
	text, err := server.Info(ctx).Result()
	if err != nil {
		return err
	}
	info := parseInfo(text)
	version, policy := info["redis_version"], info["maxmemory_policy"]
	major, _, _ := strings.Cut(version, ".")
	number, err := strconv.Atoi(major)
	switch {
	case err != nil || number < minVersion:
		return fmt.Errorf("%w: the server's version is %q: Redis %d.0 or later, or Valkey, is needed", store.ErrUnavailable, version, minVersion)
	case info["role"] != "master":
		return fmt.Errorf("%w: the server is a replica: connect to the primary, by Sentinel or as a cluster", store.ErrUnavailable)
	case policy != "noeviction":
		return fmt.Errorf("%w: maxmemory-policy is %q: Redis could evict the record of an activity that runs, "+
			"and the activity would run twice; set it to noeviction, or use a Redis of its own", store.ErrUnavailable, policy)
	}
	return nil
}

// parseInfo reads the lines "name:value" of INFO.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			info[name] = value
		}
	}
	return info
}
