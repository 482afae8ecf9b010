package crashtest

import (
	"context"
	"time"
)

// pacer spreads what is started.
type pacer struct{ ticker *time.Ticker }

// newPacer returns a pacer for one start each interval; zero is no pause.
func newPacer(interval time.Duration) pacer {
	if interval <= 0 {
		return pacer{}
	}
	return pacer{time.NewTicker(interval)}
}

func (p pacer) wait(ctx context.Context) {
	if p.ticker == nil {
		return
	}
	select {
	case <-p.ticker.C:
	case <-ctx.Done():
	}
}

func (p pacer) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
	}
}
