package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A rejection names the endpoint whose limit was hit: in both bodies, and to error routes. If the limit of
// the zone rejects the request, the rejection names no endpoint, wherever the request is. The upstream asks
// the gateway again, so that the second request is rejected while the first one is in flight.
func TestRejectionNamesEndpoint(t *testing.T) {
	for style, read := range map[string]func(body string) (message, endpoint any){
		"json": func(body string) (message, endpoint any) {
			var b struct {
				Error struct {
					Message string
					Details map[string]any
				}
			}
			if err := json.Unmarshal([]byte(body), &b); err != nil {
				t.Errorf("%s: %v", body, err)
			}
			return b.Error.Message, b.Error.Details["endpoint"]
		},
		"problem": func(body string) (message, endpoint any) {
			var b map[string]any
			if err := json.Unmarshal([]byte(body), &b); err != nil {
				t.Errorf("%s: %v", body, err)
			}
			return b["detail"], b["endpoint"]
		},
	} {
		t.Run(style, func(t *testing.T) {
			var g *gateway
			again := upstream(t, func(w http.ResponseWriter, r *http.Request) {
				second := r.Clone(r.Context())
				second.URL.Scheme, second.URL.Host, second.RequestURI = "http", g.addr, ""
				if response, err := http.DefaultTransport.RoundTrip(second); err == nil {
					_, _ = io.Copy(w, response.Body)
					_ = response.Body.Close()
				}
			})
			site := func(style string) string {
				return "rate_limit {\nreject " + style + `
				zone user {
					key {path}
					limit 1/1h
					endpoint /login 1/1h
					endpoint /blocked block
					endpoint "/quote\"d" 1/1h
					endpoint GET /export {
						limit unlimited
						concurrent 1
					}
					endpoint /cheap {
						cost 1
					}
				}
			}
			reverse_proxy ` + again + `
			handle_errors {
				respond "hit {http.rate_limit.exceeded.endpoint}."
			}`
			}
			g = serve(t, site(style))
			const hour, at = "Rate limit of 1 request per hour exceeded", " at "
			want := map[string]string{
				"/login": "/login", "/blocked": "/blocked", "/quote%22d": `/quote"d`, "/export": "GET /export", "/cheap": "", "/other": "",
			}
			messages := map[string]string{"/blocked": "Requests are blocked", "/export": "Limit of 1 concurrent request exceeded"}
			for path, name := range want {
				message := messages[path]
				if message == "" {
					message = hour
				}
				var endpoint any
				if name != "" {
					message, endpoint = message+at+name, name
				}
				if gotMessage, got := read(g.get(path).body); gotMessage != message || got != endpoint {
					t.Errorf("%s: %q at %v, want %q at %v", path, gotMessage, got, message, endpoint)
				}
			}
			g.reload(site("error"))
			for path, name := range want {
				if body := g.get(path).body; !strings.Contains(body, "hit "+name+".") {
					t.Errorf("the error route at %s answers %q, want that it hit %q", path, body, name)
				}
			}
		})
	}
}
