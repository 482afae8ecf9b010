package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/seed5aa7bdf6/temporal-dedupe"
	"github.com/seed5aa7bdf6/temporal-dedupe/internal/localredis"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/memstore"
	"github.com/seed5aa7bdf6/temporal-dedupe/store/redisstore"
)

// keyPrefix keeps the demo's records apart from whatever else is in a Redis.
const keyPrefix = "welcomeemail:"

// records is where the calls are remembered.
type records struct {
	store dedupe.Store
	stops []func() // in the order of the starts
}

// close ends what was started, last first.
func (r *records) close() {
	for i := len(r.stops) - 1; i >= 0; i-- {
		r.stops[i]()
	}
}

// openRecords opens the store: in the Redis that was named, else in one that
// lives as long as this program, else in memory. A named Redis that does not
// answer is an error: records in another place would protect nothing.
func openRecords(ctx context.Context, o options, out io.Writer) (*records, error) {
	r := &records{}
	url := o.redisURL
	if url == "" {
		server, err := localredis.Start(ctx, o.redis)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return inMemory(r, out, err)
		}
		r.stops = append(r.stops, func() { _ = server.Stop() })
		url = server.URL()
	}
	if err := r.openRedis(ctx, url, out); err != nil {
		r.close()
		return nil, err
	}
	if o.redisURL == "" {
		say(out, "Records", "this Redis is private and ends with the program; to keep the records, pass -redis-url")
	}
	return r, nil
}

func (r *records) openRedis(ctx context.Context, url string, out io.Writer) error {
	options, err := redis.ParseURL(url)
	if err != nil { // not quoted: it can hold a password
		return errors.New("welcomeemail: -redis-url (or REDIS_URL) is no address of a Redis, such as redis://user:password@host:6379/0")
	}
	c := redis.NewClient(options)
	s, err := redisstore.New(ctx, c, redisstore.Options{KeyPrefix: keyPrefix})
	if err != nil {
		_ = c.Close()
		return fmt.Errorf("welcomeemail: the Redis at %s: %w", options.Addr, err)
	}
	r.store = s
	r.stops = append(r.stops, func() { s.Close(); _ = c.Close() })
	say(out, "Records", "Redis, %s, keys %s*", options.Addr, keyPrefix)
	return nil
}

// inMemory opens records that end with this process, and says so.
func inMemory(r *records, out io.Writer, why error) (*records, error) {
	s, err := memstore.New(memstore.Options{})
	if err != nil {
		return nil, err
	}
	r.store, r.stops = s, append(r.stops, s.Close)
	say(out, "Records", "IN MEMORY, which protects this process alone, since no Redis could be started: %v", why)
	return r, nil
}

// say prints a line about one of the services.
func say(out io.Writer, what, format string, args ...any) {
	_, _ = fmt.Fprintf(out, "%-9s %s\n", what, fmt.Sprintf(format, args...))
}
