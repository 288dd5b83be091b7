package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// zonesOfImport parses the zones in the only directive of a Caddyfile, which has snippets and one
// site.
func zonesOfImport(t *testing.T, text string) (Zones, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "Caddyfile")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	blocks, err := caddyfile.Parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	h := new(Handler)
	site := blocks[len(blocks)-1]
	err = h.ParseCaddyfile(caddyfile.NewDispenser(site.Segments[0]), Caddyfile{State: map[string]any{}})
	return h.Zones, err
}

const limited = "(lim) {\n\trate_limit {\n\t\tzone a {\n\t\t\tkey {client_ip}\n\t\t\t$\n\t\t}\n\t}\n}\n:80 {\n\timport lim $\n}\n"

// An argument of import may be several words.
func TestArgumentsOfImportWithSpaces(t *testing.T) {
	for _, tc := range []struct{ line, args string }{
		{"limit {args[0]}", `"60/1m burst 20"`},
		{"limit {args[:]}", `60/1m burst 20`},
		{"limit {args[0]} {args[1]}", `60/1m "burst 20"`},
		{"limit {args[0]} burst {args[1]}", `60/1m 20`},
		{"limit {args.0}", "`60/1m burst 20`"},
	} {
		text := strings.Replace(strings.Replace(limited, "$", tc.line, 1), "$", tc.args, 1)
		zones, err := zonesOfImport(t, text)
		if err != nil {
			t.Errorf("%s of import lim %s: %v", tc.line, tc.args, err)
		} else if got := zones["a"].Limit.String(); got != "60/1m burst 20" {
			t.Errorf("%s of import lim %s is %q, want 60/1m burst 20", tc.line, tc.args, got)
		}
	}
	for _, tc := range []struct {
		line, args string
		is         func(z *Zone) bool
	}{
		{"endpoint {args[0]} {args[1]}", `"POST /login" "5/1m burst 2"`, func(z *Zone) bool {
			e := z.Endpoints[0]
			return e.Methods[0] == "POST" && e.Path == "/login" && e.Limit.Burst == 2
		}},
		{"endpoint /login {args[0]}", `"5/1m fixed_window"`, func(z *Zone) bool { return z.Endpoints[0].Algorithm.Name == "fixed_window" }},
		{"endpoint /login {\nlimit {args[0]}\n}", `"5/1m burst 2"`, func(z *Zone) bool { return z.Endpoints[0].Limit.Burst == 2 }},
		{"tier {args[0]} {\npro {args[1]}\ndefault pro\n}", `"{vars.plan} trusted" "5/1m burst 2"`, func(z *Zone) bool {
			return z.Tier.Trusted && z.Tier.Tiers["pro"].Limit.Burst == 2
		}},
		{"on_missing_key {args[0]}", `"{client_ip} 5/1m burst 2"`, func(z *Zone) bool { return z.OnMissingLimit.Burst == 2 }},
		{"on_missing_key {client_ip} {args[0]}", `"5/1m burst 2"`, func(z *Zone) bool { return z.OnMissingLimit.Burst == 2 }},
		{"algorithm {args[0]}", `"sliding_window 6"`, func(z *Zone) bool { return z.Algorithm.Subwindows == 6 }},
		{"charge {args[0]}", `"usage reserve 5"`, func(z *Zone) bool { return z.Charge != nil }},
		{"count_status {args[0]}", `"401 5xx"`, func(z *Zone) bool { return len(z.CountStatus) == 2 }},
		{"cost {args[0]}", `"{vars.cost} trusted"`, func(z *Zone) bool { return z.Cost.Trusted }},
		{"compare {\nlimit {args[0]}\n}", `"5/1m burst 2"`, func(z *Zone) bool { return z.Compare.Limit.Burst == 2 }},
	} {
		text := strings.Replace(strings.Replace(limited, "$", "limit 10/1m\n"+tc.line, 1), "$", tc.args, 1)
		zones, err := zonesOfImport(t, text)
		if err != nil {
			t.Errorf("%s of import lim %s: %v", tc.line, tc.args, err)
		} else if !tc.is(zones["a"]) {
			t.Errorf("%s of import lim %s makes %+v", tc.line, tc.args, zones["a"])
		}
	}
}

// Caddy drops the arguments of import that nothing uses. In a zone, that is an error.
func TestLostArgumentsOfImportAreRefused(t *testing.T) {
	for _, tc := range []struct{ line, args, lost string }{
		{"limit {args[0]}", "60/1m burst 20", "burst 20"},
		{"limit {args.0}", "60/1m burst 20", "burst 20"},
		{"limit 10/1m\nendpoint /login {args[0]}", "5/1m burst 2", "burst 2"},
		{"limit 10/1m\nalgorithm {args[0]}", "sliding_window 6", "6"},
		{"limit 10/1m\ncount_status {args[0]}", "401 5xx", "5xx"},
		{"limit {args[1]}", "x 60/1m burst 20", "burst 20"},
		{"limit {args[0]}\nendpoint /x {args[1]}", "60/1m 5/1m burst 2", "burst 2"},
		{"limit 60/1m", "burst 20", "burst 20"},
	} {
		text := strings.Replace(strings.Replace(limited, "$", tc.line, 1), "$", tc.args, 1)
		if _, err := zonesOfImport(t, text); err == nil || !strings.Contains(err.Error(), `"`+tc.lost+`" is lost: use quotes`) {
			t.Errorf("%s of import lim %s: %v, want an error that says what is lost", tc.line, tc.args, err)
		}
	}
	for _, tc := range []struct{ line, args string }{
		{"limit {args[0]}", "60/1m"},
		{"limit {args[0]}\nmax_keys {args[1]}", "60/1m 50"},
		{"limit {args[0]}\nallow_key {args[1:]}", "60/1m a b"},
	} {
		text := strings.Replace(strings.Replace(limited, "$", tc.line, 1), "$", tc.args, 1)
		if _, err := zonesOfImport(t, text); err != nil {
			t.Errorf("%s of import lim %s: %v, want none", tc.line, tc.args, err)
		}
	}
}
