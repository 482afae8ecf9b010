// Package pgurl reads the database URLs and the names of schemas that people give to
// programs, and says what is wrong with one, without showing any part of a URL's
// password. It must not connect, nor know what the database is for.
package pgurl

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	text  = "the database URL cannot be understood"
	shape = " (it is not shown, since it may hold a password); it should look like postgres://user:password@host:5432/database"
	// An unescaped one ends the password early, and what is left of it stands in
	// another part of the URL.
	escaping = ", with / ? # @ % in the password percent-encoded"
)

// Parse reads a URL as the pool's own parser does, since an application's URL may
// carry pool_max_conns and the like. Its error has no prefix and no part of the
// URL but parameters whose value is wrong.
//
// A URL that can be read, but where a part of the password may have become the
// name of the database or of a parameter, is refused as well: the driver and the
// server quote these in their errors.
func Parse(databaseURL string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if !hasScheme(databaseURL) {
		if err != nil {
			return nil, errors.New(text + shape)
		}
		return config, nil
	}
	u, urlErr := url.Parse(databaseURL)
	if urlErr != nil || strings.Contains(u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@") {
		return nil, errors.New(text + shape + escaping)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s", text, reason(err))
	}
	return config, nil
}

func hasScheme(databaseURL string) bool {
	return strings.HasPrefix(databaseURL, "postgres://") || strings.HasPrefix(databaseURL, "postgresql://")
}

// reason is the driver's text, which names the parameter, without the URL that
// stands in front of it.
func reason(err error) string {
	var parse *pgconn.ParseConfigError
	if !errors.As(err, &parse) {
		return "the driver refuses it"
	}
	bare := *parse
	bare.ConnString = ""
	return strings.TrimPrefix(bare.Error(), "cannot parse ``: ")
}
