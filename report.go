package fleetlimit

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
)

// rejectionLog says which rejections are logged.
type rejectionLog uint8

const (
	logDefault rejectionLog = iota // as the zone's syntax says
	logFirst                       // the first of a key and window
	logAll
	logNone
)

func parseRejectionLog(name string) (rejectionLog, error) {
	switch name {
	case "":
		return logDefault, nil
	case "first":
		return logFirst, nil
	case "all":
		return logAll, nil
	case "none":
		return logNone, nil
	}
	return 0, fmt.Errorf("log_rejections is %q: say first, all or none", name)
}

// logs reports whether to log a rejection.
func (l rejectionLog) logs(legacy, breach bool) bool {
	switch l {
	case logNone:
		return false
	case logAll:
		return true
	case logDefault:
		return legacy || breach
	}
	return breach
}

// unbounded reports whether every rejection of a zone is to be logged, however many there are.
func (l rejectionLog) unbounded(legacy bool) bool { return l == logAll || l == logDefault && legacy }

// report logs a rejection and emits its event. The event of a zone in the syntax of caddy-ratelimit is emitted on every
// rejection, as there; others only on the first of a key and window, so that a flood is not multiplied. A flood of keys
// has many first rejections: unless all are asked for, a zone logs and emits a few in a second.
func (h *Handler) report(denied *zoneResult, wait time.Duration, r *http.Request, q *evaluation) {
	z, breach := denied.zone, denied.decision.Breach
	logs, emits := h.rejectionLog.logs(z.legacy, breach), z.legacy || breach
	var unlogged, unemitted uint64
	if logs && !h.rejectionLog.unbounded(z.legacy) {
		logs, unlogged = z.logged.allow(q.now.Unix())
	}
	if emits && !z.legacy {
		emits, unemitted = z.emitted.allow(q.now.Unix())
	}
	if !logs && !emits {
		return
	}
	remote, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		remote = r.RemoteAddr
	}
	if logs {
		fields := []zap.Field{
			zap.String("zone", q.state.exceeded),
			zap.Duration("wait", wait),
			zap.String("remote_ip", remote),
		}
		if h.LogKey {
			fields = append(fields, zap.String("key", denied.template.Text(r, q.repl)))
		}
		if unlogged > 0 {
			fields = append(fields, zap.Uint64("suppressed", unlogged))
		}
		h.logger.Info("rate limit exceeded", fields...)
	}
	if emits {
		data := map[string]any{
			"zone":      q.state.exceeded,
			"wait":      wait,
			"remote_ip": remote,
		}
		if unemitted > 0 {
			data["suppressed"] = unemitted
		}
		h.events.Emit(h.ctx, "rate_limit_exceeded", data)
	}
}

// reportsPerSecond is how many reports a zone makes in a second.
const reportsPerSecond = 10

// A reportLimit bounds the reports of a zone in each second of the clock.
type reportLimit struct {
	mu         sync.Mutex
	second     int64
	reports    int    // in this second
	suppressed uint64 // since the last report
}

// allow reports whether there may be a report in a second, and how many were suppressed since the last one.
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
