package integration

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The log says at the start where a handler before a zone may change a path that the zone names. It says
// nothing about a path that no handler changes, or that cannot come to the zone.
func TestRewrittenPathsAreSaid(t *testing.T) {
	const endpoint = "rate_limit {\nzone user {\nkey {header.X-User}\nlimit 5/1h\nendpoint %s 1/1h\n}\n}\n"
	const matching = "rate_limit {\nzone user {\nkey {header.X-User}\nlimit 5/1h\nmatch {\n%s\n}\n}\n}\n"
	const inAPI = "handle_path /api/* {\n%srespond ok\n}"
	const spa = "try_files {path} /index.html\n%srespond ok"
	for _, tc := range []struct {
		site, zone, named, want string // a part of the warning; "" if there is none
	}{
		{inAPI, endpoint, "GET /api/login", "handle_path or uri strip_prefix before rate_limit makes /login of it"},
		{inAPI, endpoint, "GET /api/*", "before rate_limit makes /x of it"},
		{inAPI, endpoint, "GET /*/login", "makes /login of it"},
		{inAPI, endpoint, "GET /login", ""},
		{inAPI, endpoint, "GET /apis/login", ""},
		{inAPI, endpoint, "GET */login", ""},
		{inAPI, endpoint, "GET *", ""},
		{inAPI, matching, "path /api/users/*", "makes /users/x of it"},
		{inAPI, matching, "path /users/*", ""},
		{"handle /api/* {\n%srespond ok\n}", endpoint, "GET /api/login", ""},
		{"handle_path /api/* {\nrespond ok\n}\n%srespond ok", endpoint, "GET /api/login", ""},
		{"uri strip_prefix /api\n%srespond ok", endpoint, "GET /api/login", "makes /login of it"},
		{"uri strip_suffix .html\n%srespond ok", endpoint, "GET *.html", "uri before rate_limit makes /x of it"},
		{"uri replace old new\n%srespond ok", endpoint, "GET /old/*", "uri before rate_limit makes /new/x of it"},
		{"uri query +a b\n%srespond ok", endpoint, "GET /old/*", ""},
		{spa, endpoint, "POST /login", "try_files or php_fastcgi before rate_limit makes /index.html of it"},
		{spa, endpoint, "POST /index.html", ""},
		{spa, endpoint, "*.html", ""},
		{spa, matching, "path /api/*", "makes /index.html of it"},
		{spa, matching, "not path /health", "match path /health may miss requests to /health"},
		{spa, matching, "path /api/*\nmethod POST", "makes /index.html of it"},
		{spa, matching, "method POST", ""},
		{"try_files {path} {path}/\n%srespond ok", endpoint, "POST /login", ""},
		{"@get method GET\nrewrite @get /index.html\n%srespond ok", endpoint, "POST /login", ""},
		{"@none not path /login\nrewrite @none /index.html\n%srespond ok", endpoint, "POST /login", ""},
		{"@none not path /login\nrewrite @none /index.html\n%srespond ok", endpoint, "POST /signin", "rewrite before rate_limit makes /index.html"},
		{"@spa header X-Spa *\nrewrite @spa /index.html\n%srespond ok", endpoint, "POST /login", "rewrite before rate_limit makes /index.html"},
		{"rewrite /old/* /new{uri}\n%srespond ok", endpoint, "GET /old/a", "rewrite before rate_limit makes /new/old/a"},
		{"rewrite /old/* /new{uri}\n%srespond ok", endpoint, "GET /new/*", ""},
		{"rewrite * ?{query}&a=b\n%srespond ok", endpoint, "GET /a", ""},
		{"route {\nphp_fastcgi /admin/* 127.0.0.1:1\n%srespond ok\n}", endpoint, "GET /admin/x", "try_files or php_fastcgi before rate_limit makes"},
		{"php_fastcgi 127.0.0.1:1\n%s", endpoint, "GET /login", ""},
		{"handle {\n%srespond ok\n}\nhandle_errors {\nrewrite * /error.html\nfile_server\n}", endpoint, "GET /a", ""},
		{"forward_auth 127.0.0.1:1 {\nuri /auth\n}\n%srespond ok", endpoint, "GET /a", ""},
	} {
		site := fmt.Sprintf(tc.site, fmt.Sprintf(tc.zone, tc.named))
		warnings := serve(t, site).logged("may miss requests to")
		switch {
		case tc.want == "" && len(warnings) > 0:
			t.Errorf("%s\nwarnings = %v, want none", site, warnings)
		case tc.want == "":
		case len(warnings) != 1 || !strings.Contains(fmt.Sprint(warnings[0]["msg"]), tc.want) || warnings[0]["zone"] != "user":
			t.Errorf("%s\nwarnings = %v, want one about zone user that says %q", site, warnings, tc.want)
		}
		original := strings.Replace(site, "limit 5/1h", "limit 5/1h\non_path original", 1)
		if warnings := serve(t, original).logged("may miss requests to"); len(warnings) > 0 {
			t.Errorf("%s\nwarnings = %v, want none", original, warnings)
		}
	}
}

// frontController starts an upstream that routes by the path that the client has sent, as index.php of
// Symfony, Laravel or WordPress does by REQUEST_URI.
func frontController(t *testing.T) (addr string) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s by %s", r.Header.Get("Request-Uri"), r.URL.Path)
	}))
	t.Cleanup(upstream.Close)
	return upstream.Listener.Addr().String()
}

// A zone on the original path limits a login that rewrites hide behind a front controller, however the client
// spells its path. A zone on the current path does not.
func TestOnPathOriginalBehindFrontController(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "index.php"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const site = `
		root * %s
		rewrite /old/* /new{uri}
		try_files {path} /index.php?{query}
		rate_limit {
			zone login {
				key {client_ip}
				%s
				endpoint POST /login 2/1h
			}
			zone api {
				key {client_ip}
				%[2]s
				limit 3/1h
				match {
					path /api/*
					path_regexp ^/api/
				}
			}
		}
		reverse_proxy %s {
			header_up Request-Uri {http.request.orig_uri}
		}`
	upstream := frontController(t)
	g := serve(t, fmt.Sprintf(site, root, "on_path original", upstream))
	for _, path := range []string{"/login?next=/", "/Login/"} {
		if r := g.request("POST", path); r.status != 200 || !strings.HasSuffix(r.body, " by /index.php") {
			t.Fatalf("%s: status %d, %q, want an answer of the front controller", path, r.status, r.body)
		}
	}
	for _, path := range []string{"/login", "/login/", "//login", "/login;a/b", "/login%3fa", "/index.php/login"} {
		g.request("POST", path).rejected()
	}
	if r := g.get("/login"); r.status != 200 {
		t.Errorf("status of GET = %d, want 200", r.status)
	}
	g.get("/api/users").admitted(2)
	g.get("//api/users").admitted(1)
	g.get("/api%2fusers").admitted(0)
	g.get("/api/users").rejected()
	if warnings := g.logged("may miss requests"); len(warnings) > 0 {
		t.Errorf("warnings = %v, want none", warnings)
	}

	g = serve(t, fmt.Sprintf(site, root, "on_path current", upstream))
	for range 4 {
		if r := g.request("POST", "/login"); r.status != 200 {
			t.Errorf("on the current path, the login gets %d, want 200", r.status)
		}
	}
	if warnings := g.logged("may miss requests"); len(warnings) != 2 {
		t.Errorf("warnings = %v, want one for each zone", warnings)
	}
}
