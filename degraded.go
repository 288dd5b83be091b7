package fleetlimit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// degraded is what responses and {http.rate_limit.<zone>.source} say of a request that could not be counted.
const degraded = "degraded"

// statusClientGone is what Caddy logs when the client has gone before there was a response.
const statusClientGone = 499

// clientGoneError returns the error of a request that ended while it waited for the store, and nil for one that goes on. What the
// store did with its takes is unknown and says nothing about the store. Such a request goes no further: admitted uncounted,
// it would be a way past every limit, for handlers that act before they notice that nobody waits for them.
func clientGoneError(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return caddyhttp.Error(http.StatusGatewayTimeout, err)
	default:
		return caddyhttp.Error(statusClientGone, err)
	}
}

// degrade admits the request in a zone that the store could not decide for.
func (r *zoneResult) degrade(now limiter.Instant) {
	r.degraded = true
	r.decision = limiter.Decision{OK: true, At: now, Limit: r.rule.Capacity(), Remaining: -1}
}

// logTransition follows whether the store answers, and logs when that changes. A client that is closed belongs to a configuration
// that has ended, whose last requests find it so; that is no outage.
func (h *Handler) logTransition(err error, now time.Time) {
	s := h.app.store
	if err == nil {
		if back, failures := s.health.answered(now); back {
			h.logger.Info("the store answers again: requests are counted", zap.String("store", s.name),
				zap.Uint64("uncounted", failures))
		}
		return
	}
	if !errors.Is(err, redisconn.ErrClosed) && s.health.failed(now) {
		h.logger.Warn("the store does not answer: requests are admitted without being counted", zap.String("store", s.name),
			zap.Error(err))
	}
}
