package integration

import (
	"strconv"
	"strings"
	"testing"
)

// forbidding is a handler with all three ways to answer 403, by the header of the request.
func forbidding(settings string) string {
	return `
		rate_limit {
			deny 192.0.2.66
			zone user {
				key {header.X-User}
				on_missing_key deny
				deny_key bad_*
				limit 5/1h
			}
			` + settings + `
		}
	`
}

var forbidden = []struct{ reason, header, message, zone string }{
	{"denied_address", "X-Forwarded-For: 192.0.2.66", "The client's address is denied", ""},
	{"denied_key", "X-User: bad_1", "The key is denied", "user"},
	{"missing_key", "X-Other: 1", "The request has no key", "user"},
}

func TestForbiddenHasBody(t *testing.T) {
	g := serve(t, forbidding("")+`respond "hello"`)
	for _, f := range forbidden {
		r := g.get("/", f.header).is(403).has("Content-Type", "application/json").has("Cache-Control", "no-store").
			has("Server", "Caddy").lacks("Retry-After").lacks("X-RateLimit-Limit")
		for _, want := range []string{`"code":"FORBIDDEN"`, `"message":"` + f.message + `"`, `"reason":"` + f.reason + `"`} {
			if !strings.Contains(r.body, want) {
				t.Errorf("%s: body = %s, want %s in it", f.reason, r.body, want)
			}
		}
	}
}

func TestForbiddenInvokesErrorRoutes(t *testing.T) {
	g := serve(t, forbidding("reject error")+`
		respond "hello"
		handle_errors 403 {
			respond "{err.status_code} {err.message} in [{http.rate_limit.exceeded.name}]"
		}
	`)
	for _, f := range forbidden {
		r := g.get("/", f.header).is(403).has("Cache-Control", "no-store").lacks("Retry-After")
		if want := "403 " + f.message + " in [" + f.zone + "]"; r.body != want {
			t.Errorf("body = %q, want %q", r.body, want)
		}
	}
}

// The log has the client behind a proxy and the path that the client requested, without its query.
func TestForbiddenIsLogged(t *testing.T) {
	g := serve(t, "uri strip_prefix /api\n"+forbidding("log_key")+"respond hello")
	for _, f := range forbidden {
		headers := []string{f.header}
		if f.reason != "denied_address" {
			headers = append(headers, "X-Forwarded-For: 192.0.2.7")
		}
		g.get("/api/v1?token=secret", headers...).is(403)
	}
	lines := g.logged("request denied")
	if len(lines) != len(forbidden) {
		t.Fatalf("lines = %v, want %d", lines, len(forbidden))
	}
	for i, f := range forbidden {
		want := map[string]any{
			"level": "info", "reason": f.reason, "status": 403.0, "remote_ip": "127.0.0.1", "client_ip": "192.0.2.7",
			"method": "GET", "host": g.addr, "path": "/api/v1", "zone": nil, "key": nil, "key_hash": nil,
		}
		switch f.reason {
		case "denied_address":
			want["client_ip"] = "192.0.2.66"
		case "denied_key":
			want["key"], want["key_hash"] = "bad_1", "3d0949c5913c"
		}
		if f.zone != "" {
			want["zone"] = f.zone
		}
		for name, value := range want {
			if lines[i][name] != value {
				t.Errorf("%s: %s = %v, want %v", f.reason, name, lines[i][name], value)
			}
		}
	}
}

// Every key of a flood may be denied, and every request without a key is.
func TestFloodOfForbiddenDoesNotFloodLog(t *testing.T) {
	const requests = 100
	g := serve(t, forbidding("")+"respond hello")
	for i := range requests {
		g.get("/", "X-User: bad_"+strconv.Itoa(i)).is(403)
	}
	if n := len(g.logged("request denied")); n < 10 || n > requests/2 {
		t.Errorf("lines of %d requests = %d, want 10 a second", requests, n)
	}
}
