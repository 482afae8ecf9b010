package activity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// heartbeater keeps an attempt alive while it waits for the store, until the
// body starts and heartbeats are the user's own. Without it a heartbeat timeout
// would end every wait. It sends the previous attempt's details again, since a
// heartbeat without any would erase them. Where it cannot send them unchanged it
// sends nothing, and the waiter bounces before the timeout if it may.
type heartbeater struct {
	ctx     context.Context //nolint:containedctx // of the attempt, which it keeps alive
	timeout time.Duration
	log     callLogger

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	sending chan struct{} // closed when the heartbeat under way has ended
	last    time.Time     // of the last heartbeat that was sent

	// Of the heartbeat under way: there is one at a time.
	details []any // nil until they are read
	warned  bool
}

// newHeartbeater returns nil for activities without a heartbeat timeout.
func newHeartbeater(ctx context.Context, info sdkactivity.Info, log callLogger) *heartbeater {
	if info.HeartbeatTimeout <= 0 || info.IsLocalActivity {
		return nil
	}
	h := &heartbeater{ctx: ctx, timeout: info.HeartbeatTimeout, log: log, last: time.Now()}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(h.timeout/3, h.beat)
	return h
}

// beat sends one heartbeat. It is on a goroutine of its own, where a panic would
// end the process: the user's converters and interceptors run here, and the SDK
// itself panics where details cannot be encoded. Such a beat is skipped. It can take
// nearly as long as the timeout, and nobody waits for it but stop.
func (h *heartbeater) beat() {
	if !h.begin() {
		return
	}
	sent := false
	defer func() { // also after runtime.Goexit
		defer h.end(&sent)
		if value := recover(); value != nil {
			shielded(func() { h.skipped("dedupe: heartbeat skipped while waiting, it panicked", value) })
		}
	}()
	if h.details == nil {
		details, err := previousDetails(h.ctx)
		if err != nil {
			h.skipped("dedupe: heartbeat skipped while waiting, the previous details cannot be sent again unchanged", err)
			return
		}
		h.details = details
	}
	sdkactivity.RecordHeartbeat(h.ctx, h.details...)
	sent = true
}

// begin tells whether a heartbeat may be sent.
func (h *heartbeater) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped || h.ctx.Err() != nil {
		return false
	}
	h.sending = make(chan struct{})
	return true
}

// end makes the next heartbeat due.
func (h *heartbeater) end(sent *bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if *sent {
		h.last = time.Now()
	}
	close(h.sending)
	if !h.stopped {
		h.timer.Reset(h.timeout / 3)
	}
}

// skipped logs once why heartbeats are not sent: by its type, for it may quote
// the details.
func (h *heartbeater) skipped(message string, why any) {
	if !h.warned {
		h.warned = true
		h.log.Warn(message, "ErrorType", fmt.Sprintf("%T", why))
	}
}

// left is how long the attempt may go on without a heartbeat: a quarter of the
// timeout is for the answer to reach Temporal.
func (h *heartbeater) left() time.Duration {
	if h == nil {
		return math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.timeout*3/4 - time.Since(h.last)
}

// stop returns when no further heartbeat will be sent: one that comes after the
// body's own would put older details in their place. Where ctx is done, there is no
// body to wait for.
func (h *heartbeater) stop(ctx context.Context) {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.stopped = true
	h.timer.Stop()
	sending := h.sending
	h.mu.Unlock()
	if sending == nil {
		return
	}
	select {
	case <-sending:
	case <-ctx.Done():
	}
}

// maxDetails bounds what is asked of a data converter that fills whatever it is given.
const maxDetails = 1 << 15

var errDetails = errors.New("dedupe: the data converter does not give heartbeat details as raw values")

// previousDetails reads the details that the last heartbeat left, unchanged: raw
// values are decoded by the client's codec and encoded again by it. There is no
// other way to read details of types unknown, and a data converter may not know
// raw values.
func previousDetails(ctx context.Context) ([]any, error) {
	if !sdkactivity.HasHeartbeatDetails(ctx) {
		return []any{}, nil
	}
	for most := 8; most <= maxDetails; most *= 4 { // the API does not tell how many there are
		raw, into := make([]converter.RawValue, most), make([]any, most)
		for i := range raw {
			into[i] = &raw[i]
		}
		if err := sdkactivity.GetHeartbeatDetails(ctx, into...); err != nil {
			return nil, err
		}
		var details []any
		for _, r := range raw {
			if r.Payload() == nil {
				break
			}
			details = append(details, r)
		}
		if len(details) == 0 {
			break
		}
		if len(details) < most {
			return details, nil
		}
	}
	return nil, errDetails
}
