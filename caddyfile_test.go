package fleetlimit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/fleetlimit/fleetlimit/config"
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

// FuzzDirective checks that no text makes the parser panic, that errors have a place, and that
// accepted configurations survive a round trip through JSON.
func FuzzDirective(f *testing.F) {
	for _, seed := range []string{
		"zone api {\nkey {http.vars.client_ip}\nlimit 100/1m burst 200\nalgorithm token_bucket\nmax_keys 10\nallow_key a* b\nreject_header Link \"<{client_ip}>; rel=help\"\n}",
		"zone a {\nkey k\ntier {http.vars.t} trusted {\nfree 1/s\nkeys a* b free\ndefault free\n}\nendpoint GET,PUT /x 1/s\n}",
		"zone a {\nkey k\nlimit 9/s\nendpoint * {\nlimit 5/d\nalgorithm sliding_window 5\ncost 2\n}\ncost {http.vars.n}\n}",
		"zone a {\nmatch {\npath /x\nmethod GET\n}\nmatch @x\nkey k\non_missing_key skip\nipv4_prefix 8\nlimit block\n}",
		"zone \"any name\" {\nmatch method GET\nevents 5\nwindow 1m\n}\ndistributed {\nread_interval 1s\n}\njitter 0.2",
		"zone a {\nkey k\nmode strict\non_outage open\nlimit 9/s\ntier {\nfree 1/s {\nmode lease\n}\ndefault free\n}\n}",
		"zone a {\nkey k\ntier {\nfree 1/s\ndefault free\n}\nendpoint /a {\nmode lease\ntier {\nfree {\nmode strict\n}\n}\n}\n}",
		"allow private_ranges 192.0.2.1\ndeny 2001:db8::/32\nheaders x\nreject problem\nlog_key\njitter 20%\nmax_retry_after 1h",
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
		app := new(App)
		rest := config.Caddyfile{App: &app.App.App, CheckZone: app.CheckZone}
		if err := h.ParseCaddyfile(caddyfile.NewDispenser(tokens), rest); err != nil {
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

// TestEnvironmentIsReadWhenConfigurationLoads adapts a Caddyfile without the environment variables of the
// machine that will run it.
func TestEnvironmentIsReadWhenConfigurationLoads(t *testing.T) {
	for _, zone := range []string{
		"key {env.FLEETLIMIT_TEST_UNSET}-{client_ip}\nlimit 1/s",
		"key k\nlimit 1/s\non_missing_key {env.FLEETLIMIT_TEST_UNSET}",
		"key k\nlimit 5/s\ncost {env.FLEETLIMIT_TEST_UNSET}",
	} {
		app := new(App)
		rest := config.Caddyfile{App: &app.App.App, CheckZone: app.CheckZone}
		if err := new(Handler).ParseCaddyfile(dispenser(t, "rate_limit {\nzone api {\n"+zone+"\n}\n}"), rest); err != nil {
			t.Errorf("%q is refused: %v", zone, err)
		}
	}
}

// FuzzGlobalOption checks that no text makes the parser panic, that errors have a place, and that
// accepted configurations survive a round trip through JSON.
func FuzzGlobalOption(f *testing.F) {
	for _, seed := range []string{
		"tier free 100/1m\ntier banned block\ndefaults {\nalgorithm sliding_window 6\nheaders x\nreject error\n}",
		"redis {\naddress localhost:6379\n}",
		"redis standalone {\naddress [::1]:6379\nusername u\npassword {env.P}\ndb 3\nkey_prefix a\ntimeout 20ms\npool_size 8\ntls\n}",
		"redis sentinel {\naddress a:1 b:2\nmaster_name m\nsentinel_password \"p {\"\n}",
		"redis cluster {\naddress {env.A}\ntls {\nca f\nserver_name s\ninsecure_skip_verify\n}\n}",
		"redis {\naddress localhost:6379\n}\nnodes 20\ntier pro 1/s {\nmode strict\n}\ndefaults {\nmode lease\n}", "nodes 1",
		"zone a {\nkey {client_ip}\ntier {\npro\ndefault pro\n}\n}\ntier pro 1/s\nzone b {\nmatch {\npath /a\n}\nevents 5\nwindow 1m\n}",
		"zone a", "zone a {", "zone a {\nkey k\nlimit", "zone a {\nmatch {\n", "zone a {\ntier {\nx 1/s {\n", "zone", "zone {\n}", "zone a {\nmatch @b\n}", "zone a {\n}\nzone a {\n}", "zone a b {\nkey k\n}",
		"redis", "redis {", "redis {\n}", "redis {\ntls {", "redis {\naddress \"\"\n}", "redis cluster {\naddress a:1\ntls {\n{\n}\n}\n}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := caddyfile.Tokenize([]byte("rate_limit {\n"+text+"\n}"), "Caddyfile")
		if err != nil {
			return
		}
		option, err := parseGlobalOption(caddyfile.NewDispenser(tokens), nil)
		if err != nil {
			if !strings.Contains(err.Error(), "Caddyfile:") {
				t.Fatalf("the error has no place: %v", err)
			}
			return
		}
		written := option.(httpcaddyfile.App).Value
		read := new(App)
		if err := caddy.StrictUnmarshalJSON(written, read); err != nil {
			t.Fatalf("%s is not the configuration of an app: %v", written, err)
		}
		again, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, written) {
			t.Fatalf("was written  %s\nand reads as %s", written, again)
		}
	})
}

// An error quotes what is wrong, but only the beginning of it if it is long.
func TestLongErrors(t *testing.T) {
	long := strings.Repeat("a", 60_000)
	for _, text := range []string{
		"{\nrate_limit {\nnodes " + long + "\n}\n}\n", ":80 {\nrate_limit {\nzone z {\nkey static\nlimit " + long + "\n}\n}\n}\n",
	} {
		_, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), nil)
		if err == nil || len(err.Error()) > 4400 || !strings.Contains(err.Error(), "use ") {
			t.Errorf("adapting %.60q: %.200v, want an error of at most 4400 bytes", text, err)
		}
	}
}
