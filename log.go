package fleetlimit

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/redisconn"
)

// The values of log_rejections.
const (
	logFirst = "first" // the first of a key and window
	logAll   = "all"
	logNone  = "none"
)

func parseRejectionLog(rejections string) (string, error) {
	switch rejections {
	case "", logFirst, logAll, logNone:
		return rejections, nil
	}
	return "", unknownWord("log_rejections", rejections, logFirst, logAll, logNone)
}

// loggedOf returns which rejections by a zone are logged.
func (h *Handler) loggedOf(z *zone) string {
	switch {
	case h.LogRejections != "":
		return h.LogRejections
	case z.legacy:
		return logAll
	}
	return logFirst
}

// report logs a rejection and emits its event. Events of zones in the syntax of caddy-ratelimit are
// emitted for every rejection, others for the first of a key and window. First rejections are
// reported at most ten times a second for a zone, because each key of a flood has one.
func (e *evaluation) report(denied *zoneResult, wait time.Duration) {
	h, z, which := e.handler, denied.zone, e.handler.loggedOf(denied.zone)
	logs, emits := which == logAll, z.legacy
	var unlogged, unemitted uint64
	if denied.decision.Breach && which == logFirst {
		logs, unlogged = z.logged.allow(e.now.Unix())
	}
	if denied.decision.Breach && !z.legacy {
		emits, unemitted = z.emitted.allow(e.now.Unix())
	}
	if !logs && !emits {
		return
	}
	remote, _, err := net.SplitHostPort(e.request.RemoteAddr)
	if err != nil {
		remote = e.request.RemoteAddr
	}
	if logs {
		fields := []zap.Field{
			zap.String("zone", e.state.exceeded),
			zap.Duration("wait", wait),
			zap.String("remote_ip", remote),
		}
		if h.LogKey {
			fields = append(fields, zap.String("key", denied.template.Text(e.request, e.repl)))
		}
		if unlogged > 0 {
			fields = append(fields, zap.Uint64("suppressed", unlogged))
		}
		h.logger.Info("rate limit exceeded", fields...)
	}
	if emits {
		data := map[string]any{"zone": e.state.exceeded, "wait": wait, "remote_ip": remote}
		if unemitted > 0 {
			data["suppressed"] = unemitted
		}
		h.events.Emit(h.ctx, "rate_limit_exceeded", data)
	}
}

// reportsPerSecond is the number of reports that a zone makes in a second.
const reportsPerSecond = 10

// A reportLimit bounds the reports of a zone in each second of the clock.
type reportLimit struct {
	mu         sync.Mutex
	second     int64
	reports    int    // in this second
	suppressed uint64 // since the last report
}

// allow reports whether a report is allowed, and how many were suppressed since the last one.
func (l *reportLimit) allow(second int64) (ok bool, suppressed uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second != l.second {
		l.second, l.reports = second, 0
	}
	if l.reports == reportsPerSecond {
		l.suppressed++
		return false, 0
	}
	l.reports++
	suppressed, l.suppressed = l.suppressed, 0
	return true, suppressed
}

// logTransition logs when the store stops answering and when it answers again. A client that is
// closed belongs to a configuration that has ended, which is no outage.
func (h *Handler) logTransition(err error, now time.Time) {
	s := h.app.store
	if err == nil {
		if recovered, failures := s.health.answered(now); recovered {
			h.logger.Info("the store answers again: requests are counted",
				zap.String("store", s.name), zap.Uint64("uncounted", failures))
		}
	} else if !errors.Is(err, redisconn.ErrClosed) && s.health.failed(now) {
		h.logger.Warn("the store does not answer: requests are admitted without being counted",
			zap.String("store", s.name), zap.Error(err))
	}
}

// health follows whether a store answers. A store is failing from its first failure until it
// answers quietAfter or more after its last failure: while one of several primaries is down,
// answers and failures alternate. The zero value is a store that answers. It is safe for concurrent
// use.
type health struct {
	failing atomic.Bool // written with mu held, read by every request

	mu       sync.Mutex
	last     time.Time // of the failures
	failures uint64    // since the store is failing
}

const quietAfter = 5 * time.Second

// failed notes a failure at now and reports whether it is the first.
func (h *health) failed(now time.Time) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.After(h.last) {
		h.last = now
	}
	h.failures++
	return !h.failing.Swap(true)
}

// answered notes an answer at now. It reports whether the store has recovered with it, and after
// how many failures.
func (h *health) answered(now time.Time) (recovered bool, failures uint64) {
	if !h.failing.Load() {
		return false, 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.failing.Load() || now.Sub(h.last) < quietAfter {
		return false, 0
	}
	failures, h.failures = h.failures, 0
	h.failing.Store(false)
	return true, failures
}
