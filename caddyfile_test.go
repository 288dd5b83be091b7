package fleetlimit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// The cases in test/adapt test the grammar.

// dispenser returns the tokens of text.
func dispenser(t *testing.T, text string) *caddyfile.Dispenser {
	t.Helper()
	tokens, err := caddyfile.Tokenize([]byte(text), "Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	return caddyfile.NewDispenser(tokens)
}

func TestUnmarshalCaddyfile(t *testing.T) {
	// Whether a global tier pro exists is left to provisioning.
	h := new(Handler)
	err := h.UnmarshalCaddyfile(dispenser(t, `rate_limit {
		zone api {
			key {http.vars.client_ip}
			tier {http.vars.tier} {
				free 100/1m
				pro
			}
			limit 10/1m
		}
		allow 192.0.2.1
	}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"rate_limits":{"api":{"key":"{http.vars.client_ip}","limit":{"events":10,"window":60000000000},` +
		`"tier":{"placeholder":"{http.vars.tier}","tiers":{"free":{"events":100,"window":60000000000},"pro":null}},"place":"Caddyfile:2"}},` +
		`"allow":["192.0.2.1"],"place":"Caddyfile:1"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUnmarshalCaddyfileRefusesNamedMatchers(t *testing.T) {
	err := new(Handler).UnmarshalCaddyfile(dispenser(t, "rate_limit {\n zone api {\n  match @api\n }\n}"))
	want := "named matchers are not known here: use `match { <matchers> }`, at Caddyfile:3"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// FuzzDirective checks that no text makes the parser panic, that errors have a place, and that
// accepted configurations survive a round trip through JSON.
func FuzzDirective(f *testing.F) {
	for _, seed := range []string{
		"zone api {\nkey {http.vars.client_ip}\nlimit 100/1m burst 200\nalgorithm token_bucket\nmax_keys 10\nallow_key a* b\n}",
		"zone a {\nkey k\ntier {http.vars.t} trusted {\nfree 1/s\nkeys a* b free\ndefault free\n}\nendpoint GET,PUT /x 1/s\n}",
		"zone a {\nkey k\nlimit 9/s\nendpoint * {\nlimit 5/d\nalgorithm sliding_window 5\ncost 2\n}\ncost {http.vars.n}\n}",
		"zone a {\nmatch {\npath /x\nmethod GET\n}\nmatch @x\nkey k\non_missing_key skip\nipv4_prefix 8\nlimit block\n}",
		"zone \"any name\" {\nmatch method GET\nevents 5\nwindow 1m\n}\ndistributed {\nread_interval 1s\n}\njitter 0.2",
		"zone a {\nkey k\nmode strict\nmax_overshoot 0.7%\nlimit 9/s\ntier {\nfree 1/s {\nmode lease\n}\ndefault free\n}\n}",
		"zone a {\nkey k\ntier {\nfree 1/s\ndefault free\n}\nendpoint /a {\nmode lease\ntier {\nfree {\nmax_overshoot 0%\n}\n}\n}\n}",
		"allow private_ranges 192.0.2.1\ndeny 2001:db8::/32\nheaders x\nreject problem\nlog_key\njitter 20%",
		"zone a {", "zone", "{", "}", "match {\n{\n}", "zone a {\nmatch {\n}\n}\n}\n}", "deny \"\"", "storage file_system",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := caddyfile.Tokenize([]byte("rate_limit {\n"+text+"\n}"), "Caddyfile")
		if err != nil {
			return
		}
		h := new(Handler)
		p := directiveParser{
			Dispenser: caddyfile.NewDispenser(slices.Clone(tokens)),
			h:         h,
			app:       &App{ruleIDs: make(map[uint32]string)},
		}
		if err := p.parse(); err != nil {
			if !strings.Contains(err.Error(), "Caddyfile:") {
				t.Fatalf("the error has no place: %v", err)
			}
			return
		}
		written, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		var read Handler
		if err := caddy.StrictUnmarshalJSON(written, &read); err != nil {
			t.Fatalf("%s is not the configuration of a handler: %v", written, err)
		}
		again, err := json.Marshal(&read)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, written) {
			t.Fatalf("was written  %s\nand reads as %s", written, again)
		}
	})
}
