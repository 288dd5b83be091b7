package attack

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// resources returns the paths that servers may read in a request. It is as lenient as any server: it cuts
// parameters before or after decoding, drops what may be a host, cleans the path, and ignores case.
func resources(r *http.Request) (read []string) {
	target := r.RequestURI
	if i := strings.IndexAny(target, "?#"); i >= 0 {
		target = target[:i]
	}
	starts := []string{target}
	if rest := strings.TrimLeft(target, "/\\"); len(rest) < len(target)-1 {
		_, host, _ := strings.Cut(rest, "/")
		_, decoded, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(rest), "%2f", "/"), "/")
		starts = append(starts, "/"+host, "/"+decoded)
	}
	for _, start := range starts {
		for _, p := range []string{start, withoutParameters(start)} {
			for range 2 { // some servers decode twice
				p = strings.ReplaceAll(unescape(p), `\`, "/")
				read = append(read, path.Clean(p), path.Clean(withoutParameters(p)))
			}
		}
	}
	for i := range read {
		read[i] = strings.ToLower(read[i])
	}
	return read
}

func withoutParameters(p string) string {
	segments := strings.Split(p, "/")
	for i := range segments {
		segments[i], _, _ = strings.Cut(segments[i], ";")
	}
	return strings.Join(segments, "/")
}

func unescape(p string) string {
	if decoded, err := url.PathUnescape(p); err == nil {
		return decoded
	}
	return p
}

// spelledPaths are ways to write /login.
var spelledPaths = []string{
	"/login", "/login/", "/login//", "//login", "/LOGIN", "/Login/", "/login;a", "/login;a=1;b=2", "/login;/", "/login/;a", "/;a/login",
	"/login/.", "/./login", "/x/../login", "/x/..;a/login", "/login/x/..", "/login/x;a/..", "/%6cogin", "/login%2f", "/login%3ba",
	"/%2flogin", "/login?x=1", "/login/?x=1", "/login/.;a/", "/.;/login", "/login;%2f", "/login;%2fx", "/;%2fx/login", "/%6cogin;a%2fb",
	"//x/login", "///x/login", "//x%2flogin", "//x/%6cogin;a", "/public/..;/login", "/public/../login", "/public/%2e%2e/login", "/public/..%2flogin",
	"/public/%252e%252e/login", "/public%2f..%2flogin", "/public/%2e%2e%2flogin", "/public%5c..%5clogin", "/api//../login",
	"/public;/../login", "/public/.%2e/login", "/%2e/login", "/;/;/login", "/login%3b%2fx", "/x;/../login", "/%2f%2flogin", "/login%5c",
}

// A login form is protected as the docs recommend. The server behind it accepts every spelling of its path.
// Another endpoint has a higher limit, and no spelling of the login's path gets that limit.
func TestSpellingsOfEndpointShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string {
		if strings.EqualFold(r.Method, "POST") && slices.Contains(resources(r), "/login") {
			return []string{"login"}
		}
		return nil
	})
	g := serve(t, `rate_limit {
		zone login {
			key {client_ip}
			endpoint POST /login 3/1h sliding_window_log
			endpoint /public/* 1000/1h
		}
	}`, u.ServeHTTP)
	for range limit {
		if status := http1(g)(request{method: "POST", target: "/login", host: "a"}); status != http.StatusOK {
			t.Fatalf("a login within the limit: status %d, want 200", status)
		}
	}
	for protocol, do := range protocols(t, g) {
		for _, target := range spelledPaths {
			for _, method := range []string{"POST", "post", "Post"} {
				do(request{method: method, target: target, host: "a"})
				if seen := u.count("login"); seen > limit {
					t.Fatalf("%s: %s %s passes the limit of logins", protocol, method, target)
				}
			}
		}
	}
}

// A zone that matches a path with match sees all spellings of the path, too.
func TestSpellingsOfMatchShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string {
		if slices.Contains(resources(r), "/login") {
			return []string{"login"}
		}
		return nil
	})
	g := serve(t, `rate_limit {
		zone login {
			match {
				path /login /login/*
			}
			key    {client_ip}
			limit  3/1h
		}
	}`, u.ServeHTTP)
	for protocol, do := range protocols(t, g) {
		for _, target := range spelledPaths {
			do(request{method: "POST", target: target, host: "a"})
			if seen := u.count("login"); seen > limit {
				t.Fatalf("%s: %s passes the limit of logins", protocol, target)
			}
		}
	}
	if seen := u.count("login"); seen != limit {
		t.Errorf("%d logins, want %d", seen, limit)
	}
}

// A zone that matches a host sees all spellings that servers take for that host, even if it is one zone of
// many.
func TestSpellingsOfMatchedHostShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string {
		host, _, _ := strings.Cut(strings.ToLower(r.Host), ".:")
		return []string{strings.TrimRight(host, ".")}
	})
	others := ""
	for i := range 12 {
		others += fmt.Sprintf("zone other%d {\n match {\n host other%d.example\n }\n key all\n limit 1/1h\n }\n", i, i)
	}
	for i, rest := range []string{"", others} {
		g := serve(t, `rate_limit {
			zone host`+strconv.Itoa(i)+` {
				match {
					host login.example 2001:db8::1
				}
				key    {host}
				limit  3/1h
			}
			`+rest+`
		}`, u.ServeHTTP)
		before := map[string]int{"login.example": u.count("login.example"), "[2001:db8::1]": u.count("[2001:db8::1]")}
		for protocol, do := range protocols(t, g) {
			for _, host := range []string{
				"login.example", "login.example.", "LOGIN.example..", "login.example.:80", "[2001:db8::1]", "[2001:db8::1%1]", "[2001:db8::1%252]",
			} {
				for range limit + 1 {
					do(to(host))
				}
				for plain, earlier := range before {
					if seen := u.count(plain) - earlier; seen > limit {
						t.Fatalf("%s: %s passes the limit of %s: requests at the upstream = %d", protocol, host, plain, seen)
					}
				}
			}
		}
		for plain, earlier := range before {
			if seen := u.count(plain) - earlier; seen != limit {
				t.Errorf("requests of %s at the upstream = %d, want %d", plain, seen, limit)
			}
		}
		g.stop(t)
	}
}

// A mistake in a query hides no parameter of the query from a zone that matches one.
func TestSpellingsOfMatchedQueryShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string {
		if query := "&" + strings.ReplaceAll(r.URL.RawQuery, ";", "&") + "&"; strings.Contains(query, "&action=login&") {
			return []string{"login"}
		}
		return []string{"other"}
	})
	g := serve(t, `rate_limit {
		zone login {
			match {
				query action=login
			}
			key    {client_ip}
			limit  3/1h
		}
	}`, u.ServeHTTP)
	for protocol, do := range protocols(t, g) {
		for _, query := range []string{
			"action=login", "action=login&;", "x;action=login", "action=login;x", "action=login&x=%zz", "%&action=login", "action=login&x=%2",
			"a=%2f%zz;&action=login", "action=login" + strings.Repeat("&x", 10_001), "action=login" + strings.Repeat(";", 10_001),
		} {
			do(request{method: "POST", target: "/?" + query, host: "a"})
			if seen := u.count("login"); seen > limit {
				t.Fatalf("%s: %.50s passes the limit of logins", protocol, query)
			}
		}
		for _, query := range []string{"", "action=logins;x", "q=100%", "q=action=login;%zz"} {
			before := u.count("other")
			if status := do(request{method: "POST", target: "/?" + query, host: "a"}); status != http.StatusOK || u.count("other") != before+1 {
				t.Errorf("%s: status of %q = %d, want 200", protocol, query, status)
			}
		}
	}
	if seen := u.count("login"); seen != limit {
		t.Errorf("%d logins, want %d", seen, limit)
	}
}

// A path that goes on after the name of a script is that script with a PATH_INFO, and counts at its endpoint.
func TestPathInfoSharesCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string {
		for _, p := range resources(r) {
			if p == "/login.php" || strings.HasPrefix(p, "/login.php/") {
				return []string{"login"}
			}
		}
		return nil
	})
	g := serve(t, `rate_limit {
		zone login {
			key {client_ip}
			limit 1000/1h
			endpoint /login.php 3/1h
		}
	}`, u.ServeHTTP)
	for protocol, do := range protocols(t, g) {
		for _, target := range []string{
			"/login.php", "/login.php/x", "/login.php/x/y", "/Login.PHP/x", "/login.php%2fx", "/login.php;a/x", "//login.php/x", "//h/login.php/x",
			"/login.php/;x", "/login%2ephp/x", "/login.php//x",
		} {
			do(request{method: "POST", target: target, host: "a"})
			if seen := u.count("login"); seen > limit {
				t.Fatalf("%s: %s passes the limit of logins", protocol, target)
			}
		}
	}
	if seen := u.count("login"); seen != limit {
		t.Errorf("%d logins, want %d", seen, limit)
	}
}
