package attack

import (
	"net/http"
	"path"
	"strings"
	"testing"
)

// A login form is protected as the docs recommend. The server behind accepts every spelling of it.
func TestSpellingsOfEndpointShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string {
		var segments []string
		for segment := range strings.SplitSeq(strings.ToLower(r.URL.Path), "/") {
			segment, _, _ = strings.Cut(segment, ";")
			segments = append(segments, segment)
		}
		if strings.EqualFold(r.Method, "POST") && path.Clean(strings.Join(segments, "/")) == "/login" {
			return []string{"login"}
		}
		return nil
	})
	g := serve(t, `rate_limit {
		zone login {
			key {client_ip}
			endpoint POST /login 3/1h sliding_window_log
		}
	}`, u.ServeHTTP)
	for range limit {
		if status := http1(g)(request{method: "POST", target: "/login", host: "a"}); status != http.StatusOK {
			t.Fatalf("a login within the limit: status %d, want 200", status)
		}
	}
	for protocol, do := range protocols(t, g) {
		for _, target := range []string{
			"/login", "/login/", "/login//", "//login", "/LOGIN", "/Login/", "/login;a", "/login;a=1;b=2", "/login;/", "/login/;a", "/;a/login",
			"/login/.", "/./login", "/x/../login", "/x/..;a/login", "/login/x/..", "/login/x;a/..", "/%6cogin", "/login%2f", "/login%3ba",
			"/%2flogin", "/login?x=1", "/login/?x=1", "/login/.;a/", "/.;/login", "/login;%2f",
		} {
			for _, method := range []string{"POST", "post", "Post"} {
				do(request{method: method, target: target, host: "a"})
				if seen := u.count("login"); seen > limit {
					t.Fatalf("%s: %s %s passes the limit of logins", protocol, method, target)
				}
			}
		}
	}
}
