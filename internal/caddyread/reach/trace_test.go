package reach

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/encode"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
)

// A visitor records the handlers to which it comes. Its limit "rejects" fails with 429.
type visitor struct{ came []string }

func (*visitor) Wants(h caddyhttp.MiddlewareHandler) bool { _, is := h.(*limit); return is }

func (v *visitor) Visit(h caddyhttp.MiddlewareHandler, w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	name := h.(*limit).name
	v.came = append(v.came, name+" "+r.URL.Path)
	if name == "rejects" {
		return caddyhttp.Error(http.StatusTooManyRequests, errors.New("rejected"))
	}
	return next.ServeHTTP(w, r)
}

func (v *visitor) Pass(*http.Request) { v.came = append(v.came, "unknown") }

// String describes a miss.
func (m Miss) String() string {
	name := m.Handler.(*limit).name
	switch {
	case m.Matchers != nil:
		return name + " needs " + Describe(m.Matchers)
	case m.Grouped:
		return name + " is not the first of its group"
	case m.OfErrors:
		return name + " is for errors"
	case m.By != nil:
		return name + " is after " + Directive(m.By)
	}
	return name + " is after the end"
}

func TestSend(t *testing.T) {
	rejects := &limit{"rejects"}
	strip := &rewrite.Rewrite{StripPathPrefix: "/music"}
	ctx, cancel := caddy.NewContext(caddy.Context{Context: t.Context()})
	defer cancel()
	if err := strip.Provision(ctx); err != nil {
		t.Fatal(err)
	}
	forwardAuth := &reverseproxy.Handler{HandleResponse: []caddyhttp.ResponseHandler{{}}}
	terminal := matched(music, zone)
	terminal.Terminal = true
	withErrors := in(route(rejects), route(other))
	withErrors.Errors = &caddyhttp.HTTPErrorConfig{Routes: caddyhttp.RouteList{route(zone), route(respond)}}
	ofErrors := caddyhttp.RouteList{route(other), route(respond)}
	for name, tc := range map[string]struct {
		routes, errors caddyhttp.RouteList
		came           []string
		missed         []string
		by             string
		status         int // of an error; 0 if there is none
	}{
		"all": {
			routes: caddyhttp.RouteList{route(zone, other), matched(music, respond)},
			came:   []string{"zone /music/1", "other /music/1"}, by: "respond or redir",
		},
		"nothing answers": {routes: caddyhttp.RouteList{route(zone)}, came: []string{"zone /music/1"}},
		"other requests": {
			routes: caddyhttp.RouteList{matched(host, zone), route(in(matched(music, other)))},
			came:   []string{"other /music/1"}, missed: []string{`zone needs host ["a.example"]`},
		},
		"after an answer": {
			routes: caddyhttp.RouteList{matched(music, proxy), route(zone), matched(host, other)},
			missed: []string{"zone is after reverse_proxy", `other needs host ["a.example"]`}, by: "reverse_proxy",
		},
		"in a group": {
			routes: caddyhttp.RouteList{handle(music, zone), handle(nil, other)},
			came:   []string{"zone /music/1"}, missed: []string{"other is not the first of its group"},
		},
		"after the last": {
			routes: caddyhttp.RouteList{terminal, route(other)},
			came:   []string{"zone /music/1"}, missed: []string{"other is after the end"},
		},
		"after handle_path": {
			routes: caddyhttp.RouteList{handle(music, strip, zone), route(other)}, came: []string{"zone /1", "other /1"},
		},
		"named": {
			routes: caddyhttp.RouteList{route(&caddyhttp.Invoke{Name: "n"}, &caddyhttp.Invoke{Name: "none"}), route(other)},
			came:   []string{"zone /music/1", "other /music/1"},
		},
		"after authentication": {
			routes: caddyhttp.RouteList{route(new(encode.Encode), new(caddyauth.Authentication), zone, forwardAuth, other, respond)},
			came:   []string{"unknown", "zone /music/1", "unknown", "other /music/1"}, by: "respond or redir",
		},
		"rejected": {
			routes: caddyhttp.RouteList{route(rejects), route(zone)}, errors: caddyhttp.RouteList{matched(host, other)},
			came: []string{"rejects /music/1"}, missed: []string{"zone is after a handler", `other needs host ["a.example"]`},
			by: "a handler", status: http.StatusTooManyRequests,
		},
		"rejected to error routes": {
			routes: caddyhttp.RouteList{route(strip, rejects), route(zone)}, errors: ofErrors,
			came: []string{"rejects /1", "other /music/1"}, missed: []string{"zone is after a handler"}, by: "respond or redir",
		},
		"rejected to nested error routes": {
			routes: caddyhttp.RouteList{route(withErrors)}, errors: ofErrors[1:],
			came: []string{"rejects /music/1", "zone /music/1"}, missed: []string{"other is after a handler"}, by: "respond or redir",
		},
		"in error routes": {
			routes: caddyhttp.RouteList{route(zone)}, errors: ofErrors, came: []string{"zone /music/1"},
			missed: []string{"other is for errors"},
		},
	} {
		server := &caddyhttp.Server{
			Routes: tc.routes, Errors: &caddyhttp.HTTPErrorConfig{Routes: tc.errors},
			NamedRoutes: map[string]*caddyhttp.Route{"n": {Handlers: handlers{zone, &caddyhttp.Invoke{Name: "n"}}}},
		}
		w, v := httptest.NewRecorder(), new(visitor)
		r := caddyhttp.PrepareRequest(httptest.NewRequest("GET", "/music/1", nil), caddy.NewReplacer(), w, server)
		trace, err := Send(server, w, r, v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var missed []string
		for _, m := range trace.Missed {
			missed = append(missed, m.String())
		}
		by, status := "", 0
		if trace.By != nil {
			by = Directive(trace.By)
		}
		if failed := (caddyhttp.HandlerError{}); errors.As(trace.Failed, &failed) {
			status = failed.StatusCode
		}
		if !slices.Equal(v.came, tc.came) || !slices.Equal(missed, tc.missed) || by != tc.by || status != tc.status {
			t.Errorf("%s: came to %q, missed %q, answered by %q with the error %d; want %q, %q, %q, %d",
				name, v.came, missed, by, status, tc.came, tc.missed, tc.by, tc.status)
		}
	}
}
