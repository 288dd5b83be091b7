package fleetlimit

import (
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
)

// addToAccessLog adds what is decided about the request to its line in the access log, if its
// server writes one. The line is made when the request has been served.
func (e *evaluation) addToAccessLog() {
	ctx := e.request.Context()
	server, _ := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if server == nil || server.Logs == nil {
		return
	}
	if extra, ok := ctx.Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
		extra.Add(zap.Inline((*accessLogField)(e.state)))
	}
}

// An accessLogField is a requestState that writes the field rate_limit of a line, unless nothing
// was decided. Of several zones, it describes the one that rejects the request, or else the one
// with the least left.
type accessLogField requestState

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (f *accessLogField) MarshalLogObject(line zapcore.ObjectEncoder) error {
	s := (*requestState)(f)
	if s.forbidden != nil {
		return line.AddObject("rate_limit", zapcore.ObjectMarshalerFunc(func(field zapcore.ObjectEncoder) error {
			if s.exceeded != "" {
				field.AddString("zone", s.exceeded)
			}
			field.AddString("decision", adminapi.Denied)
			field.AddString("source", s.forbidden.name)
			return nil
		}))
	}
	if r := s.decisive(); r != nil {
		return line.AddObject("rate_limit", r)
	}
	return nil
}

// decisive returns the result that rejects the request, or else the one with the least left.
func (s *requestState) decisive() *zoneResult {
	for i := range s.results {
		if r := &s.results[i]; !r.decision.OK && r.zone.name == s.exceeded {
			return r
		}
	}
	return s.tightest(noHeaders)
}

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (r *zoneResult) MarshalLogObject(field zapcore.ObjectEncoder) error {
	field.AddString("zone", r.zone.name)
	decision := adminapi.Admitted
	switch {
	case !r.decision.OK:
		decision = adminapi.Rejected
	case r.outage:
		decision = adminapi.Degraded
	}
	field.AddString("decision", decision)
	tierUnknownField(r.unknownTier).AddTo(field)
	field.AddString("source", r.decision.Source.String())
	if !r.outage {
		field.AddInt64("remaining", r.remaining())
	}
	return nil
}

// Interface guards.
var (
	_ zapcore.ObjectMarshaler = (*accessLogField)(nil)
	_ zapcore.ObjectMarshaler = (*zoneResult)(nil)
)
