package pgstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"
)

// refusals are parts of the driver's texts, and of a pooler's, for what no second
// try changes; there are no types for them.
var refusals = []string{
	refusedTLS, "require_auth check failed", "channel binding required", "failed SASL auth", "failed GSS auth",
	"server protocol version too low", unsupportedParameter,
}

const refusedTLS = "server refused TLS connection"

// unsupportedParameter is how PgBouncer refuses a parameter of the connection
// string, with a code that it also has for what passes.
const unsupportedParameter = "unsupported startup parameter"

// refusedParameter are the codes with which Postgres refuses a parameter that a session
// begins with: an unknown name, a value, a time, and a role.
var refusedParameter = []string{"42704", "22023", "55P02", codeNoPrivilege}

// lasting tells whether a connection failed for a reason that does not pass by
// itself, at every address that was tried. A server of the wrong kind is none: a
// failover makes it the right one.
func lasting(connect *pgconn.ConnectError) bool {
	return !slices.ContainsFunc(attempted(connect), func(err error) bool { return !refusal(err) })
}

func refusal(err error) bool {
	var unverified *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	if errors.As(err, &unverified) || errors.As(err, &header) || errors.As(err, &alert) {
		return true
	}
	if sqlState(err) == "" && lostConnection(err) {
		return false
	}
	return slices.ContainsFunc(refusals, func(part string) bool { return strings.Contains(err.Error(), part) })
}

// attempted are the errors of the addresses that the driver has tried.
func attempted(connect *pgconn.ConnectError) []error {
	var several interface{ Unwrap() []error }
	if errors.As(connect, &several) {
		return several.Unwrap()
	}
	return []error{connect.Unwrap()}
}

// reasons says why no connection was made, once for each address. The driver's
// texts have addresses in them, and no credentials; what the server has answered
// is told by its code.
func reasons(connect *pgconn.ConnectError) string {
	tries := attempted(connect)
	var texts []string
	for i, err := range tries {
		if i+1 < len(tries) && strings.Contains(err.Error(), refusedTLS) && address(tries[i+1]) == address(err) {
			continue // sslmode=prefer goes on without
		}
		if text := failure(connect.Config, err); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// address is the beginning of a text of the form "address (host): what failed: why".
func address(err error) string {
	if where, _, found := strings.Cut(err.Error(), "): "); found {
		return where + "): "
	}
	return ""
}

func failure(config *pgconn.Config, err error) string {
	where := address(err)
	var answer *pgconn.PgError
	var lookup *net.DNSError
	var network *net.OpError
	switch {
	case errors.As(err, &answer):
		if name := parameterIn(config, answer); name != "" {
			return fmt.Sprintf("%sthe database refused the parameter %s of the connection string (SQLSTATE %s)", where, name, answer.Code)
		}
		return where + answered(answer)
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "no such host " + lookup.Name
	case errors.Is(err, context.DeadlineExceeded):
		return where + "no answer in time"
	case errors.As(err, &network) && network.Op == "dial":
		return network.Error()
	}
	return err.Error()
}

// parameterIn is the parameter of the connection string that an answer is about, if it
// is about one: of the database's text, which also quotes values, it takes no more than
// a name that the connection string has.
func parameterIn(config *pgconn.Config, answer *pgconn.PgError) string {
	if config == nil || !slices.Contains(refusedParameter, answer.Code) {
		return ""
	}
	words := strings.FieldsFunc(answer.Message, func(r rune) bool {
		return r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, name := range slices.Sorted(maps.Keys(config.RuntimeParams)) {
		if slices.Contains(words, name) {
			return name
		}
	}
	return ""
}
