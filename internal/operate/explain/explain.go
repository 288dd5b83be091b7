// Package explain tells what would happen to a request, and why: it makes a request as a client could
// send it, and sends it through the routes of a server, in which no handler runs.
package explain

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/caddyread/reach"
)

// Limits are the rate_limit handlers of a configuration.
type Limits interface {
	// Is reports whether h is one of them.
	Is(h caddyhttp.MiddlewareHandler) bool

	// Describe returns where h is in the Caddyfile, and the names of its zones.
	Describe(h caddyhttp.MiddlewareHandler) (place string, zones []string)

	// Hosts returns the hosts of the sites of a server that have such a handler. There are none if a
	// site is for all hosts. limited is false if there is no such site.
	Hosts(server *caddyhttp.Server) (hosts []string, limited bool)

	// Explain returns what h would decide about r, and a function that answers it or calls next.
	Explain(h caddyhttp.MiddlewareHandler, r *http.Request) (api.ExplainedHandler, Answer)
}

// An Answer answers a request, or hands it on to next.
type Answer func(w http.ResponseWriter, next caddyhttp.Handler) error

// Explain returns what would happen to a request to one of the servers of app. Its error is a mistake
// in what was asked. The caller completes the answer by the version of the rules.
func Explain(ctx context.Context, app *caddyhttp.App, limits Limits, asked *api.ExplainRequest) (*api.Explanation, error) {
	sent, err := newRequest(app, limits, asked)
	if err != nil {
		return nil, err
	}
	w, repl := newResponse(), caddy.NewReplacer()
	r := caddyhttp.PrepareRequest(sent.http.WithContext(ctx), repl, w, sent.server)
	v := visitor{limits: limits, sent: sent, answer: sent.describe(r)}
	sent.provideBefore(r, repl)
	trace, err := reach.Send(sent.server, w, r, &v)
	if err != nil {
		return nil, err
	}
	v.describeMissed(trace)
	v.describeUnknown(trace)
	v.answer.Response = v.response(trace, w)
	return v.answer, nil
}

// A visitor completes the answer while the request is on its way.
type visitor struct {
	limits Limits
	sent   *request
	answer *api.Explanation
}

// Wants implements reach.Visitor.
func (v *visitor) Wants(h caddyhttp.MiddlewareHandler) bool { return v.limits.Is(h) }

// Visit implements reach.Visitor.
func (v *visitor) Visit(h caddyhttp.MiddlewareHandler, w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	explained, answer := v.limits.Explain(h, r)
	v.answer.Handlers = append(v.answer.Handlers, explained)
	return answer(w, next)
}

// Pass implements reach.Visitor.
func (v *visitor) Pass(r *http.Request) { v.sent.provideAfter(r) }

func (v *visitor) describeMissed(trace *reach.Trace) {
	for _, m := range trace.Missed {
		place, zones := v.limits.Describe(m.Handler)
		v.answer.Missed = append(v.answer.Missed, api.MissedHandler{Place: place, Zones: zones, Why: v.why(&m)})
	}
}

// why says why the request does not come to a handler.
func (v *visitor) why(m *reach.Miss) string {
	switch {
	case m.Matchers != nil:
		return "its route is for other requests: " + reach.Describe(m.Matchers)
	case m.Grouped:
		return "another route of the same group, such as a `handle` before it, has got the request"
	case m.OfErrors:
		return "it is in error routes, and there is no error"
	case m.By == nil:
		return "the routes end before it"
	case v.limits.Is(m.By):
		place, _ := v.limits.Describe(m.By)
		return "rate_limit answers before it, at " + place
	}
	return reach.Directive(m.By) + " answers before it"
}

// describeUnknown says what is not known of the request because handlers do not run.
func (v *visitor) describeUnknown(trace *reach.Trace) {
	add := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(v.answer.Unknown, text) {
			v.answer.Unknown = append(v.answer.Unknown, text)
		}
	}
	for _, h := range trace.Unknown {
		add("%s may answer the request, or change it: it does not run here", reach.Directive(h))
	}
	for _, name := range v.sent.unset() {
		add("{%s} has no value, because the request passes no handler that could provide it", name)
	}
	for _, h := range v.answer.Handlers {
		for _, z := range h.Zones {
			for _, read := range z.Values {
				if read.Unknown {
					add("%s is empty, because no handler provides it here: use --set to give it a value", read.Placeholder)
				}
			}
		}
	}
	for _, name := range v.sent.dropped {
		add("the header %s is not in the request, because Caddy drops names with _ and .", name)
	}
}

// response describes what the client gets.
func (v *visitor) response(trace *reach.Trace, w *response) api.ExplainedResponse {
	answer := api.ExplainedResponse{Status: w.status}
	switch {
	case w.status != 0:
	case trace.Failed != nil:
		answer.Status = statusOfError(trace.Failed)
	case trace.By == nil:
		answer.Status = http.StatusOK
	}
	if trace.By != nil {
		answer.By = reach.Directive(trace.By)
	}
	if trace.By != nil && v.limits.Is(trace.By) {
		answer.Place, _ = v.limits.Describe(trace.By)
	}
	if h := v.answer.Handlers; slices.ContainsFunc(h, answers) {
		answer.Headers, answer.Body = make(map[string]string), w.body.String()
		for name, values := range w.header {
			answer.Headers[name] = strings.Join(values, ", ")
		}
		if !answers(h[len(h)-1]) { // it admits the request in error routes: the header is as before that
			delete(answer.Headers, "Ratelimit")
		}
	}
	return answer
}

// answers reports whether a handler rejects or refuses the request.
func answers(h api.ExplainedHandler) bool { return h.Status != 0 }
