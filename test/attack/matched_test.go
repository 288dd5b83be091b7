package attack

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// webSocket3 is a request for a WebSocket in HTTP/3, which the proxy sends upstream as a GET.
func webSocket3(target string) request {
	return request{method: "CONNECT", target: target, host: "a", header: []field{{":protocol", "websocket"}}}
}

// A request that the upstream gets as a GET is at the endpoints of GET, has the key of a GET, and is selected
// by a match of GET. A server that knows no WebSockets there answers it like any other GET.
func TestWebSocketOfHTTP3IsGet(t *testing.T) {
	for _, test := range []struct {
		name, zone string
		want       int // requests of each kind that reach the upstream: first WebSockets, then GET
	}{
		{"endpoint", "key {client_ip}\n endpoint GET /search 3/1h", limit},
		{"endpoint of CONNECT", "key {client_ip}\n endpoint CONNECT /search 3/1h", 2 * limit},
		{"key", "key {method}\n limit 3/1h", limit},
		{"match method", "match {\n method GET\n }\n key {client_ip}\n limit 3/1h", limit},
		{"match header", "match {\n header Connection *Upgrade*\n header Upgrade websocket\n }\n key all\n limit 3/1h", 2 * limit},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := newUpstream(func(r *http.Request) []string { return []string{r.Method + " " + r.URL.Path} })
			g := serve(t, "rate_limit {\n zone z {\n"+test.zone+"\n }\n }", u.ServeHTTP)
			do := http3Client(t, g)
			for range limit + 3 {
				do(webSocket3("/search"))
			}
			for range limit {
				do(request{method: "GET", target: "/search", host: "a"})
			}
			if seen := u.count("GET /search"); seen != test.want {
				t.Errorf("requests at the upstream = %d, want %d", seen, test.want)
			}
		})
	}
}

// HTTP/2 and HTTP/3 deliver spaces around the value of a header, which the proxy removes.
func TestSpellingsOfMatchedHeaderShareCount(t *testing.T) {
	for name, match := range map[string]string{
		"header":        "header X-Plan free",
		"header_regexp": "header_regexp X-Plan ^free$",
		"vars":          "vars {http.request.header.X-Plan} free",
		"expression":    "expression {header.X-Plan}==\"free\"",
		"not":           "not {\n not header X-Plan free\n }",
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(func(r *http.Request) []string { return []string{r.Header.Get("X-Plan")} })
			g := serve(t, "rate_limit {\n zone z {\n match {\n "+match+"\n }\n key {client_ip}\n limit 3/1h\n }\n }", u.ServeHTTP)
			for protocol, do := range protocols(t, g) {
				for n := range limit + 1 {
					do(get("/", field{"X-Plan", spaces(n) + "free"}))
					do(get("/", field{"X-Plan", "free" + spaces(n)}))
				}
				if seen := u.count("free"); seen > limit {
					t.Errorf("%s: requests at the upstream = %d, want at most %d", protocol, seen, limit)
				}
			}
			if seen := u.count("free"); seen != limit {
				t.Errorf("requests at the upstream = %d, want %d", seen, limit)
			}
		})
	}
}

// Servers ignore the case of a method.
func TestSpellingsOfMatchedMethodShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string { return []string{strings.ToUpper(r.Method)} })
	g := serve(t, "rate_limit {\n zone z {\n match {\n method POST\n }\n key {client_ip}\n limit 3/1h\n }\n }", u.ServeHTTP)
	for protocol, do := range protocols(t, g) {
		for _, method := range []string{"POST", "post", "Post", "pOST"} {
			do(request{method: method, target: "/", host: "a"})
			do(request{method: method, target: "/", host: "a"})
		}
		if seen := u.count("POST"); seen > limit {
			t.Errorf("%s: requests at the upstream = %d, want at most %d", protocol, seen, limit)
		}
	}
}

// An expression may read the query with Caddy's own matcher.
func TestSpellingsOfQueryInExpressionShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string { return []string{r.URL.Path} })
	g := serve(t, `rate_limit {
		zone login {
			match {
				expression "query({'action': 'login'})"
			}
			key    {client_ip}
			limit  3/1h
		}
	}`, u.ServeHTTP)
	do := http1(g)
	for _, query := range []string{"action=login", "action=login&;", "x;action=login", "action=login&x=%zz"} {
		do(request{method: "POST", target: "/?" + query, host: "a"})
	}
	if seen := u.count("/"); seen != limit {
		t.Errorf("requests at the upstream = %d, want %d", seen, limit)
	}
}

// A target without a path, as in GET http://example.com, is / to the upstream. One zone of many matches it,
// too.
func TestNoPathIsSlash(t *testing.T) {
	var many strings.Builder
	for i := range 12 {
		fmt.Fprintf(&many, "zone other%d {\n match {\n path /other%[1]d\n }\n key all\n limit 1/1h\n }\n", i)
	}
	for name, zones := range map[string]string{
		"endpoint":      "zone z {\n key {client_ip}\n endpoint GET / 3/1h\n }",
		"match":         "zone z {\n match {\n path /\n }\n key {client_ip}\n limit 3/1h\n }",
		"match of many": "zone z {\n match {\n path /*\n }\n key {client_ip}\n limit 3/1h\n }\n" + many.String(),
		"key":           "zone z {\n key {path}\n on_missing_key skip\n limit 3/1h\n }",
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(func(r *http.Request) []string { return []string{r.URL.Path} })
			g := serve(t, "rate_limit {\n"+zones+"\n }", u.ServeHTTP)
			do := http1(g)
			for _, target := range []string{"http://a", "http://a?x=1", "https://a:80", "x:?y", "x:", "/", "/?x=1"} {
				do(request{method: "GET", target: target, host: "a"})
			}
			if seen := u.count("/"); seen != limit {
				t.Errorf("requests at the upstream = %d, want %d", seen, limit)
			}
		})
	}
}

// Matchers that read a host as text see the host as servers do, just as the matcher host does.
func TestSpellingsOfHostAsTextShareCount(t *testing.T) {
	for name, match := range map[string]string{
		"header": "header Host login.example", "vars": "vars {host} login.example", "expression": "expression \"{host} == 'login.example'\"",
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(func(*http.Request) []string { return []string{"login"} })
			g := serve(t, "rate_limit {\n zone z {\n match {\n "+match+"\n }\n key {client_ip}\n limit 3/1h\n }\n }", u.ServeHTTP)
			for _, do := range protocols(t, g) {
				for _, host := range []string{"login.example", "LOGIN.example", "login.example.", "Login.Example."} {
					do(to(host))
				}
			}
			if seen := u.count("login"); seen != limit {
				t.Errorf("requests at the upstream = %d, want %d", seen, limit)
			}
		})
	}
}
