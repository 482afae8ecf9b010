package activity

import (
	"context"
	"sync"
	"time"

	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// maxDetails is how many heartbeat details are carried on; Temporal's API does
// not tell how many there are.
const maxDetails = 32

// heartbeater keeps an attempt alive while it waits for the store, until the
// body starts and heartbeats are the user's own. Without it a heartbeat timeout
// would end every wait. It sends the previous attempt's details again, since a
// heartbeat without any would erase them.
type heartbeater struct {
	ctx      context.Context //nolint:containedctx // of the attempt, which it keeps alive
	interval time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	details []any
}

// newHeartbeater returns nil for activities without a heartbeat timeout.
func newHeartbeater(ctx context.Context, info sdkactivity.Info) *heartbeater {
	if info.HeartbeatTimeout <= 0 || info.IsLocalActivity {
		return nil
	}
	h := &heartbeater{ctx: ctx, interval: info.HeartbeatTimeout / 3}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(h.interval, h.beat)
	return h
}

func (h *heartbeater) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped || h.ctx.Err() != nil {
		return
	}
	if h.details == nil {
		h.details = previousDetails(h.ctx)
	}
	sdkactivity.RecordHeartbeat(h.ctx, h.details...)
	h.timer.Reset(h.interval)
}

// stop returns when no further heartbeat will be sent.
func (h *heartbeater) stop() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.timer.Stop()
}

// previousDetails reads the details that the last heartbeat left, unchanged:
// raw values are decoded by the client's codec and encoded again by it.
func previousDetails(ctx context.Context) []any {
	details := []any{}
	if !sdkactivity.HasHeartbeatDetails(ctx) {
		return details
	}
	raw := make([]converter.RawValue, maxDetails)
	into := make([]any, maxDetails)
	for i := range raw {
		into[i] = &raw[i]
	}
	if err := sdkactivity.GetHeartbeatDetails(ctx, into...); err != nil {
		return details
	}
	for _, r := range raw {
		if r.Payload() == nil {
			break
		}
		details = append(details, r)
	}
	return details
}
