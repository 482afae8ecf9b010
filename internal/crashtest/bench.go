package crashtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// orderTimeout bounds an order. One that has not ended by then is lost.
const orderTimeout = 90 * time.Second

// Bench is what lanes share: a Temporal server and the two providers.
type Bench struct {
	program            string
	address, namespace string
	client             client.Client
	house              *house
	name               string // sets this bench's orders apart from all others
	lanes              atomic.Int32
}

// NewBench connects to Temporal and opens the providers. Close it after its
// lanes.
func NewBench(ctx context.Context, temporalAddress, namespace string) (*Bench, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("crashtest: find this program: %w", err)
	}
	c, err := client.DialContext(ctx, client.Options{
		HostPort: temporalAddress, Namespace: namespace,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return nil, fmt.Errorf("crashtest: Temporal at %s: %w", temporalAddress, err)
	}
	h, err := newHouse()
	if err != nil {
		c.Close()
		return nil, err
	}
	return &Bench{
		program: program, address: temporalAddress, namespace: namespace, client: c, house: h,
		name: "crash-" + strings.ToLower(rand.Text()[:8]),
	}, nil
}

// Close ends what NewBench began.
func (b *Bench) Close() {
	b.house.close()
	b.client.Close()
}

func (b *Bench) nextQueue() string { return fmt.Sprintf("%s-%04d", b.name, b.lanes.Add(1)) }
