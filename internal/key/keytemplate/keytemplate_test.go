package keytemplate

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

// defaults are the options of a zone without address settings.
var defaults = Options{IPv4Prefix: 32, IPv6Prefix: 64}

// keyRequest returns a request with the context that Caddy's server gives it. header lists names and
// values in turn.
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

func mustTemplate(t testing.TB, raw string, o Options) *Template {
	t.Helper()
	tmpl, err := Parse(raw, o)
	if err != nil {
		t.Fatalf("Parse(%q) = %v", raw, err)
	}
	return tmpl
}

// keyOf returns the key of r, which must have one.
func keyOf(t testing.TB, tmpl *Template, r *http.Request, repl *caddy.Replacer) string {
	t.Helper()
	key, has, err := tmpl.Append(nil, r, repl)
	if has != Present || err != nil {
		t.Fatalf("Append: presence %v, error %v; want a key", has, err)
	}
	return string(key)
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ raw, want string }{
		{"{http.vars.plan", `use "}"`},
		{`a{http.vars.plan\}b`, `use "}"`},
		{"}{", `use "}"`},
		{"{}", "names no placeholder"},
		{"a:{ }", "names no placeholder"},
		{"{ http.vars.plan }", `use "{http.vars.plan}"`},
		{"{{http.vars.plan}}", "do not nest"},
		{"{http.request.header.{http.vars.plan}}", "do not nest"},
		{"{http.request.header.}", "use a name after the dot"},
		{"{http.request.uri.query.}", "use a name after the dot"},
		{"{http.request.cookie.}", "use a name after the dot"},
		{"{http.vars.}", "use a name after the dot"},
		{"{query.}", "use a name after the dot"},
		{"{query." + strings.Repeat("k", maxNameLen+1) + "}", "a name of 101 bytes: use one of at most 100"},
		{"{http.request.cookie." + strings.Repeat(".", maxNameLen+1) + "}", "a name of 101 bytes: use one of at most 100"},
		{"{env.FLEETLIMIT_TEST_UNSET}", "empty when the configuration loads"},
		{"{file./nonexistent/fleetlimit}", "empty when the configuration loads"},
	} {
		if _, err := Parse(tc.raw, defaults); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Parse(%q) = %v, want an error that says %q", tc.raw, err, tc.want)
		}
	}
	for _, o := range []Options{{IPv4Prefix: 33}, {IPv4Prefix: -1}, {IPv6Prefix: 129}, {IPv6Prefix: -1}} {
		if _, err := Parse("{client_ip}", o); err == nil {
			t.Errorf("Parse with prefixes of %d and %d bits: no error", o.IPv4Prefix, o.IPv6Prefix)
		}
	}
}

// If no address is masked, Text returns what Caddy's replacer makes of the template.
func TestTextMatchesReplacer(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST", `eu{http.vars.plan}\{`)
	whole := Options{IPv4Prefix: 32, IPv6Prefix: 128}
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
				if got, want := tmpl.Text(r, repl), repl.ReplaceAll(raw, ""); got != want {
					t.Errorf("text of %q for %s with %.40q = %.80q, the replacer says %.80q", raw, ip, v, got, want)
				}
			}
		}
	}
}

func TestAppendEncoding(t *testing.T) {
	r, repl := keyRequest("192.0.2.77", "X-Api-Key", "sk", "X-Tenant", "acme")
	for _, tc := range []struct {
		name, raw string
		o         Options
		want      string
	}{
		{"static", "all", Options{}, "k"},
		{"empty", "", Options{}, "k"},
		{"static of on_missing_key", "all", Options{Substitute: true}, "m"},
		{"header", "{http.request.header.X-Api-Key}", defaults, "ktsk"},
		{"literal around", "a-{http.request.header.X-Api-Key}-b", defaults, "ktsk"},
		{"address", "{http.vars.client_ip}", defaults, "ka\xe0\xc0\x00\x02\x4d"},
		{"shorthand", "{client_ip}", defaults, "ka\xe0\xc0\x00\x02\x4d"},
		{"remote", "{remote_host}", defaults, "ka\xe0\xc0\x00\x02\x4d"},
		{"prefix", "{client_ip}", Options{IPv4Prefix: 20, IPv6Prefix: 64}, "ka\xd4\xc0\x00\x00"},
		{"all addresses", "{client_ip}", Options{Substitute: true}, "ma\xc0"},
		{
			"several", "{http.request.header.X-Api-Key}:{client_ip}/{http.request.header.X-Tenant}", defaults,
			"k\x04sk\x0b\xe0\xc0\x00\x02\x4d\x08acme",
		},
	} {
		if got := keyOf(t, mustTemplate(t, tc.raw, tc.o), r, repl); got != tc.want {
			t.Errorf("%s: key of %q = %q, want %q", tc.name, tc.raw, got, tc.want)
		}
	}
	r, repl = keyRequest("2001:db8:1:2:3:4:5:6")
	got, want := keyOf(t, mustTemplate(t, "{client_ip}", defaults), r, repl), "ka\x40\x20\x01\x0d\xb8\x00\x01\x00\x02"
	if got != want {
		t.Errorf("IPv6 key = %q, want %q", got, want)
	}
}

