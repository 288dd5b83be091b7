package keytemplate

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// masked are the options of a zone in the current syntax.
var masked = Options{IPv4Prefix: 32, IPv6Prefix: 64, MaskHeaders: true}

func TestKeyOfIsTheKeyOfRequests(t *testing.T) {
	long := strings.Repeat("x", 300)
	all, substitute, lenient := masked, masked, Options{IPv4Prefix: 32, IPv6Prefix: 128, Lenient: true}
	all.IPv4Prefix, all.MaskAll = 24, true
	substitute.Substitute = true
	for _, tc := range []struct {
		raw, clientIP, apiKey string
		options               Options
		texts                 []string // other texts than the one that Text returns
	}{
		{"static", "192.0.2.1", "a", masked, nil},
		{"shared", "192.0.2.1", "a", substitute, nil},
		{"{header.X-Api-Key}", "192.0.2.1", "sk_1", masked, []string{" sk_1"}},
		{"{header.X-Api-Key}", "192.0.2.1", "2001:db8::/64", masked, nil},
		{"{header.X-Api-Key}", "192.0.2.1", long, masked, nil},
		{"{header.X-Api-Key}", "192.0.2.1", "\xff\x00\xff", masked, nil},
		{"id-{header.X-Api-Key}-", "192.0.2.1", "a-", masked, nil},
		{"{client_ip}", "192.0.2.1", "a", masked, []string{"192.0.2.1/32", "::ffff:192.0.2.1"}},
		{"{client_ip}", "2001:db8::1", "a", masked, []string{"2001:db8::2", "2001:DB8:0:0::/64"}},
		{"{client_ip}", "2001:db8::1", "a", substitute, []string{"2001:db8::2"}},
		{"{header.X-Api-Key}", "192.0.2.1", "192.0.2.77", all, []string{"192.0.2.1", "192.0.2.0/24"}},
		{"{header.X-Api-Key}|{client_ip}", "2001:db8::1", "a|b", masked, []string{"a|b|2001:db8::9"}},
		{"{header.X-Api-Key}:{client_ip}", "192.0.2.1", "a:b", masked, nil},
		{"{header.X-Api-Key} {host}", "192.0.2.1", "a", masked, []string{"a API.example.com."}},
		{"{header.X-Api-Key} {method}", "192.0.2.1", long, masked, []string{long + " get"}},
		{"{hostport}", "192.0.2.1", "a", masked, []string{"API.example.com:8080"}},
		{"{header.Host}", "192.0.2.1", "a", masked, []string{"API.example.com:8080"}},
		{"{labels.1}", "192.0.2.1", "a", masked, []string{"Example"}},
		{"{query.q}", "192.0.2.1", "a", masked, nil},
		{"{vars.plan}/{header.X-Api-Key}", "192.0.2.1", "a", masked, nil},
		{"{vars.nothing}", "192.0.2.1", "a", lenient, nil},
		{"{header.X-Api-Key},{vars.nothing}", "192.0.2.1", "a", lenient, nil},
	} {
		r, repl := keyRequest(tc.clientIP, "X-Api-Key", tc.apiKey)
		tmpl := mustTemplate(t, tc.raw, tc.options)
		want := keyOf(t, tmpl, r, repl)
		for _, text := range append(tc.texts, tmpl.Text(r, repl)) {
			if got, err := tmpl.KeyOf(text); err != nil || string(got) != want {
				t.Errorf("key of %.60q in %s = %q, %v; want %q, which requests have", text, tc.raw, got, err, want)
			}
		}
		if IsDigest([]byte(want)) {
			continue
		}
		if text, ok := tmpl.TextOf([]byte(want)); !ok || text != tmpl.Text(r, repl) {
			t.Errorf("text of %q in %s = %q, %v; want %q", want, tc.raw, text, ok, tmpl.Text(r, repl))
		}
	}
}

func TestKeyOfRefuses(t *testing.T) {
	for _, tc := range []struct{ raw, text, want string }{
		{"static", "a", `use "static"`},
		{"{header.X-Api-Key}", "", "the key is empty"},
		{"{header.X-Api-Key}", " \t", "is no key"},
		{"id-{header.X-Api-Key}", "a", "is no key of id-{header.X-Api-Key}: use a value in place of the placeholder"},
		{"id-{header.X-Api-Key}", "id-", "is no key"},
		{"{client_ip}", "2001:db8::/48", "addresses count by their first 64 bits"},
		{"{client_ip}", "192.0.2.0/24", "addresses count by their first 32 bits"},
		{"{header.X-Api-Key}:{host}", "a", "in place of each placeholder"},
		{"{header.X-Api-Key}:{host}", "a:b:c", "can be split in several ways"},
		{"{header.X-Api-Key}{host}", "abc", "can be split in several ways"},
		{"{header.X-Api-Key}:{client_ip}", "a:b", "is no key"},
		{"{header.X-Api-Key}:{client_ip}", "a:2001:db8::/64", "can be split in several ways"},
		{"{header.X-Api-Key}:{host}", strings.Repeat("a", maxTextLen) + ":b", "use at most"},
	} {
		if key, err := mustTemplate(t, tc.raw, masked).KeyOf(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("key of %.40q in %s = %q, %v; want an error that says %q", tc.text, tc.raw, key, err, tc.want)
		}
	}
}

// Splitting a text that has very many ways must not keep a node busy.
func TestKeyOfIsBounded(t *testing.T) {
	start := time.Now()
	tmpl := mustTemplate(t, "{header.A}:{header.B}:{header.C}:{header.D}!", masked)
	if _, err := tmpl.KeyOf(strings.Repeat(":", maxTextLen)); err == nil {
		t.Error("a text without the end of the template is a key")
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

func FuzzKeyOf(f *testing.F) {
	f.Add("sk_1", "192.0.2.1")
	f.Add(" a:b ", "2001:db8::1")
	f.Add("a|b", "::ffff:192.0.2.1")
	f.Add("\xff\x00", "fe80::1%eth0")
	f.Add("192.0.2.0/24", "0.0.0.0")
	f.Add(strings.Repeat("x", 300), "2001:db8::1")
	f.Fuzz(func(t *testing.T, apiKey, address string) {
		if _, err := netip.ParseAddr(address); err != nil {
			return // Caddy has no other texts as an address
		}
		r, repl := keyRequest("192.0.2.9", "X-Api-Key", apiKey)
		setClientIP(address)(r)
		for _, raw := range []string{"{header.X-Api-Key}", "{client_ip}", "{header.X-Api-Key}|{client_ip}"} {
			tmpl := mustTemplate(t, raw, masked)
			want, has, err := tmpl.Append(nil, r, repl)
			if has != Present || err != nil {
				continue
			}
			got, err := tmpl.KeyOf(tmpl.Text(r, repl))
			if err == nil && !bytes.Equal(got, want) {
				t.Errorf("%s: key of %q is %q, want %q", raw, tmpl.Text(r, repl), got, want)
			}
			text, ok := tmpl.TextOf(want)
			if ok == IsDigest(want) || ok && text != tmpl.Text(r, repl) {
				t.Errorf("%s: text of the key of %q is %q, %v", raw, tmpl.Text(r, repl), text, ok)
			}
		}
	})
}
