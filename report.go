package fleetlimit

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
)

// logWhich says which rejections are logged.
type logWhich uint8

const (
	logDefault logWhich = iota // as the zone's syntax says
	logFirst                   // the first of a key and window
	logAll
	logNone
)

func parseLogWhich(name string) (logWhich, error) {
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
func (l logWhich) logs(legacy, breach bool) bool {
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

// report logs a rejection and emits its event. The event of a zone in the syntax of caddy-ratelimit is emitted on every
// rejection, as there; others only on the first of a key and window, so that a flood is not multiplied.
func (h *Handler) report(denied *result, wait time.Duration, r *http.Request, q *question) {
	legacy, breach := denied.zone.legacy, denied.decision.Breach
	logs, emits := h.logWhich.logs(legacy, breach), legacy || breach
	if !logs && !emits {
		return
	}
	remote, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		remote = r.RemoteAddr
	}
	if logs {
		fields := []zap.Field{
			zap.String("zone", q.rec.exceeded),
			zap.Duration("wait", wait),
			zap.String("remote_ip", remote),
		}
		if h.LogKey {
			fields = append(fields, zap.String("key", denied.template.text(r, q.repl)))
		}
		h.logger.Info("rate limit exceeded", fields...)
	}
	if emits {
		h.events.Emit(h.ctx, "rate_limit_exceeded", map[string]any{
			"zone":      q.rec.exceeded,
			"wait":      wait,
			"remote_ip": remote,
		})
	}
}
