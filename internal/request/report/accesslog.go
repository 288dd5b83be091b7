package report

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// AddToAccessLog adds what is decided about a request to its line in the access log, if its server
// writes one, and reports whether it does. The line is made when the request has been served.
func AddToAccessLog(r *http.Request, s *response.State) bool {
	ctx := r.Context()
	server, _ := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if server == nil || server.Logs == nil {
		return false
	}
	extra, ok := ctx.Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields)
	if ok {
		extra.Add(zap.Inline((*accessLogField)(s)))
	}
	return ok
}

// An accessLogField is the state of a request. It writes the field rate_limit of a line, unless
// nothing was decided. Of several zones, it describes the one that rejects the request, or else the
// one with the least left.
type accessLogField response.State

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (f *accessLogField) MarshalLogObject(line zapcore.ObjectEncoder) error {
	s := (*response.State)(f)
	if s.Refusal != nil {
		return line.AddObject("rate_limit", zapcore.ObjectMarshalerFunc(func(field zapcore.ObjectEncoder) error {
			textField("zone", s.Exceeded).AddTo(field)
			field.AddString("decision", OutcomeOfRefusal(s.Refusal))
			field.AddString("source", s.Refusal.Reason)
			keyHashField(s.KeyText(s.Exceeded)).AddTo(field)
			return nil
		}))
	}
	if r := s.Decisive(); r != nil {
		return line.AddObject("rate_limit", &loggedResult{r, s.KeyText(r.Usage.Name)})
	}
	return nil
}

// A loggedResult writes the fields of a result.
type loggedResult struct {
	*response.Result
	key string // the text of the key
}

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (l *loggedResult) MarshalLogObject(field zapcore.ObjectEncoder) error {
	r := l.Result
	field.AddString("zone", r.Usage.Name)
	fieldIf(r.Decision.At > 0, zap.Int64("at", int64(r.Decision.At))).AddTo(field)
	decision := OutcomeOf(r)
	if decision == api.Unavailable {
		decision = api.Rejected // the line has the status
	}
	field.AddString("decision", decision)
	for _, about := range []zap.Field{
		endpointField(r), tierField(r), unknownTierField(r.UnknownTier), costField(r.Cost), keyHashField(l.key),
	} {
		about.AddTo(field)
	}
	field.AddString("source", r.Decision.Source.String())
	fieldIf(r.Waited > 0, zap.Duration("waited", r.Waited)).AddTo(field)
	if r.Failure == nil {
		field.AddInt64("remaining", r.Remaining())
	} else {
		field.AddString("reason", stores.Cause(r.Failure))
	}
	return nil
}

// Interface guards.
var (
	_ zapcore.ObjectMarshaler = (*accessLogField)(nil)
	_ zapcore.ObjectMarshaler = (*loggedResult)(nil)
)
