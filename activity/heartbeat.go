package activity

import (
	"context"
	"fmt"
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
	log      callLogger

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	details []any // nil until they are read
	warned  bool
}

// newHeartbeater returns nil for activities without a heartbeat timeout.
func newHeartbeater(ctx context.Context, info sdkactivity.Info, log callLogger) *heartbeater {
	if info.HeartbeatTimeout <= 0 || info.IsLocalActivity {
		return nil
	}
	h := &heartbeater{ctx: ctx, interval: info.HeartbeatTimeout / 3, log: log}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(h.interval, h.beat)
	return h
}

// beat sends one heartbeat. It is on a goroutine of its own, where a panic would
// end the process: the user's converters and interceptors run here, and the SDK
// itself panics where details cannot be encoded. Such a beat is skipped.
func (h *heartbeater) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped || h.ctx.Err() != nil {
		return
	}
	defer func() { // also after runtime.Goexit
		if value := recover(); value != nil {
			h.skipped("dedupe: heartbeat skipped while waiting, it panicked", value)
		}
		h.timer.Reset(h.interval)
	}()
	if h.details == nil {
		h.details = previousDetails(h.ctx)
	}
	sdkactivity.RecordHeartbeat(h.ctx, h.details...)
}

// skipped logs once why heartbeats are not sent: by its type, for it may quote
// the details.
func (h *heartbeater) skipped(message string, why any) {
	if !h.warned {
		h.warned = true
		h.log.Warn(message, "ErrorType", fmt.Sprintf("%T", why))
	}
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
