package fleetlimit

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/response"
)

// loggedOf returns which rejections by a zone are logged. legacy is whether it is in the syntax of
// caddy-ratelimit.
func (h *Handler) loggedOf(legacy bool) string {
	switch {
	case h.LogRejections != "":
		return h.LogRejections
	case legacy:
		return config.LogAll
	}
	return config.LogFirst
}

// report logs a rejection and emits its event, with the zone and key of named. Events of zones in
// the syntax of caddy-ratelimit are emitted for every rejection, others for the first of a key and
// window. First rejections are reported at most ten times a second for a zone, because each key of
// a flood has one. A limit that blocks has no window, so that as many of its rejections are logged.
// A 503 exceeds no limit: it is logged alike, and has no event.
func (e *evaluation) report(denied, named *response.Result, wait time.Duration) {
	h, z := e.handler, denied.Zone
	logs, unlogged := e.logsRejection(denied)
	emits, unemitted := denied.Legacy, uint64(0)
	message, status := "rate limit exceeded", http.StatusTooManyRequests
	if denied.Unavailable() {
		message, status, emits = "rate limit is not available", http.StatusServiceUnavailable, false
	} else if denied.Decision.Breach && !denied.Legacy {
		emits, unemitted = z.Emitted.Allow(e.now.Unix())
	}
	if !logs && !emits {
		return
	}
	zone, key := named.Zone.Name, named.Template
	if logs {
		e.log(message, status, key, unlogged,
			zap.String("zone", zone), zap.Duration("wait", wait), costField(denied.Cost), tierUnknownField(denied.UnknownTier))
	}
	if emits {
		data := map[string]any{"zone": zone, "wait": wait}
		for _, field := range fieldsOf(e.describe(key)) {
			data[field.Key] = field.String
		}
		if unemitted > 0 {
			data["suppressed"] = unemitted
		}
		h.events.Emit(h.ctx, "rate_limit_exceeded", data)
	}
}

// costField is the cost of a request for a line in the log, which says nothing of 1.
func costField(cost int64) zap.Field {
	if cost <= 1 {
		return zap.Skip()
	}
	return zap.Int64("cost", cost)
}

// logsRejection reports whether a rejection is logged, and how many were not since the last one.
func (e *evaluation) logsRejection(denied *response.Result) (logs bool, unlogged uint64) {
	z, which := denied.Zone, e.handler.loggedOf(denied.Legacy)
	switch {
	case which != config.LogFirst:
		return which == config.LogAll, 0
	case denied.Policy.Block:
		return z.Windowless.Allow(e.now.Unix())
	case denied.Decision.Breach:
		return z.Logged.Allow(e.now.Unix())
	}
	return false, 0
}

// logsForbidden reports whether a 403 by a zone is logged, or one by the handler if it is nil, and
// how many were not since the last one. It belongs to no window that has a first one, so unless all
// are logged, a zone logs at most ten a second, and the handler as many by its own list.
func (h *Handler) logsForbidden(z *zone) (logs bool, unlogged uint64) {
	limit, legacy := &h.windowless, false
	if z != nil {
		limit, legacy = &z.usage.Windowless, z.legacy
	}
	switch h.loggedOf(legacy) {
	case config.LogFirst:
		return limit.Allow(time.Now().Unix())
	case config.LogAll:
		return true, 0
	}
	return false, 0
}

// log writes a line about the request, which gets status, unless that is 0. key is nil if the
// request has no key.
func (e *evaluation) log(message string, status int, key *keytemplate.Template, suppressed uint64, about ...zap.Field) {
	fields := about
	if status != 0 {
		fields = append(fields, zap.Int("status", status))
	}
	fields = append(fields, fieldsOf(e.describe(key))...)
	if key != nil && e.handler.LogKey {
		fields = append(fields, zap.String("key", key.Text(e.request, e.repl)))
	}
	if suppressed > 0 {
		fields = append(fields, zap.Uint64("suppressed", suppressed))
	}
	e.handler.logger.Info(message, fields...)
}

// fieldsOf returns a description of a request as fields of a line in the log, which are texts.
func fieldsOf(r adminapi.Request) []zap.Field {
	fields := []zap.Field{
		zap.String("remote_ip", r.RemoteIP),
		zap.String("client_ip", r.ClientIP),
		zap.String("method", r.Method),
		zap.String("host", r.Host),
		zap.String("path", r.Path),
	}
	if r.KeyHash != "" {
		fields = append(fields, zap.String("key_hash", r.KeyHash))
	}
	return fields
}

// describe describes the request that the client sent, before rewrites, so that it can be found in
// the access log. The query is left out because it may hold secrets.
func (e *evaluation) describe(key *keytemplate.Template) adminapi.Request {
	r := e.request
	remote, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		remote = r.RemoteAddr
	}
	client, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	method, path := r.Method, r.URL.EscapedPath()
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok {
		method, path = original.Method, original.URL.EscapedPath()
	}
	d := adminapi.Request{
		RemoteIP: remote, ClientIP: client, Method: shortened(method), Host: shortened(r.Host), Path: shortened(path),
	}
	if key != nil {
		if text := key.Text(r, e.repl); text != "" { // that of clients without an address is empty
			d.KeyHash = keyHash(text)
		}
	}
	return d
}

// shortened returns the beginning of a long text, so that clients cannot fill the log with it.
func shortened(text string) string {
	const most = 512
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// keyHash returns a hash of the text of a key, by which its lines can be found without the key. It
// is the same in all zones, on all nodes and after a restart.
func keyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
