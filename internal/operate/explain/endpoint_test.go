package explain

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddytls"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// sites are the hosts of the limited sites of servers.
type sites map[*caddyhttp.Server][]string

func (sites) Is(caddyhttp.MiddlewareHandler) bool { return false }

func (sites) Describe(caddyhttp.MiddlewareHandler) (string, []string) { return "", nil }

func (s sites) Hosts(server *caddyhttp.Server) ([]string, bool) {
	hosts, limited := s[server]
	return hosts, limited
}

func (sites) Explain(caddyhttp.MiddlewareHandler, *http.Request) (api.ExplainedHandler, Answer) {
	return api.ExplainedHandler{}, nil
}

func TestEndpoint(t *testing.T) {
	policies := caddytls.ConnectionPolicies{new(caddytls.ConnectionPolicy)}
	secure := &caddyhttp.Server{Listen: []string{":443"}, TLSConnPolicies: policies}
	plain := &caddyhttp.Server{Listen: []string{":80"}, TLSConnPolicies: policies}
	inner := &caddyhttp.Server{Listen: []string{"127.0.0.1:8080-8081"}}
	app := &caddyhttp.App{Servers: map[string]*caddyhttp.Server{"secure": secure, "plain": plain, "inner": inner}}
	one, two := sites{secure: {"a.example"}}, sites{secure: {"a.example", "b.example"}, inner: nil}
	for _, test := range []struct {
		limits sites
		asked  api.ExplainRequest
		want   string // the server, whether it has TLS, and the request; or a part of the error
	}{
		{one, api.ExplainRequest{}, "secure true a.example/"},
		{one, api.ExplainRequest{URI: "http://c.example/x?y=1"}, "plain false c.example/x?y=1"},
		{one, api.ExplainRequest{URI: "https://c.example/x"}, "secure true c.example/x"},
		{one, api.ExplainRequest{URI: "https://c.example/x", Host: "d.example"}, "secure true d.example/x"},
		{one, api.ExplainRequest{Server: "inner"}, "inner false localhost/"},
		{one, api.ExplainRequest{Host: "c.example:8081"}, "inner false c.example:8081/"},
		{one, api.ExplainRequest{Host: "c.example:8082"}, "use one of inner (127.0.0.1:8080-8081), plain (:80), secure (:443)"},
		{one, api.ExplainRequest{Headers: map[string][]string{"host": {"e.example"}}}, "secure true e.example/"},
		{two, api.ExplainRequest{}, "several servers could get the request"},
		{two, api.ExplainRequest{Server: "secure"}, `use a request to one of ["a.example" "b.example"]`},
		{two, api.ExplainRequest{Server: "inner"}, "inner false localhost/"},
		{sites{secure: {"*.example"}}, api.ExplainRequest{}, `use a request to one of ["*.example"]`},
		{nil, api.ExplainRequest{}, "no server with rate_limit gets the request"},
	} {
		r, err := newRequest(app, test.limits, &test.asked)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s %t %s%s", r.name, r.http.TLS != nil, r.http.Host, r.http.RequestURI)
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%+v goes to %s, want %s", test.asked, got, test.want)
		}
	}
}
