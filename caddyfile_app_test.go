package fleetlimit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

// FuzzGlobalOption checks that no text makes the parser panic, that errors have a place, and that
// accepted configurations survive a round trip through JSON.
func FuzzGlobalOption(f *testing.F) {
	for _, seed := range []string{
		"tier free 100/1m\ntier banned block\ndefaults {\nalgorithm sliding_window 6\nheaders x\nreject error\n}",
		"redis {\naddress localhost:6379\n}",
		"redis standalone {\naddress [::1]:6379\nusername u\npassword {env.P}\ndb 3\nkey_prefix a\ntimeout 20ms\npool_size 8\ntls\n}",
		"redis sentinel {\naddress a:1 b:2\nmaster_name m\nsentinel_password \"p {\"\n}",
		"redis cluster {\naddress {env.A}\ntls {\nca f\nserver_name s\ninsecure_skip_verify\n}\n}",
		"redis {\naddress localhost:6379\n}\nnodes 20\ntier pro 1/s {\nmode strict\nmax_overshoot 5%\n}\ndefaults {\nmode lease\n}", "nodes 1",
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
