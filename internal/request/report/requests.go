package report

import (
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/decisionlog"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// Requests reports what a handler decides about requests.
type Requests struct {
	*Process
	*Log
	settings   *config.Handler
	recorded   *decisionlog.Log  // nil if decisions are not recorded
	windowless usage.ReportLimit // bounds the lines about 403s by the handler's own list
}

// Requests returns the reports of a handler. recorded is nil if decisions are not recorded.
func (p *Process) Requests(l *Log, settings *config.Handler, recorded *decisionlog.Log) *Requests {
	return &Requests{Process: p, Log: l, settings: settings, recorded: recorded}
}

// logged returns which rejections by a zone are logged. legacy says that the zone is in the syntax of
// caddy-ratelimit.
func (l *Requests) logged(legacy bool) string {
	switch {
	case l.settings.LogRejections != "":
		return l.settings.LogRejections
	case legacy:
		return config.LogAll
	}
	return config.LogFirst
}

// Rejected logs a rejection and emits its event, with the zone and key of named. A zone in the syntax of
// caddy-ratelimit emits an event for every rejection. Any other zone emits one for the first rejection of a
// key and window. First rejections are reported at most ten times a second for a zone, because each key of a
// flood has one. A block has no window, and its rejections are logged at most ten times a second. A 503 is
// logged like a rejection, but has no event, because no limit is exceeded.
func (l *Requests) Rejected(r Subject, denied, named *response.Result, wait time.Duration) {
	logs, unlogged := l.logsRejection(denied)
	emits, unemitted := denied.Legacy, uint64(0)
	message := "rate limit exceeded"
	if denied.IsConcurrent() {
		message = "concurrency limit exceeded"
	}
	if denied.Unavailable() {
		message, emits = "rate limit is not available", false
	} else if denied.Decision.Breach && !denied.Legacy {
		emits, unemitted = denied.Usage.Emitted.Allow(denied.Decision.At.Unix())
	}
	zone, key := named.Usage.Name, named.Template
	if logs {
		l.log(r, message, denied.Status(), key, unlogged,
			zap.String("zone", zone), zap.Duration("wait", wait), endpointField(named), tierField(named), unknownTierField(denied.UnknownTier),
			costField(denied.Cost))
	}
	if emits {
		data := map[string]any{"zone": zone, "wait": wait}
		for _, field := range r.fields(key) {
			data[field.Key] = field.String
		}
		if unemitted > 0 {
			data["suppressed"] = unemitted
		}
		l.Log.emit("rate_limit_exceeded", data)
	}
}

// logsRejection reports whether a rejection is logged, and how many rejections were not logged since the last
// one that was.
func (l *Requests) logsRejection(denied *response.Result) (logs bool, unlogged uint64) {
	z, which, second := denied.Usage, l.logged(denied.Legacy), denied.Decision.At.Unix()
	switch {
	case which != config.LogFirst:
		return which == config.LogAll, 0
	case denied.Policy.Block:
		return z.Windowless.Allow(second)
	case denied.Decision.Breach:
		return z.Logged.Allow(second)
	}
	return false, 0
}

// Refused logs a refusal by a zone, or by the handler if zone is nil.
func (l *Requests) Refused(r Subject, zone *response.ZoneResponses, key *keytemplate.Template, refusal *response.Refusal) {
	if logs, unlogged := l.logsRefusal(zone); logs {
		about := []zap.Field{zap.String("reason", refusal.Reason)}
		if zone != nil {
			about = append(about, zap.String("zone", zone.Usage.Name))
		}
		l.log(r, "request denied", refusal.Status, key, unlogged, about...)
	}
}

// logsRefusal reports whether a refusal by a zone, or by the handler if zone is nil, is logged, and how many
// refusals were not logged since the last one that was. A refusal belongs to no window whose first one could
// be logged. So unless all are logged, at most ten a second are logged for each zone, and ten for the
// handler.
func (l *Requests) logsRefusal(zone *response.ZoneResponses) (logs bool, unlogged uint64) {
	limit, legacy := &l.windowless, false
	if zone != nil {
		limit, legacy = &zone.Usage.Windowless, zone.Legacy
	}
	switch l.logged(legacy) {
	case config.LogFirst:
		return limit.Allow(time.Now().Unix())
	case config.LogAll:
		return true, 0
	}
	return false, 0
}

// DryRunRejected logs that a zone would have rejected the request.
func (l *Requests) DryRunRejected(r Subject, result *response.Result) {
	if logs, unlogged := l.logsRejection(result); logs {
		l.logDryRun(r, result.Usage, result.Template, result.Status(), unlogged, zap.Duration("wait", result.BoundedWait()),
			endpointField(result), tierField(result), unknownTierField(result.UnknownTier), costField(result.Cost))
	}
}

// DryRunRefused logs that a zone would have answered the request with status.
func (l *Requests) DryRunRefused(
	r Subject, zone *response.ZoneResponses, key *keytemplate.Template, reason string, status int,
) {
	if logs, unlogged := l.logsRefusal(zone); logs {
		l.logDryRun(r, zone.Usage, key, status, unlogged, zap.String("reason", reason))
	}
}

func (l *Requests) logDryRun(
	r Subject, zone *usage.ZoneCounters, key *keytemplate.Template, status int, suppressed uint64, about ...zap.Field,
) {
	l.log(r, "request would be rejected", 0, key, suppressed, append(about, zap.Int("would_be", status), zap.String("zone", zone.Name))...)
}

// log writes a line about a request. status is the status of the response, 0 if the request goes on. key is
// nil if the request has no key. suppressed is the number of lines that were left out before.
func (l *Requests) log(
	r Subject, message string, status int, key *keytemplate.Template, suppressed uint64, about ...zap.Field,
) {
	fields := append(append(about, statusField("status", status)), r.fields(key)...)
	if key != nil && l.settings.LogKey {
		fields = append(fields, zap.String("key", key.Text(r.Request, r.Replacer)))
	}
	l.Info(message, append(fields, fieldIf(suppressed > 0, zap.Uint64("suppressed", suppressed)))...)
}

// fieldIf returns field if a condition holds, and else a field that the log leaves out.
func fieldIf(condition bool, field zap.Field) zap.Field {
	if !condition {
		return zap.Skip()
	}
	return field
}

// costField returns a field for the cost of a request, none if the cost is 1.
func costField(cost int64) zap.Field { return fieldIf(cost > 1, zap.Int64("cost", cost)) }

// endpointField returns a field for the endpoint of a request, none for the rest of the zone.
func endpointField(r *response.Result) zap.Field { return textField("endpoint", r.Counters.Endpoint) }

// tierField returns a field for the tier of a key, none if the key has no tier.
func tierField(r *response.Result) zap.Field { return textField("tier", r.Counters.Tier) }

// keyHashField returns a field for the hash of the text of a key, none if the text is "".
func keyHashField(text string) zap.Field {
	if text == "" { // as is the text of a client without an address
		return zap.Skip()
	}
	return zap.String("key_hash", keytemplate.Hash(text))
}

// textField returns a field for a text, none if the text is "".
func textField(name, text string) zap.Field { return fieldIf(text != "", zap.String(name, text)) }

// unknownTierField returns a field for a tier that a zone does not have, none if unknown is "".
func unknownTierField(unknown string) zap.Field { return textField("tier_unknown", shortened(unknown)) }