func TestAppendKeepsDst(t *testing.T) {
	tmpl := mustTemplate(t, "{http.request.header.X-Api-Key}", defaults)
	for _, tc := range []struct{ value, want string }{
		{"sk", "zone:ktsk"},
		{strings.Repeat("x", 300), "zone:d" + digest("kt"+strings.Repeat("x", 300))},
		{"", "zone:"},
	} {
		r, repl := keyRequest("192.0.2.1", "X-Api-Key", tc.value)
		if key, _, _ := tmpl.Append([]byte("zone:"), r, repl); string(key) != tc.want {
			t.Errorf("Append for %.10q = %q, want %q", tc.value, key, tc.want)
		}
	}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return string(sum[:])
}

func TestAppendPresence(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		prepare   func(r *http.Request)
		want      Presence
	}{
		{"header absent", "{http.request.header.X-Api-Key}", func(*http.Request) {}, Missing},
		{"header empty", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", ""), Missing},
		{"header once", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", "a"), Present},
		{"header with a comma", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", "a,b"), Present},
		{"header twice", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", "a", "b"), Ambiguous},
		{"header twice alike", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", "a", "a"), Ambiguous},
		{"header empty and not", "{http.request.header.X-Api-Key}", addHeader("X-Api-Key", "", "a"), Ambiguous},
		{"one of two", "{http.vars.plan}{http.request.header.X-Api-Key}", func(*http.Request) {}, Missing},
		{"query once", "{http.request.uri.query.key}", setQuery("key=a&keys=b"), Present},
		{"query absent", "{http.request.uri.query.key}", setQuery("keys=b"), Missing},
		{"query empty", "{http.request.uri.query.key}", setQuery("key=&b=1"), Missing},
		{"query twice", "{http.request.uri.query.key}", setQuery("key=a&key=b"), Ambiguous},
		{"query twice, escaped", "{http.request.uri.query.key}", setQuery("key=a&%6bey=b"), Ambiguous},
		{"query twice, malformed", "{http.request.uri.query.key}", setQuery("key=a&key=b;"), Ambiguous},
		{"query twice for servers that split at semicolons", "{http.request.uri.query.key}", setQuery("key=a&x=1;key=b"), Ambiguous},
		{"query without a value", "{http.request.uri.query.key}", setQuery("key=a&key"), Ambiguous},
		{"cookie once", "{http.request.cookie.sid}", addHeader("Cookie", "sid=a; x=b"), Present},
		{"cookie twice", "{http.request.cookie.sid}", addHeader("Cookie", "sid=a; sid=b"), AmbiguousCookie},
		{"cookie twice in two lines", "{http.request.cookie.sid}", addHeader("Cookie", "sid=a", "sid=b"), AmbiguousCookie},
		{"cookie twice in another case", "{http.request.cookie.sid}", addHeader("Cookie", "sid=a; SID=b"), AmbiguousCookie},
		{"cookie empty", "{http.request.cookie.sid}", addHeader("Cookie", "sid="), Missing},
		{"an ambiguous value outweighs a missing one", "{http.vars.none}{http.request.header.A}", addHeader("A", "1", "2"), Ambiguous},
		{"an ambiguous cookie outweighs a missing value", "{http.vars.none}{http.request.cookie.a}", addHeader("Cookie", "a=1; a=2"),
			AmbiguousCookie},
		{"an ambiguous header outweighs a cookie", "{http.request.header.A}{http.request.cookie.a}", func(r *http.Request) {
			addHeader("A", "1", "2")(r)
			addHeader("Cookie", "a=1; a=2")(r)
		}, Ambiguous},
		{"variable unset", "{http.vars.none}", func(*http.Request) {}, Missing},
		{"no user", "{http.auth.user.id}", func(*http.Request) {}, Missing},
		{"unknown", "{no.such.placeholder}", func(*http.Request) {}, Missing},
		{"address of a Unix socket", "{client_ip}", setClientIP(""), Missing},
		{"no host", "{http.request.host}", func(r *http.Request) { r.Host = "" }, Missing},
		{"static", "all", func(*http.Request) {}, Present},
	} {
		r, repl := keyRequest("192.0.2.1")
		tc.prepare(r)
		dst := []byte("dst")
		key, has, err := mustTemplate(t, tc.raw, defaults).Append(dst, r, repl)
		if has != tc.want || err != nil {
			t.Errorf("%s: presence %v, error %v; want %v", tc.name, has, err, tc.want)
		}
		if has != Present && string(key) != "dst" {
			t.Errorf("%s: key %q, want dst unchanged", tc.name, key)
		}
	}
}

func TestLenientKeyIsNeverMissing(t *testing.T) {
	lenient := Options{IPv4Prefix: 32, IPv6Prefix: 128, Lenient: true}
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
		if got := tmpl.Text(r, repl); got != tc.text {
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

func TestAppendRefusesAddressInEarlyData(t *testing.T) {
	for _, tc := range []struct {
		raw   string
		early error
	}{
		{"{client_ip}", ErrEarlyData},
		{"{remote_host}", ErrEarlyData},
		{"{http.request.remote}", ErrEarlyData},
		{"{http.request.remote.host/24}", ErrEarlyData},
		{"{http.vars.plan}:{client_ip}", ErrEarlyData},
		{"{http.vars.plan}", nil},
		{"all", nil},
	} {
		tmpl := mustTemplate(t, tc.raw, defaults)
		r, repl := keyRequest("192.0.2.1")
		r.TLS = &tls.ConnectionState{HandshakeComplete: false}
		if key, _, err := tmpl.Append([]byte("dst"), r, repl); !errors.Is(err, tc.early) || err != nil && string(key) != "dst" {
			t.Errorf("%q in early data: key %q, error %v; want error %v", tc.raw, key, err, tc.early)
		}
		r.TLS.HandshakeComplete = true
		if _, has, err := tmpl.Append(nil, r, repl); err != nil || has != Present {
			t.Errorf("%q after the handshake: presence %v, error %v; want a key", tc.raw, has, err)
		}
	}
}

func TestTextMasksAddresses(t *testing.T) {
	masked := Options{IPv4Prefix: 24, IPv6Prefix: 48, MaskAll: true}
	for _, tc := range []struct {
		ip, header string
		o          Options
		want       string
	}{
		{"192.0.2.77", "192.0.2.77", defaults, "192.0.2.77 192.0.2.77"},
		{"::ffff:192.0.2.77", "::ffff:192.0.2.77", defaults, "192.0.2.77 ::ffff:192.0.2.77"},
		{"2001:db8::1", "2001:DB8::1", defaults, "2001:db8::/64 2001:DB8::1"},
		{"192.0.2.77", "192.0.2.78", masked, "192.0.2.0/24 192.0.2.0/24"},
		{"::ffff:192.0.2.77", "::ffff:c000:24e", masked, "192.0.2.0/24 192.0.2.0/24"},
		{"2001:db8::1", "2001:0DB8::2%eth0", masked, "2001:db8::/48 2001:db8::/48"},
		{"2001:db8::1", "192.0.2.0/24", masked, "2001:db8::/48 192.0.2.0/24"},
		{"", "sk_1", masked, " sk_1"},
	} {
		r, repl := keyRequest(tc.ip, "X-Real-Ip", tc.header)
		if got := mustTemplate(t, "{client_ip} {http.request.header.X-Real-Ip}", tc.o).Text(r, repl); got != tc.want {
			t.Errorf("text for %q and %q = %q, want %q", tc.ip, tc.header, got, tc.want)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	got := mustTemplate(t, "{system.os}-{client_ip}{http.auth.user.id}x{client_ip}", defaults).Placeholders()
	want := []string{"http.vars.client_ip", "http.auth.user.id", "http.vars.client_ip"}
	if !slices.Equal(got, want) {
		t.Errorf("placeholders = %q, want %q", got, want)
	}
}

func TestDigestStaysInSmallBuffer(t *testing.T) {
	tmpl := mustTemplate(t, "{http.request.header.X-Api-Key}", defaults)
	r, repl := keyRequest("192.0.2.1", "X-Api-Key", strings.Repeat("x", 64<<10))
	dst := make([]byte, 0, 64)
	key, _, err := tmpl.Append(dst, r, repl)
	if err != nil || len(key) != 33 || cap(key) != cap(dst) || !bytes.Equal(dst[:33], key) {
		t.Errorf("key of 64 KB: %d bytes in a buffer of %d, error %v; want 33 in the buffer of %d",
			len(key), cap(key), err, cap(dst))
	}
}
