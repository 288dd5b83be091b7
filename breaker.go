package fleetlimit

import (
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// breakerOptions returns the options of the breakers that b describes, if it is not nil.
func breakerOptions(b *config.Breaker) redisconn.BreakerOptions {
	if b == nil {
		return redisconn.BreakerOptions{}
	}
	return redisconn.BreakerOptions{
		Failures: b.Failures, Within: time.Duration(b.Within), ProbeEvery: time.Duration(b.ProbeEvery), Probes: b.Probes,
	}
}

// reportBreaker logs and emits that the breaker of a primary has another state. Without a running
// configuration there is nobody to tell.
func (t *redisTarget) reportBreaker(b redisconn.Breaker) {
	a := newestApp()
	if a == nil {
		return
	}
	fields := []zap.Field{
		zap.String("state", b.State.String()), zap.String("primary", b.Addr), zap.String("store", t.name),
	}
	switch {
	case b.Replaced:
		a.logger.Info("another server has taken over from a primary of Redis", fields...)
	case b.State == redisconn.Open:
		a.logger.Error("a primary of Redis fails: requests do not wait for it", append(fields, zap.Error(b.Err))...)
	case b.State == redisconn.HalfOpen:
		a.logger.Info("a primary of Redis answers a probe", fields...)
	default:
		a.logger.Info("a primary of Redis answers again", fields...)
	}
	a.emit("rate_limit_breaker", map[string]any{"state": b.State.String(), "primary": b.Addr, "store": t.name})
}
