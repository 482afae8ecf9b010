package devserver

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// AddressVar is the environment variable that names a running server to use.
	AddressVar = "TEMPORAL_ADDRESS"
	// NamespaceVar is the environment variable that names the namespace.
	NamespaceVar = "TEMPORAL_NAMESPACE"
)

// Options says which server is wanted. The zero value is useful.
type Options struct {
	// Namespace must exist on a server that is found, and is created on one that
	// is started. Defaults to TEMPORAL_NAMESPACE, and then to "default".
	Namespace string
	// Log receives lines about what is done, above all while the server is built.
	// Defaults to standard error; io.Discard silences it.
	Log io.Writer
	// ServerLog receives the standard error of a server that is started, errors
	// only. Nil drops it; an error from Start quotes the end of it in any case.
	ServerLog io.Writer
	// StartTimeout bounds the wait for an answer, not the build before.
	// Defaults to 60 seconds.
	StartTimeout time.Duration
}

const defaultStartTimeout = 60 * time.Second

func (o *Options) validate() error {
	if o.StartTimeout < 0 {
		return fmt.Errorf("devserver: Options.StartTimeout is %s, want no less than 0", o.StartTimeout)
	}
	o.StartTimeout = cmp.Or(o.StartTimeout, defaultStartTimeout)
	o.Namespace = cmp.Or(o.Namespace, os.Getenv(NamespaceVar), "default")
	o.Log = cmp.Or[io.Writer](o.Log, os.Stderr)
	return nil
}
