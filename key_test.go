package fleetlimit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// defaultKeys are the options of a zone that says nothing about addresses.
var defaultKeys = templateOptions{ipv4Bits: 32, ipv6Bits: 64, space: spaceKey}

// keyRequest returns a request as Caddy's server hands it to a handler. header pairs are set as they are, in order.
func keyRequest(clientIP string, header ...string) (*http.Request, *caddy.Replacer) {
	r := httptest.NewRequest(http.MethodGet, "http://api.example.com:8080/users/7?q=a&q2=%7Bx%7D", nil)
	r.RemoteAddr = net.JoinHostPort(clientIP, "4711")
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = append(r.Header[header[i]], header[i+1])
	}
	ctx := context.WithValue(r.Context(), caddyhttp.VarsCtxKey, map[string]any{
		caddyhttp.ClientIPVarKey: clientIP, "plan": "pro", "weight": 2.5, "nothing": nil,
	})
	ctx = context.WithValue(ctx, caddyhttp.OriginalRequestCtxKey, *r)
	ctx = context.WithValue(ctx, caddyhttp.ServerCtxKey, new(caddyhttp.Server))
	ctx = context.WithValue(ctx, caddyhttp.ExtraLogFieldsCtxKey, new(caddyhttp.ExtraLogFields))
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}))
	r = r.WithContext(ctx)
	return r, caddyhttp.NewTestReplacer(r)
}

func mustTemplate(t testing.TB, raw string, o templateOptions) *template {
	t.Helper()
	tmpl, err := newTemplate(raw, o)
	if err != nil {
		t.Fatalf("newTemplate(%q) = %v", raw, err)
	}
	return tmpl
}

// keyOf returns the key of r, which must have one.
func keyOf(t testing.TB, tmpl *template, r *http.Request, repl *caddy.Replacer) string {
	t.Helper()
	key, has, err := tmpl.append(nil, r, repl)
	if has != present || err != nil {
		t.Fatalf("append: presence %v, error %v; want a key", has, err)
	}
	return string(key)
}

func TestTemplateRefused(t *testing.T) {
	for _, tc := range []struct{ raw, want string }{
		{"{http.vars.plan", `write "}"`},
		{`a{http.vars.plan\}b`, `write "}"`},
		{"}{", `write "}"`},
		{"{}", "names no placeholder"},
		{"a:{ }", "names no placeholder"},
		{"{ http.vars.plan }", `write "{http.vars.plan}"`},
		{"{{http.vars.plan}}", "do not nest"},
		{"{http.request.header.{http.vars.plan}}", "do not nest"},
		{"{http.request.header.}", "write a name after the dot"},
		{"{http.request.uri.query.}", "write a name after the dot"},
		{"{http.request.cookie.}", "write a name after the dot"},
		{"{http.vars.}", "write a name after the dot"},
		{"{env.FLEETLIMIT_TEST_UNSET}", "empty when the configuration loads"},
		{"{file./nonexistent/fleetlimit}", "empty when the configuration loads"},
	} {
		if _, err := newTemplate(tc.raw, defaultKeys); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("newTemplate(%q) = %v, want an error that says %q", tc.raw, err, tc.want)
		}
	}
	for _, o := range []templateOptions{{ipv4Bits: 33}, {ipv4Bits: -1}, {ipv6Bits: 129}, {ipv6Bits: -1}} {
		if _, err := newTemplate("{client_ip}", o); err == nil {
			t.Errorf("newTemplate with prefixes of %d and %d bits: no error", o.ipv4Bits, o.ipv6Bits)
		}
	}
}

