package keytemplate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// varRequest returns a request with variables. A test can give variables all values, but headers not:
// values that servers read differently are ambiguous there.
func varRequest(clientIP string, vars ...string) (*http.Request, *caddy.Replacer) {
	r, repl := keyRequest(clientIP)
	for i := 0; i < len(vars); i += 2 {
		caddyhttp.SetVar(r.Context(), vars[i], vars[i+1])
	}
	return r, repl
}

// hostileValues returns distinct values that clients could use to reach the key of another client.
func hostileValues() []string {
	long := strings.Repeat("A", 64<<10)
	values := []string{
		"a", "A", "a\u00a0", "a\x00", "\x00", "\x00a", "a\r\n", "a\r\nX-Api-Key: b", "a\nb", "\xff", "\xff\xfe", "\xc3\x28", "é",
		"{http.request.header.X-Other}", "{http.vars.plan}", `\{http.vars.plan\}`, "{", "}", "{}", "*", "a*", "?", "[a-z]",
		"192.0.2.1", "192.0.2.0/24", "::ffff:192.0.2.1", "2001:db8::1", "2001:DB8::1", "2001:db8::/64", "fe80::1%eth0",
		"a:b", "a:b:c", ":", ":a", "a:", "\x02a", "\x02a\x02b", "k\x02a\x02b", "ta", "kta", "ma", "d",
		"a\xe0\xc0\x00\x02\x01", "ka\xe0\xc0\x00\x02\x01", "\xe0\xc0\x00\x02\x01", "\x0b\xe0\xc0\x00\x02\x01",
		long, long + "B", long[1:], "B" + long,
	}
	// The digest of a long key, as a value and as a key, and values whose keys have about the greatest
	// length.
	values = append(values, digest("kt"+long), "d"+digest("kt"+long))
	for n := maxKeyLen - 4; n <= maxKeyLen+2; n++ {
		values = append(values, strings.Repeat("n", n))
	}
	return values
}

func TestHostileValuesNeverShareKeys(t *testing.T) {
	tmpl := mustTemplate(t, "{http.vars.key}", defaults)
	address := mustTemplate(t, "{client_ip}", defaults)
	seen := map[string]string{}
	for _, ip := range []string{"192.0.2.1", "2001:db8::1"} {
		r, repl := keyRequest(ip)
		seen[keyOf(t, address, r, repl)] = "the client address " + ip
	}
	for _, space := range []byte{spaceKey, spaceSubstitute} {
		tmpl.space = space
		for _, v := range hostileValues() {
			r, repl := varRequest("192.0.2.1", "key", v)
			key := keyOf(t, tmpl, r, repl)
			name := fmt.Sprintf("%.40q of %d bytes in space %c", v, len(v), space)
			if other, ok := seen[key]; ok {
				t.Errorf("%s has the key of %s", name, other)
			}
			seen[key] = name
			if len(key) > maxKeyLen {
				t.Errorf("%s has a key of %d bytes, want at most %d", name, len(key), maxKeyLen)
			}
			if got := tmpl.Text(r, repl); got != v {
				t.Errorf("%s reads %.40q as text, want it unchanged", name, got)
			}
		}
	}
}

func TestHostilePairsNeverShareKeys(t *testing.T) {
	for _, raw := range []string{
		"{http.vars.a}:{http.vars.b}",
		"{http.vars.a}{http.vars.b}",
	} {
		tmpl := mustTemplate(t, raw, defaults)
		seen := map[string]string{}
		for _, a := range hostileValues() {
			for _, b := range []string{"a", "b", ":", "a:b", "b:c", "\x02b", "\x00", "192.0.2.1", "\x0b\xe0\xc0\x00\x02\x01"} {
				r, repl := varRequest("192.0.2.1", "a", a, "b", b)
				key, pair := keyOf(t, tmpl, r, repl), fmt.Sprintf("%.40q (%d bytes) with %q", a, len(a), b)
				if other, ok := seen[key]; ok {
					t.Errorf("%s: %s has the key of %s", raw, pair, other)
				}
				seen[key] = pair
			}
		}
	}
}

// Only addresses are masked, and only if the template masks them. All spellings of an address count as
// that address.
func TestMaskedAddressesShareKeysOnlyWithAddresses(t *testing.T) {
	masked := Options{IPv4Prefix: 24, IPv6Prefix: 64, MaskAll: true}
	for _, raw := range []string{"{http.vars.address}", "{http.vars.address}{http.vars.plan}"} {
		for _, tc := range []struct {
			o     Options
			a, b  string
			equal bool
		}{
			{masked, "192.0.2.1", "192.0.2.200", true},
			{masked, "192.0.2.1", "::ffff:192.0.2.200", true},
			{masked, "192.0.2.1", "::FFFF:C000:0201", true},
			{masked, "192.0.2.1", "192.0.3.1", false},
			{masked, "192.0.2.1", "192.0.2.0/24", false},
			{masked, "192.0.2.1", "192.0.2.1 ", true},
			{masked, "192.0.2.1", "192.0.2.1:80", false},
			{masked, "192.0.2.1", "192.0.2.01", false},
			{masked, "192.0.2.1", "\xd8\xc0\x00\x02", false},
			{masked, "192.0.2.1", "a\xd8\xc0\x00\x02", false},
			{masked, "2001:db8::1", "2001:0DB8:0::ffff", true},
			{masked, "2001:db8::1", "2001:db8::1%eth0", true},
			{masked, "2001:db8::1", "2001:db8::/64", false},
			{masked, "2001:db8::1", "2001:db8:0:1::1", false},
			{masked, "::", "0.0.0.0", false},
			{defaults, "192.0.2.1", "::ffff:192.0.2.1", false},
			{defaults, "2001:db8::1", "2001:DB8::1", false},
			{defaults, "2001:db8::1", "2001:db8::2", false},
		} {
			tmpl := mustTemplate(t, raw, tc.o)
			ra, repla := varRequest("192.0.2.9", "address", tc.a)
			rb, replb := varRequest("192.0.2.9", "address", tc.b)
			if got := keyOf(t, tmpl, ra, repla) == keyOf(t, tmpl, rb, replb); got != tc.equal {
				t.Errorf("%s, maskAll %v: keys of %q and %q equal: %v, want %v", raw, tc.o.MaskAll, tc.a, tc.b, got, tc.equal)
			}
		}
	}
}

