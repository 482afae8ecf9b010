package crashtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/redisstore"
)

const redisPrefix = "dedupe:"

// inRedis tells whether the records are in Redis and not in Postgres.
func inRedis(databaseURL string) bool { return strings.HasPrefix(databaseURL, "redis://") }

// openRedis opens the store as a user does whose Redis loses nothing: the harness
// kills workers, and no server.
func openRedis(ctx context.Context, databaseURL string) (*redisstore.Store, func(), error) {
	options, err := redis.ParseURL(databaseURL)
	if err != nil {
		return nil, nil, fmt.Errorf("crashtest: records: %w", err)
	}
	client := redis.NewClient(options)
	records, err := redisstore.New(ctx, client, redisstore.Options{KeyPrefix: redisPrefix, Durable: true})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("crashtest: records: %w", err), client.Close())
	}
	return records, func() { records.Close(); _ = client.Close() }, nil
}

// readRedis reads the records of some orders.
func readRedis(ctx context.Context, databaseURL string, orders []string) (map[string][]Entry, error) {
	entries := map[string][]Entry{}
	err := eachRedis(ctx, databaseURL, orders, func(_ *redis.Client, r store.Record) error {
		chargeID, err := decodeResult(r.Result)
		entries[r.WorkflowID] = append(entries[r.WorkflowID], Entry{
			Status: r.Status, Held: r.Held, Acquisitions: r.Acquisitions, ChargeID: chargeID,
		})
		return err
	})
	return entries, err
}

// forgetRedis removes the records of some orders.
func forgetRedis(ctx context.Context, databaseURL string, orders []string) error {
	return eachRedis(ctx, databaseURL, orders, func(c *redis.Client, r store.Record) error {
		return c.Del(ctx, redisPrefix+r.Key).Err()
	})
}

// eachRedis calls do for each record of some orders.
func eachRedis(ctx context.Context, databaseURL string, orders []string, do func(*redis.Client, store.Record) error) error {
	records, closeStore, err := openRedis(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer closeStore()
	options, err := redis.ParseURL(databaseURL)
	if err != nil {
		return fmt.Errorf("crashtest: records: %w", err)
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	keys := client.Scan(ctx, 0, redisPrefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		r, err := records.Get(ctx, strings.TrimPrefix(keys.Val(), redisPrefix))
		switch {
		case errors.Is(err, store.ErrNotFound): // gone meanwhile, or not a record
		case err != nil:
			return fmt.Errorf("crashtest: records: %w", err)
		case slices.Contains(orders, r.WorkflowID):
			if err := do(client, r); err != nil {
				return fmt.Errorf("crashtest: record of %s: %w", r.WorkflowID, err)
			}
		}
	}
	return keys.Err()
}