// The replacer is the judge of what a template says.
func TestTemplateTextIsWhatReplacerSays(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST", `eu{http.vars.plan}\{`)
	whole := templateOptions{ipv4Bits: 32, ipv6Bits: 128, space: spaceKey}
	templates := []string{
		"", "static", `\{static\}`, `\\{http.vars.plan}`, `a\b`, "a}b", "}", `\`, `{http.vars.a\}b}`, `{http.vars.plan\}`,
		"{env.FLEETLIMIT_TEST}", "{env.FLEETLIMIT_TEST}-{http.vars.plan}", "{system.os}/{http.request.method}",
		"{http.request.header.X-Api-Key}", "{http.request.header.x-api-key}", "{http.request.header.X-Tenant}",
		"{http.request.host}", "{http.request.hostport}", "{http.request.port}",
		"{http.vars.client_ip}", "{http.request.remote.host}", "{http.request.remote}",
		"{http.request.remote.host/24,64}", "{http.request.remote.port}",
		"{http.request.uri}", "{http.request.uri.path}", "{http.request.uri.path.1}", "{http.request.uri.query}",
		"{http.request.uri.query.q}", "{http.request.uri.query.q2}", "{http.request.uri.query.none}",
		"{http.request.cookie.none}",
		"{http.vars.plan}", "{http.vars.weight}", "{http.vars.nothing}", "{http.vars.none}",
		"{http.auth.user.id}", "{unknown.placeholder}", `{"tenant": 7}`, "{http.request.scheme}", "{http.request.proto}",
		"{http.request.header.X-Api-Key}:{http.request.header.X-Tenant}", "<{http.vars.plan}>{http.vars.plan}",
		`{http.request.header.X-Api-Key}\{{http.vars.plan}\}`, "{time.now.year}",
	}
	values := []string{
		"", "sk_live_1", "{http.vars.plan}", `\{x\}`, "{", "}", "*", "a:b", "a\r\nb\x00\xff", "192.0.2.1", "192.0.2.0/24",
		"2001:DB8::1", strings.Repeat("long-", 13000),
	}
	for _, raw := range templates {
		tmpl := mustTemplate(t, raw, whole)
		for _, ip := range []string{"192.0.2.1", "2001:db8::1"} {
			for _, v := range values {
				r, repl := keyRequest(ip, "X-Api-Key", v, "X-Tenant", "t", "Cookie", "a=1; session="+url.QueryEscape(v))
				repl.Set("http.auth.user.id", "ann")
				if got, want := tmpl.text(r, repl), repl.ReplaceAll(raw, ""); got != want {
					t.Errorf("text of %q for %s with %.40q = %.80q, the replacer says %.80q", raw, ip, v, got, want)
				}
			}
		}
	}
}

func TestTemplateEncoding(t *testing.T) {
	r, repl := keyRequest("192.0.2.77", "X-Api-Key", "sk", "X-Tenant", "acme")
	for _, tc := range []struct {
		name, raw string
		o         templateOptions
		want      string
	}{
		{"static", "all", templateOptions{space: spaceKey}, "k"},
		{"empty", "", templateOptions{space: spaceKey}, "k"},
		{"static of on_missing_key", "all", templateOptions{space: spaceMissing}, "m"},
		{"header", "{http.request.header.X-Api-Key}", defaultKeys, "ktsk"},
		{"literal around", "a-{http.request.header.X-Api-Key}-b", defaultKeys, "ktsk"},
		{"address", "{http.vars.client_ip}", defaultKeys, "ka\xe0\xc0\x00\x02\x4d"},
		{"shorthand", "{client_ip}", defaultKeys, "ka\xe0\xc0\x00\x02\x4d"},
		{"remote", "{remote_host}", defaultKeys, "ka\xe0\xc0\x00\x02\x4d"},
		{"prefix", "{client_ip}", templateOptions{ipv4Bits: 20, ipv6Bits: 64, space: spaceKey}, "ka\xd4\xc0\x00\x00"},
		{"all addresses", "{client_ip}", templateOptions{space: spaceMissing}, "ma\xc0"},
		{
			"several", "{http.request.header.X-Api-Key}:{client_ip}/{http.request.header.X-Tenant}", defaultKeys,
			"k\x04sk\x0b\xe0\xc0\x00\x02\x4d\x08acme",
		},
	} {
		if got := keyOf(t, mustTemplate(t, tc.raw, tc.o), r, repl); got != tc.want {
			t.Errorf("%s: key of %q = %q, want %q", tc.name, tc.raw, got, tc.want)
		}
	}
	r, repl = keyRequest("2001:db8:1:2:3:4:5:6")
	got, want := keyOf(t, mustTemplate(t, "{client_ip}", defaultKeys), r, repl), "ka\x40\x20\x01\x0d\xb8\x00\x01\x00\x02"
	if got != want {
		t.Errorf("IPv6 key = %q, want %q", got, want)
	}
}

func TestTemplateAppendsToDst(t *testing.T) {
	tmpl := mustTemplate(t, "{http.request.header.X-Api-Key}", defaultKeys)
	for _, tc := range []struct{ value, want string }{
		{"sk", "zone:ktsk"},
		{strings.Repeat("x", 300), "zone:d" + digest("kt"+strings.Repeat("x", 300))},
		{"", "zone:"},
	} {
		r, repl := keyRequest("192.0.2.1", "X-Api-Key", tc.value)
		if key, _, _ := tmpl.append([]byte("zone:"), r, repl); string(key) != tc.want {
			t.Errorf("append for %.10q = %q, want %q", tc.value, key, tc.want)
		}
	}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return string(sum[:])
}

func TestTemplatePresence(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		prepare   func(r *http.Request)
		want      presence
	}{
		{"header absent", "{http.request.header.X-Api-Key}", func(*http.Request) {}, missing},
		{"header empty", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", ""), missing},
		{"header once", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", "a"), present},
		{"header with a comma", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", "a,b"), present},
		{"header twice", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", "a", "b"), ambiguous},
		{"header twice alike", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", "a", "a"), ambiguous},
		{"header empty and not", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", "", "a"), ambiguous},
		{"one of two", "{http.vars.plan}{http.request.header.X-Api-Key}", func(*http.Request) {}, missing},
		{"query once", "{http.request.uri.query.key}", setQuery("key=a&keys=b"), present},
		{"query absent", "{http.request.uri.query.key}", setQuery("keys=b"), missing},
		{"query empty", "{http.request.uri.query.key}", setQuery("key=&b=1"), missing},
		{"query twice", "{http.request.uri.query.key}", setQuery("key=a&key=b"), ambiguous},
		{"query twice, escaped", "{http.request.uri.query.key}", setQuery("key=a&%6bey=b"), ambiguous},
		{"query twice, malformed", "{http.request.uri.query.key}", setQuery("key=a&key=b;"), ambiguous},
		{"query twice for servers that split at semicolons", "{http.request.uri.query.key}", setQuery("key=a&x=1;key=b"), ambiguous},
		{"query without a value", "{http.request.uri.query.key}", setQuery("key=a&key"), ambiguous},
		{"cookie once", "{http.request.cookie.sid}", addHeader("Cookie", "sid=a; x=b"), present},
		{"cookie twice", "{http.request.cookie.sid}", addHeader("Cookie", "sid=a; sid=b"), ambiguousCookie},
		{"cookie twice in two lines", "{http.request.cookie.sid}", addHeader("Cookie", "sid=a", "sid=b"), ambiguousCookie},
		{"cookie twice but for case", "{http.request.cookie.sid}", addHeader("Cookie", "sid=a; SID=b"), ambiguousCookie},
		{"cookie empty", "{http.request.cookie.sid}", addHeader("Cookie", "sid="), missing},
		{"an ambiguous value outweighs a missing one", "{http.vars.none}{http.request.header.A}", addHeader("A", "1", "2"), ambiguous},
		{"an ambiguous cookie outweighs a missing value", "{http.vars.none}{http.request.cookie.a}", addHeader("Cookie", "a=1; a=2"),
			ambiguousCookie},
		{"an ambiguous header outweighs a cookie", "{http.request.header.A}{http.request.cookie.a}", func(r *http.Request) {
			addHeader("A", "1", "2")(r)
			addHeader("Cookie", "a=1; a=2")(r)
		}, ambiguous},
		{"variable unset", "{http.vars.none}", func(*http.Request) {}, missing},
		{"nobody logged in", "{http.auth.user.id}", func(*http.Request) {}, missing},
		{"unknown", "{no.such.placeholder}", func(*http.Request) {}, missing},
		{"address of a Unix socket", "{client_ip}", setClientIP(""), missing},
		{"no path", "{http.request.uri.path}", func(r *http.Request) { r.URL.Path = "" }, missing},
		{"no host", "{http.request.host}", func(r *http.Request) { r.Host = "" }, missing},
		{"static", "all", func(*http.Request) {}, present},
	} {
		r, repl := keyRequest("192.0.2.1")
		tc.prepare(r)
		dst := []byte("dst")
		key, has, err := mustTemplate(t, tc.raw, defaultKeys).append(dst, r, repl)
		if has != tc.want || err != nil {
			t.Errorf("%s: presence %v, error %v; want %v", tc.name, has, err, tc.want)
		}
		if has != present && string(key) != "dst" {
			t.Errorf("%s: key %q, want dst unchanged", tc.name, key)
		}
	}
}

func TestLenientTemplateIsNeverMissing(t *testing.T) {
	lenient := templateOptions{ipv4Bits: 32, ipv6Bits: 128, lenient: true, space: spaceKey}
	for _, tc := range []struct{ raw, key, text string }{
		{"{http.request.header.X-Twice}", "kta,b", "a,b"},
		{"{http.request.header.X-Once}", "kta", "a"},
		{"{http.request.header.X-None}", "kt", ""},
		{"{http.request.cookie.sid}", "kt1", "1"},
		{"{http.request.header.Host}", "kt", ""},
		{"{http.request.uri.query.none}", "kt", ""},
		{"{env.FLEETLIMIT_TEST_UNSET}", "k", ""},
		{"{unknown}", "kt", ""},
		{"{client_ip}-{http.request.header.X-None}", "k\x0b\xe0\xc0\x00\x02\x01\x00", "192.0.2.1-"},
	} {
		tmpl := mustTemplate(t, tc.raw, lenient)
		r, repl := keyRequest("192.0.2.1", "X-Twice", "a", "X-Twice", "b", "X-Once", "a", "Cookie", "sid=1; sid=2")
		if got := keyOf(t, tmpl, r, repl); got != tc.key {
			t.Errorf("key of %q = %q, want %q", tc.raw, got, tc.key)
		}
		if got := tmpl.text(r, repl); got != tc.text {
			t.Errorf("text of %q = %q, want %q", tc.raw, got, tc.text)
		}
	}
}

func addHeader(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = append(r.Header[name], values...) }
}

func setQuery(raw string) func(*http.Request) { return func(r *http.Request) { r.URL.RawQuery = raw } }

func setClientIP(ip string) func(*http.Request) {
	return func(r *http.Request) {
		r.Context().Value(caddyhttp.VarsCtxKey).(map[string]any)[caddyhttp.ClientIPVarKey] = ip
	}
}

func TestTemplateEarlyData(t *testing.T) {
	for _, tc := range []struct {
		raw   string
		early error
	}{
		{"{client_ip}", errEarlyData},
		{"{remote_host}", errEarlyData},
		{"{http.request.remote}", errEarlyData},
		{"{http.request.remote.host/24}", errEarlyData},
		{"{http.vars.plan}:{client_ip}", errEarlyData},
		{"{http.vars.plan}", nil},
		{"all", nil},
	} {
		tmpl := mustTemplate(t, tc.raw, defaultKeys)
		if got, want := tmpl.usesAddress(), tc.early != nil; got != want {
			t.Errorf("usesAddress of %q = %v, want %v", tc.raw, got, want)
		}
		r, repl := keyRequest("192.0.2.1")
		r.TLS = &tls.ConnectionState{HandshakeComplete: false}
		if key, _, err := tmpl.append([]byte("dst"), r, repl); !errors.Is(err, tc.early) || err != nil && string(key) != "dst" {
			t.Errorf("%q in early data: key %q, error %v; want error %v", tc.raw, key, err, tc.early)
		}
		r.TLS.HandshakeComplete = true
		if _, has, err := tmpl.append(nil, r, repl); err != nil || has != present {
			t.Errorf("%q after the handshake: presence %v, error %v; want a key", tc.raw, has, err)
		}
	}
}

func TestTemplateText(t *testing.T) {
	masked := templateOptions{ipv4Bits: 24, ipv6Bits: 48, maskAll: true, space: spaceKey}
	for _, tc := range []struct {
		ip, header string
		o          templateOptions
		want       string
	}{
		{"192.0.2.77", "192.0.2.77", defaultKeys, "192.0.2.77 192.0.2.77"},
		{"::ffff:192.0.2.77", "::ffff:192.0.2.77", defaultKeys, "192.0.2.77 ::ffff:192.0.2.77"},
		{"2001:db8::1", "2001:DB8::1", defaultKeys, "2001:db8::/64 2001:DB8::1"},
		{"192.0.2.77", "192.0.2.78", masked, "192.0.2.0/24 192.0.2.0/24"},
		{"::ffff:192.0.2.77", "::ffff:c000:24e", masked, "192.0.2.0/24 192.0.2.0/24"},
		{"2001:db8::1", "2001:0DB8::2%eth0", masked, "2001:db8::/48 2001:db8::/48"},
		{"2001:db8::1", "192.0.2.0/24", masked, "2001:db8::/48 192.0.2.0/24"},
		{"", "sk_1", masked, " sk_1"},
	} {
		r, repl := keyRequest(tc.ip, "X-Real-Ip", tc.header)
		if got := mustTemplate(t, "{client_ip} {http.request.header.X-Real-Ip}", tc.o).text(r, repl); got != tc.want {
			t.Errorf("text for %q and %q = %q, want %q", tc.ip, tc.header, got, tc.want)
		}
	}
}

func TestTemplatePlaceholders(t *testing.T) {
	got := mustTemplate(t, "{system.os}-{client_ip}{http.auth.user.id}x{client_ip}", defaultKeys).placeholders()
	want := []string{"http.vars.client_ip", "http.auth.user.id", "http.vars.client_ip"}
	if !slices.Equal(got, want) {
		t.Errorf("placeholders = %q, want %q", got, want)
	}
}

func TestTemplateDigestLeavesLargeBufferBehind(t *testing.T) {
	tmpl := mustTemplate(t, "{http.request.header.X-Api-Key}", defaultKeys)
	r, repl := keyRequest("192.0.2.1", "X-Api-Key", strings.Repeat("x", 64<<10))
	dst := make([]byte, 0, 64)
	key, _, err := tmpl.append(dst, r, repl)
	if err != nil || len(key) != 33 || cap(key) != cap(dst) || !bytes.Equal(dst[:33], key) {
		t.Errorf("key of 64 KB: %d bytes in a buffer of %d, error %v; want 33 in the buffer of %d",
			len(key), cap(key), err, cap(dst))
	}
}
