package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

func checkFsync(ctx context.Context, e *exam) ([]string, error) {
	return e.lines(ctx, fsyncSQL)
}

func checkSynchronousCommit(ctx context.Context, e *exam) ([]string, error) {
	var commit, standbys string
	if err := e.row(ctx, synchronousCommitSQL, nil, &commit, &standbys); err != nil {
		return nil, err
	}
	switch {
	case commit == "off":
		return []string{"synchronous_commit is off for this session: a commit is acknowledged before it is on disk"}, nil
	case commit == "local" && standbys != "":
		return []string{"synchronous_commit is local for this session: a commit does not wait for the standbys that synchronous_standby_names names"}, nil
	}
	return nil, nil
}

func checkReplication(ctx context.Context, e *exam) ([]string, error) {
	type standby struct{ name, mode string }
	var standbys []standby
	err := e.within(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, standbysSQL)
		if err != nil {
			return err
		}
		standbys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s standby, err error) {
			return s, row.Scan(&s.name, &s.mode)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	var names, hidden []string
	for _, s := range standbys {
		switch s.mode {
		case "sync", "quorum":
			return nil, nil
		case "":
			hidden = append(hidden, s.name)
		default:
			names = append(names, s.name)
		}
	}
	var findings []string
	if len(names) > 0 {
		findings = append(findings, fmt.Sprintf("no standby is synchronous (%s): a failover loses what it has not received", strings.Join(names, ", ")))
	}
	if len(hidden) > 0 {
		findings = append(findings, fmt.Sprintf("there are %d standbys whose mode this role may not see", len(hidden)))
	}
	return findings, nil
}
