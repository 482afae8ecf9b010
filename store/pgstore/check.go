package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/rowsecurity"
	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// state is what Check looks at.
type state struct {
	standby, readOnly bool
	settings          settings
	version           int
	lacks             *string // privileges
	hidden            *string // tables with rows that the user does not see
	table             bool
}

// Check tells whether the database answers within the call's time, takes writes, has
// the tables that this release knows, hides no rows of them from the user, and gives its sessions no setting that the
// pool's query exec mode cannot stand. Its errors are
// [store.ErrUnavailable] and [store.ErrSchema], and say what to do.
func (s *Store) Check(ctx context.Context) error {
	_, err := once(ctx, s, "check", "", s.look)
	return err
}

// CheckConnection tells whether a database answers within a time, where a store's own
// calls may take longer: for programs that somebody waits for. It tries again what may
// pass in that time. Its errors are [store.ErrUnavailable], and say why.
func CheckConnection(ctx context.Context, pool Pool, within time.Duration) error {
	s := &Store{options: Options{CallTimeout: within}}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := retried(bounded, retryable, func(ctx context.Context) (struct{}, error) {
		_, err := pool.Exec(ctx, pingSQL)
		return struct{}{}, err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && retryable(err):
		return fmt.Errorf("%w (tried for %v)", s.fault(ctx, "connect", "", err), within)
	}
	return s.fault(ctx, "connect", "", err)
}

func (s *Store) look(ctx context.Context) (st state, err error) {
	err = s.lookAtSession(ctx, &st)
	switch {
	case err != nil:
		return st, err
	case s.options.ReadOnly:
	case st.standby:
		return st, fmt.Errorf("%w: the database is a standby: connect to the primary, "+
			"for instance with target_session_attrs=read-write", store.ErrUnavailable)
	case st.readOnly:
		return st, fmt.Errorf("%w: the session is read-only: "+
			"look for default_transaction_read_only in the connection string, the role and the database", store.ErrUnavailable)
	}
	if err := st.settings.fault(); err != nil {
		return st, err
	}
	tables, privileges := s.options.privileges()
	tables, privileges = append(tables, s.options.name(versionTable)), append(privileges, "SELECT")
	err = query(ctx, s.pool, s.sql.checkSchema, []any{s.sql.records, tables, privileges}, func(rows pgx.Rows) error {
		return rows.Scan(&st.version, &st.lacks, &st.table, &st.hidden)
	})
	switch {
	case err != nil:
		return st, err
	case st.hidden != nil: // the version too, perhaps
		return st, fmt.Errorf("%w: row security keeps the database user from rows of %s: %s",
			store.ErrUnavailable, *st.hidden, rowsecurity.Remedy("the table"))
	case st.version < SchemaVersion:
		return st, fmt.Errorf("%w: the tables have version %d, this release needs %d: %s",
			store.ErrSchema, st.version, SchemaVersion, s.options.remedy())
	case st.version > SchemaVersion:
		return st, fmt.Errorf("%w: the tables have version %d, this release knows %d: upgrade this program",
			store.ErrSchema, st.version, SchemaVersion)
	case !st.table:
		return st, fmt.Errorf("%w: %s is a view or something else that is no table: name the schema of the table in Options.Schema, or put it first in the search_path",
			store.ErrSchema, s.sql.records)
	case st.lacks != nil:
		return st, fmt.Errorf("%w: the database user lacks %s", store.ErrUnavailable, *st.lacks)
	}
	return st, nil
}

// lookAtSession reads what is known about a session before the tables are.
func (s *Store) lookAtSession(ctx context.Context, st *state) error {
	ask := func(args ...any) error {
		return query(ctx, s.pool, s.sql.checkSession, args, func(rows pgx.Rows) error {
			in := &st.settings
			in.text = rows.FieldDescriptions()[0].Format == pgx.TextFormatCode
			return rows.Scan(&st.standby, &st.readOnly, &in.byteaOutput, &in.dateStyle, &in.arrayNulls,
				&in.conformingStrings, &in.clientEncoding, &in.serverEncoding)
		})
	}
	err := ask()
	if err == nil || sqlState(err) != "" || lostConnection(err) || ctx.Err() != nil {
		return err
	}
	// The driver itself refuses the simple protocol under some settings.
	if ask(pgx.QueryExecModeExec) != nil {
		return err
	}
	if st.settings.simple = true; st.settings.fault() == nil {
		return err
	}
	return nil
}
