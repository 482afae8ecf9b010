package pgbench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const summary = `pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: /tmp/script.sql
scaling factor: 1
query mode: prepared
number of clients: 64
number of threads: 2
maximum number of tries: 1
duration: 1 s
number of transactions actually processed: 7203
number of failed transactions: 0 (0.000%)
latency average = 8.912 ms
initial connection time = 92.317 ms
tps = 7190.400123 (without initial connection time)
`

func TestParse(t *testing.T) {
	t.Parallel()
	o, err := parse(summary)
	require.NoError(t, err)
	require.Equal(t, Outcome{Rate: 7190.400123, Runs: 7203}, o)

	o, err = parse("number of transactions actually processed: 50/50\ntps = 12.5 (without initial connection time)\n")
	require.NoError(t, err)
	require.Equal(t, 50, o.Runs)

	for name, out := range map[string]string{
		"a statement's error": summary + "pgbench: error: client 3 script 0 aborted in command 1 query 0: ERROR:  deadlock detected\n",
		"a failed run":        "number of failed transactions: 3 (0.1%)\n" + summary,
		"no rate":             "pgbench (15.18)\n",
		"a rate in words":     "number of transactions actually processed: 1\ntps = many (without initial connection time)\n",
	} {
		t.Run(name+" is an error", func(t *testing.T) {
			t.Parallel()
			_, err := parse(out)
			require.Error(t, err)
		})
	}
}
