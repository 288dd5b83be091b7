package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A gateway is the Caddy of this process, used by one test.
type gateway struct {
	t       *testing.T
	addr    string // of the first site
	second  string // of the second site, if there is one
	logFile string
	storage string // the directory of Caddy's storage
	loads   int    // the number of configurations loaded
	client  *http.Client
}

// newGateway returns a gateway without a configuration.
func newGateway(t *testing.T) *gateway {
	t.Helper()
	log, err := os.CreateTemp(home, "*.log")
	if err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	g := &gateway{t: t, addr: redistest.FreeAddr(), second: redistest.FreeAddr(), logFile: log.Name(), storage: t.TempDir(),
		client: newClient()}
	t.Cleanup(func() {
		g.client.CloseIdleConnections()
		if err := g.loadJSON(emptyConfig()); err != nil {
			t.Errorf("unloading the configuration: %v", err)
		}
		if panics := g.logged("panic"); len(panics) > 0 {
			t.Errorf("Caddy has logged a panic: %v", panics)
		}
	})
	return g
}

// serve starts a gateway that has one site with these directives.
func serve(t *testing.T, site string) *gateway {
	t.Helper()
	return serveWith(t, "", site)
}

// serveWith starts a gateway with these global options, and one site with these directives.
func serveWith(t *testing.T, options, site string) *gateway {
	t.Helper()
	g := newGateway(t)
	g.mustLoad(g.caddyfile(options, site))
	return g
}

// caddyfile returns a configuration with more global options and one or two sites. The gateway
// trusts the address that its clients send in X-Forwarded-For.
func (g *gateway) caddyfile(options string, sites ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n\tadmin %s\n\tpersist_config off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n", adminAddr)
	fmt.Fprintf(&b, "\tlog {\n\t\toutput file %s {\n\t\t\troll_disabled\n\t\t}\n\t\tformat json\n\t}\n", g.logFile)
	fmt.Fprintf(&b, "\tstorage file_system %s\n", g.storage)
	fmt.Fprintf(&b, "\tservers {\n\t\tprotocols h1\n\t\tmax_header_size 1MiB\n\t\ttrusted_proxies static 127.0.0.0/8\n\t}\n")
	fmt.Fprintf(&b, "%s\n}\n", options)
	for i, site := range sites {
		fmt.Fprintf(&b, "http://:%s {\n%s\n}\n", redistest.Port([]string{g.addr, g.second}[i]), site)
	}
	return b.String()
}

// reload replaces the site by another site at another address.
func (g *gateway) reload(site string) {
	g.t.Helper()
	g.addr = redistest.FreeAddr()
	g.mustLoad(g.caddyfile("", site))
}

// mustLoad loads a Caddyfile.
func (g *gateway) mustLoad(caddyfile string) {
	g.t.Helper()
	if err := g.load(caddyfile); err != nil {
		g.t.Fatalf("loading the configuration: %v\n%s", err, caddyfile)
	}
}

// load loads a Caddyfile through the admin API.
func (g *gateway) load(caddyfile string) error { return g.post("text/caddyfile", caddyfile) }

// loadJSON loads a native configuration through the admin API.
func (g *gateway) loadJSON(config string) error { return g.post("application/json", config) }

func (g *gateway) post(contentType, config string) error {
	err := g.change(http.MethodPost, "/load", config,
		http.Header{"Content-Type": {contentType}, "Cache-Control": {"must-revalidate"}})
	if err == nil {
		g.loads++
	}
	return err
}

// change sends a change of the configuration to the admin API.
func (g *gateway) change(method, path, body string, header http.Header) error {
	req, err := http.NewRequest(method, "http://"+adminAddr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	req.Close = true // what the admin API loads replaces the admin API
	resp, err := g.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s: %s", resp.Status, body)
	}
	awaitStoppedServers()
	return nil
}

// get requests a path. Headers are written as "Name: value".
func (g *gateway) get(path string, headers ...string) *reply {
	g.t.Helper()
	return g.request(http.MethodGet, path, headers...)
}

// request requests a path with a method.
func (g *gateway) request(method, path string, headers ...string) *reply {
	g.t.Helper()
	return g.requestAt(g.addr, method, path, headers...)
}

// requestAt requests a path from the site at addr.
func (g *gateway) requestAt(addr, method, path string, headers ...string) *reply {
	g.t.Helper()
	req, err := http.NewRequest(method, "http://"+addr+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	return readReply(g.t, resp)
}

// raw writes a request to a new connection, byte by byte, and reads one response.
func (g *gateway) raw(request string) *reply {
	g.t.Helper()
	conn, err := net.Dial("tcp", g.addr)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		g.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		g.t.Fatalf("reading the response to %.80q: %v", request, err)
	}
	return readReply(g.t, resp)
}

// logged returns the fields of the log entries with this message. Each line of the log must be one JSON
// object. It ignores a line without an end, which is still being written.
func (g *gateway) logged(message string) []map[string]any {
	g.t.Helper()
	text, err := os.ReadFile(g.logFile)
	if err != nil {
		g.t.Fatal(err)
	}
	var entries []map[string]any
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var entry map[string]any
		if err := json.Unmarshal(line, &entry); err != nil {
			g.t.Fatalf("a log line is not one JSON object: %v: %q", err, line)
		}
		if msg, _ := entry["msg"].(string); strings.Contains(msg, message) {
			entries = append(entries, entry)
		}
	}
	return entries
}
