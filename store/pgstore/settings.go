package pgstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed5aa7bdf6/temporal-dedupe/store"
)

// settings are those of a session on which the form of values depends. The exec modes
// exec and simple_protocol send them as text, the others in binary where it matters.
type settings struct {
	text, simple bool

	byteaOutput, dateStyle, arrayNulls, conformingStrings, clientEncoding, serverEncoding string
}

// fault names the first setting under which values would be refused, misread or, worse,
// changed.
func (s settings) fault() error {
	const inText = "the pool's query exec mode, which sends values as text"
	switch {
	case s.simple && s.conformingStrings != "on":
		return wrongSetting("standard_conforming_strings", s.conformingStrings, "on", "the pool's query exec mode", binaryRemedy)
	case s.simple && s.clientEncoding != "UTF8":
		return wrongSetting("client_encoding", s.clientEncoding, "UTF8", "the pool's query exec mode", utf8Remedy)
	case s.clientEncoding != "UTF8" && s.clientEncoding != "SQL_ASCII" && s.clientEncoding != s.serverEncoding:
		// Keys would be converted, to other ones than those of sessions with UTF8.
		return wrongSetting("client_encoding", s.clientEncoding, "UTF8", "the store, whose texts are UTF-8,", utf8Remedy)
	case s.text && s.byteaOutput != "hex":
		return wrongSetting("bytea_output", s.byteaOutput, "hex", inText+",", binaryRemedy)
	case s.text && !strings.HasPrefix(s.dateStyle, "ISO"):
		return wrongSetting("DateStyle", s.dateStyle, "ISO", inText+",", binaryRemedy)
	case s.text && s.arrayNulls != "on":
		// A result of nil would become one of the four bytes NULL.
		return wrongSetting("array_nulls", s.arrayNulls, "on", inText+",", binaryRemedy)
	}
	return nil
}

const (
	binaryRemedy = "set default_query_exec_mode=cache_describe in the connection string"
	utf8Remedy   = "set client_encoding=UTF8 in the connection string"
)

func wrongSetting(name, is, want, who, remedy string) error {
	return fmt.Errorf("%w: the session's %s is %q, and %s needs %q: ALTER ROLE or DATABASE … SET %s = '%s', or %s",
		store.ErrUnavailable, name, is, who, want, name, want, remedy)
}

// unreadable says of an answer that could not be read which setting has made it so, where
// it was one: that of a session which New has not seen.
func unreadable(rows pgx.Rows, err error) error {
	var failed pgx.ScanArgError
	if !errors.As(err, &failed) {
		return err
	}
	fields := rows.FieldDescriptions()
	if failed.ColumnIndex >= len(fields) || fields[failed.ColumnIndex].Format != pgx.TextFormatCode {
		return err
	}
	name, want := "bytea_output", "hex"
	switch fields[failed.ColumnIndex].DataTypeOID {
	case pgtype.ByteaOID:
	case pgtype.TimestamptzOID:
		name, want = "DateStyle", "ISO"
	default:
		return err
	}
	return fmt.Errorf("%w: the session's %s is not %q, which the pool's query exec mode needs: ALTER ROLE or DATABASE … SET %s = '%s', or %s",
		store.ErrUnavailable, name, want, name, want, binaryRemedy)
}
