package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// row is one key and the arguments of a script for it.
type row struct {
	key  string
	args []any
}

// transition is a script and how to speak with it about arguments of one kind.
type transition[A, R any] struct {
	name   string
	script *redis.Script
	// key returns an argument's key, or what is wrong with it.
	key func(A) (string, error)
	// args are the script's arguments. They share no memory with the caller's,
	// since a call that was given up may still be sent.
	args func(A) []any
	// read understands the script's answer.
	read func(A, any) (R, error)
}

// carryOut is one call of a method: it refuses bad arguments and a closed store,
// bounds the call, and answers everything or the first error.
func carryOut[A, R any](ctx context.Context, s *Store, t transition[A, R], arguments []A) ([]R, error) {
	if err := s.requireOpen(t.name); err != nil {
		return nil, err
	}
	rows := make([]row, len(arguments))
	seen := make(map[string]bool, len(arguments))
	for i, a := range arguments {
		key, err := t.key(a)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, fmt.Errorf("%w: Key %q stands twice in one call", store.ErrInvalidArgument, key)
		}
		seen[key] = true
		rows[i] = row{s.options.KeyPrefix + key, t.args(a)}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	bounded, cancel := context.WithTimeout(ctx, s.options.CallTimeout)
	defer cancel()
	replies, err := s.run(bounded, t.script, rows)
	if err != nil {
		return nil, s.fault(ctx, t.name, err)
	}
	answers := make([]R, len(rows))
	for i, reply := range replies {
		if answers[i], err = t.read(arguments[i], reply); err != nil {
			return nil, s.fault(ctx, t.name, err)
		}
	}
	return answers, nil
}

// run runs a script for each row and answers all replies, or the first error.
func (s *Store) run(ctx context.Context, script *redis.Script, rows []row) ([]any, error) {
	return within(ctx, func() ([]any, error) {
		replies, errs := s.send(ctx, script.EvalSha, rows)
		var unknown []int
		var again []row
		for i, err := range errs {
			// The server does not know the script: it is new, has restarted, or its
			// scripts were flushed. It has done nothing about the row.
			if redis.HasErrorPrefix(err, "NOSCRIPT") {
				unknown, again = append(unknown, i), append(again, rows[i])
			}
		}
		if len(again) > 0 {
			second, failed := s.send(ctx, script.Eval, again)
			for j, i := range unknown {
				replies[i], errs[i] = second[j], failed[j]
			}
		}
		return replies, first(errs)
	})
}

// first returns the first error, marked if the other rows may have none.
func first(errs []error) error {
	var found error
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
			if found == nil {
				found = err
			}
		}
	}
	if failed > 0 && failed < len(errs) {
		return partial{found}
	}
	return found
}

// partial is an error of some rows of a call.
type partial struct{ error }

// Unwrap returns the errors of the rows.
func (p partial) Unwrap() error { return p.error }

// eval is one of the ways to run a script.
type eval func(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd

func (s *Store) send(ctx context.Context, run eval, rows []row) ([]any, []error) {
	commands := make([]*redis.Cmd, len(rows))
	if len(rows) == 1 { // the client repeats a single command for more reasons than a pipeline
		commands[0] = run(ctx, s.client, []string{rows[0].key}, rows[0].args...)
	} else {
		pipeline := s.client.Pipeline()
		for i, r := range rows {
			commands[i] = run(ctx, pipeline, []string{r.key}, r.args...)
		}
		_, _ = pipeline.Exec(ctx) // each command has its own error
	}
	replies, errs := make([]any, len(rows)), make([]error, len(rows))
	for i, c := range commands {
		replies[i], errs[i] = c.Result()
	}
	return replies, errs
}
