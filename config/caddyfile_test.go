package config

import (
	"encoding/json"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

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
	want := `{"rate_limits":{"api":{"key":"{http.vars.client_ip}","limit":"10/1m",` +
		`"tier":{"placeholder":"{http.vars.tier}","tiers":{"free":"100/1m","pro":null}},"place":"Caddyfile:2"}},` +
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
