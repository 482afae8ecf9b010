package main

import (
	"bufio"
	"encoding/json"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// requireRun runs the command until the test has looked at its namespaces.
func requireRun(t *testing.T, args ...string) []string {
	t.Helper()
	stdin, closeStdin := io.Pipe()
	stdout, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(args, stdin, write)
		_ = write.CloseWithError(err)
		ended <- err
	}()
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err)
	var printed struct{ Address string }
	require.NoError(t, json.Unmarshal(line, &printed))

	c, err := client.Dial(client.Options{HostPort: printed.Address})
	require.NoError(t, err)
	defer c.Close()
	list, err := c.WorkflowService().ListNamespaces(t.Context(), &workflowservice.ListNamespacesRequest{})
	require.NoError(t, err)
	var names []string
	for _, namespace := range list.GetNamespaces() {
		names = append(names, namespace.GetNamespaceInfo().GetName())
	}

	require.NoError(t, closeStdin.Close())
	require.NoError(t, <-ended)
	return names
}

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("the server has the namespace default and ends with standard input", func(t *testing.T) {
		t.Parallel()
		require.Contains(t, requireRun(t), "default")
	})

	t.Run("a file keeps the state", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "temporal.db")
		require.Subset(t, requireRun(t, "-db", file, "-namespace", "a,b", "-namespace", "c"), []string{"a", "b", "c"})
		require.Subset(t, requireRun(t, "-db", file), []string{"a", "b", "c", "default"})
	})
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a host that is no IP address is refused": {[]string{"-address", "localhost:0"}, "must be an IP address"},
		"a namespace without a name is refused":   {[]string{"-namespace", "a,,b"}, "empty name"},
		"a port out of range is refused":          {[]string{"-address", "127.0.0.1:65536"}, "from 0 to 65535"},
		"an argument that is no flag is refused":  {[]string{"extra"}, `unexpected argument "extra"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, run(test.args, eofNever{}, io.Discard), test.want)
		})
	}
}

// eofNever is a standard input that stays open.
type eofNever struct{}

func (eofNever) Read([]byte) (int, error) { select {} }