// Proxies and net/http remove spaces and tabs around a value.
func TestSpacesAroundValueDoNotChangeKey(t *testing.T) {
	set := map[string]func(r *http.Request, v string){
		"{http.request.header.A}":                  func(r *http.Request, v string) { r.Header["A"] = []string{v} },
		"{http.request.uri.query.a}":               func(r *http.Request, v string) { r.URL.RawQuery = "a=" + url.QueryEscape(v) },
		"{http.request.uri.path}":                  func(r *http.Request, v string) { r.URL.Path = v },
		"{http.vars.a}":                            func(r *http.Request, v string) { caddyhttp.SetVar(r.Context(), "a", v) },
		"{http.request.header.A}-{http.vars.plan}": func(r *http.Request, v string) { r.Header["A"] = []string{v} },
	}
	for raw, set := range set {
		tmpl := mustTemplate(t, raw, defaults)
		read := func(v string) (string, Presence, string) {
			r, repl := keyRequest("192.0.2.1")
			set(r, v)
			key, has, err := tmpl.Append(nil, r, repl)
			if err != nil {
				t.Fatal(err)
			}
			return string(key), has, tmpl.Text(r, repl)
		}
		want, _, text := read("sk 1")
		for _, v := range []string{" sk 1", "sk 1 ", "\tsk 1", "sk 1\t", " \t sk 1\t \t"} {
			if key, has, got := read(v); key != want || has != Present || got != text {
				t.Errorf("%s of %q: key %q, presence %v, text %q; want those of %q", raw, v, key, has, got, "sk 1")
			}
		}
		for _, v := range []string{"\u00a0sk 1", "sk 1\x00", "sk  1", "sk 1\n", "\vsk 1", "\u3000sk 1"} {
			if key, has, _ := read(v); has == Present && key == want {
				t.Errorf("%s of %q has the key of %q, but net/http does not trim it", raw, v, "sk 1")
			}
		}
		for _, v := range []string{" ", "\t", " \t "} {
			if _, has, _ := read(v); has != Missing {
				t.Errorf("%s of %q is not missing", raw, v)
			}
		}
	}
}

// FuzzTemplate checks that the keys of two requests are equal if and only if all values are.
func FuzzTemplate(f *testing.F) {
	f.Add("{http.request.header.A}:{http.request.header.B}", "a", "b:c", "a:b", "c")
	f.Add("{http.request.header.A}{http.request.header.B}", "ab", "c", "a", "bc")
	f.Add("{http.request.header.A}", "192.0.2.1", "x", "::ffff:192.0.2.1", "x")
	f.Add(`\{{http.request.header.A}\}}`, strings.Repeat("a", 300), "", strings.Repeat("a", 301), "")
	f.Add("{client_ip}{http.vars.plan}{http.request.header.A}", "\x00", "", "\x00\x00", "")
	f.Add(`{http.vars.a\}b}{time.now}{http.request.uri.query.q}{unknown}`, "{A}", "", "", "")
	f.Fuzz(func(t *testing.T, raw, a1, b1, a2, b2 string) {
		if strings.Contains(raw, "{file.") || strings.Contains(raw, "{env.") || strings.Contains(raw, "request.body") {
			return // the test does not choose these values
		}
		tmpl, err := Parse(raw, defaults)
		if err != nil {
			return
		}
		r1, repl1 := keyRequest("2001:db8::1", "A", a1, "B", b1)
		r2, repl2 := keyRequest("2001:db8::2", "A", a2, "B", b2)
		key1, has1, err1 := tmpl.Append(nil, r1, repl1)
		key2, has2, err2 := tmpl.Append(nil, r2, repl2)
		if err1 != nil || err2 != nil {
			t.Fatalf("errors %v and %v without early data", err1, err2)
		}
		equal, empty1, empty2 := true, false, false
		for _, name := range tmpl.Placeholders() {
			if isHostHeader(name) || !strings.HasPrefix(name, "http.request.header.") && name != "http.vars.plan" && name != "http.vars.client_ip" {
				tmpl.Text(r1, repl1)
				return // the value may change between two reads
			}
			v1, _ := repl1.GetString(name)
			v2, _ := repl2.GetString(name)
			v1, v2 = strings.Trim(v1, " \t"), strings.Trim(v2, " \t")
			empty1, empty2 = empty1 || v1 == "", empty2 || v2 == ""
			equal = equal && (v1 == v2 || name == "http.vars.client_ip") // both addresses are in one /64
		}
		if has1 > Missing || has2 > Missing {
			return // TestPlainValues tests ambiguous values
		}
		if (has1 == Missing) != empty1 || (has2 == Missing) != empty2 {
			t.Fatalf("%q: presence %v and %v, want missing %v and %v", raw, has1, has2, empty1, empty2)
		}
		if !empty1 && !empty2 && (string(key1) == string(key2)) != equal {
			t.Errorf("%q: keys %q and %q; all values equal: %v", raw, key1, key2, equal)
		}
	})
}
