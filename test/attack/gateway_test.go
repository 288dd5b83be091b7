// Package attack tries to get past an exhausted key, from outside. A whole Caddy speaks HTTP/1.1, HTTP/2 and
// HTTP/3, clients write the bytes of requests themselves, and an upstream records the keys that it sees. It
// must not see a key more often than the key was counted. Other tests overload the gateway, or make its Redis
// fail in ways that an attacker can cause.
package attack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/fleetlimit/fleetlimit"
	"github.com/fleetlimit/fleetlimit/test/certtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// hostName is the name in the gateway's certificate.
const hostName = "gateway.test"

// A gateway is the Caddy of this process in front of an upstream, used by one test.
type gateway struct {
	plain   string // the address of HTTP/1.1
	tls     string // the address of HTTP/2 and HTTP/3
	logFile string
}

// serve starts a gateway with these directives in front of an upstream. The gateway counts in memory.
func serve(t *testing.T, directives string, upstream http.HandlerFunc) *gateway {
	t.Helper()
	return serveWith(t, "", directives, upstream)
}

// serveWith does what serve does, with global options.
func serveWith(t *testing.T, options, directives string, upstream http.HandlerFunc) *gateway {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	g := &gateway{plain: redistest.FreeAddr(), tls: redistest.FreeAddr(), logFile: filepath.Join(dir, "log")}
	site := fmt.Sprintf("%s\nreverse_proxy %s\n", directives, up.Listener.Addr())
	g.load(t, fmt.Sprintf(`{
		%s
		admin off
		persist_config off
		auto_https off
		default_bind 127.0.0.1
		storage file_system %s
		log {
			output file %s
			format json
		}
		servers {
			trusted_proxies static 127.0.0.0/8
		}
	}
	http://:%s {
		%s
	}
	https://:%s {
		tls %s %s
		%s
	}`, options, dir, g.logFile, redistest.Port(g.plain), site, redistest.Port(g.tls), cert, key, site))
	t.Cleanup(func() { g.stop(t) })
	return g
}

// stop ends Caddy.
func (g *gateway) stop(t *testing.T) {
	if err := caddy.Stop(); err != nil {
		t.Errorf("stopping Caddy: %v", err)
	}
	if log := g.log(t); strings.Contains(log, "panic") {
		t.Errorf("Caddy has logged a panic:\n%s", log)
	}
}

// load adapts and runs a Caddyfile.
func (g *gateway) load(t *testing.T, text string) {
	t.Helper()
	adapter := caddyfile.Adapter{ServerType: httpcaddyfile.ServerType{}}
	config, _, err := adapter.Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if err := caddy.Load(config, true); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// log returns the whole lines that Caddy has logged.
func (g *gateway) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(g.logFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text[:bytes.LastIndexByte(text, '\n')+1])
}

// logged returns the fields of the log lines with this message.
func (g *gateway) logged(t *testing.T, message string) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(g.log(t)) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if fields["msg"] == message {
			lines = append(lines, fields)
		}
	}
	return lines
}

// certificate writes a certificate of the gateway into dir.
func certificate(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	cert, key, err := certtest.New(hostName)
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err = errors.Join(err, os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	return certFile, keyFile
}
