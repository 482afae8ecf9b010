package remedy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed5aa7bdf6/temporal-dedupe/internal/remedy"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	require.Equal(t, "`dedupe migrate up`", remedy.Up(""))
	require.Equal(t, "`dedupe migrate up --schema Ours --database-url …`", remedy.Up("Ours", "--database-url …"))
	require.Equal(t, "`dedupe migrate print --schema Ours`", remedy.Print("Ours"))
	require.Equal(t, "`dedupe migrate print --schema 'it'\\''s ours' | psql -v ON_ERROR_STOP=1 \"$DATABASE_URL\"`", remedy.Create("it's ours"))
}
