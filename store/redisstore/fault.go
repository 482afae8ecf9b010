package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// fault is the error that a caller sees: one of package store's, and a text of
// this package's own. Redis's text is left out, because it can quote arguments,
// and errors of activities end in workflow histories. The answer itself is found
// with errors.As as a [redis.Error], but is not unwrapped.
type fault struct {
	kind  error
	text  string
	cause redis.Error
}

// Error returns the kind and the text.
func (f *fault) Error() string { return f.kind.Error() + ": " + f.text }

// Unwrap returns the error of package store.
func (f *fault) Unwrap() error { return f.kind }

// As gives Redis's answer to whoever asks for it.
func (f *fault) As(target any) bool {
	answer, ok := target.(*redis.Error)
	if ok && f.cause != nil {
		*answer = f.cause
	}
	return ok && f.cause != nil
}

// fault translates an error of the client for the caller. ctx is the caller's.
func (s *Store) fault(ctx context.Context, name string, err error) error {
	for _, typed := range []error{store.ErrNotFound, store.ErrUnavailable} {
		if errors.Is(err, typed) {
			return err
		}
	}
	if err := s.requireOpen(name); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("dedupe: %s: %w", name, ctx.Err())
	}
	f := &fault{kind: store.ErrUnavailable, text: name + ": " + describe(err)}
	errors.As(err, &f.cause)
	var some partial
	var network *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &network):
		f.text = fmt.Sprintf("%s: no answer within %v", name, s.options.CallTimeout)
	case redis.HasErrorPrefix(err, "OOM") && !errors.As(err, &some):
		f.kind = store.ErrFull
	}
	return f
}

// describe says what happened without quoting Redis.
func describe(err error) string {
	var answer redis.Error
	if errors.As(err, &answer) {
		code, _, _ := strings.Cut(answer.Error(), " ")
		if strings.Contains(answer.Error(), "The user executing the script") { // can't run a command, or access a key
			code = "NOPERM"
		}
		if text, known := meanings[code]; known {
			return text + " (" + code + ")"
		}
		return "Redis refused the script"
	}
	var network *net.OpError
	var lookup *net.DNSError
	switch {
	case errors.Is(err, errAnswer):
		return "the answer could not be read: does something else write under the prefix of the records?"
	case errors.As(err, &lookup):
		return "cannot connect to Redis: no such host " + lookup.Name
	case errors.As(err, &network):
		return "cannot reach Redis: " + network.Error()
	case errors.Is(err, redis.ErrClosed):
		return "the client is closed"
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return "all connections of the client are taken: raise its PoolSize"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "the connection to Redis was lost"
	default:
		return fmt.Sprintf("the client failed with a %T", err)
	}
}

// meanings puts the codes of Redis's errors into words, with what to do where
// that is known.
var meanings = map[string]string{
	"OOM":         "Redis is at maxmemory: give it more, or shorten the retention",
	"READONLY":    "the server is a replica: connect to the primary",
	"MISCONF":     "Redis cannot save to its disk and takes no writes: look into its log",
	"NOREPLICAS":  "fewer replicas are connected than min-replicas-to-write asks for",
	"LOADING":     "Redis reads its data after a start",
	"MASTERDOWN":  "the replica has lost its primary",
	"CLUSTERDOWN": "the cluster does not serve the record's slot",
	"TRYAGAIN":    "the record's slot moves to another node",
	"MOVED":       "the server is one node of a cluster: connect with a *redis.ClusterClient",
	"ASK":         "the server is one node of a cluster: connect with a *redis.ClusterClient",
	"BUSY":        "Redis is busy with somebody's script",
	"NOAUTH":      "Redis wants a password",
	"WRONGPASS":   "Redis refused the login",
	"NOPERM": "the user lacks a permission: it needs the record's keys and " +
		"+info +time +eval +evalsha +hset +hget +hmget +hgetall +hdel +del +pexpireat +persist, " +
		"in a cluster also +cluster|slots +command +asking",
	"WRONGTYPE": "something that is no record stands under the prefix of the records",
}
