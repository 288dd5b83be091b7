package fleet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A node is a Caddy of the fleet.
type node struct {
	t      *testing.T
	addr   string
	admin  string
	config string // path of its Caddyfile
	log    string // path of its log
	client *http.Client
	exited chan error
}

// start starts a node and returns when it listens. options is the content of the rate_limit global
// option, site that of its only site.
func start(t *testing.T, options, site string) *node {
	t.Helper()
	dir := t.TempDir()
	n := &node{
		t: t, addr: redistest.FreeAddr(), admin: redistest.FreeAddr(), config: filepath.Join(dir, "Caddyfile"), log: filepath.Join(dir, "log"),
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}},
		exited: make(chan error, 1),
	}
	n.write(options, site)
	log, err := os.Create(n.log)
	if err != nil {
		t.Fatal(err)
	}
	caddy := exec.Command(binary, "run", "--config", n.config)
	caddy.Stdout, caddy.Stderr = log, log
	if err := caddy.Start(); err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	go func() { n.exited <- caddy.Wait() }()
	t.Cleanup(func() {
		n.client.CloseIdleConnections()
		_ = caddy.Process.Kill()
		<-n.exited
	})
	n.await("its listener", func() bool {
		conn, err := net.Dial("tcp", n.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return n
}

// startAll starts nodes with the same configuration.
func startAll(t *testing.T, size int, options, site string) []*node {
	t.Helper()
	nodes := make([]*node, size)
	for i := range nodes {
		nodes[i] = start(t, options, site)
	}
	return nodes
}

// metric returns the value of a series, or 0 if there is none.
func (n *node) metric(series string) float64 {
	n.t.Helper()
	resp, err := n.client.Get("http://" + n.admin + "/metrics")
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				n.t.Fatal(err)
			}
			return f
		}
	}
	return 0
}

// write writes the node's Caddyfile.
func (n *node) write(options, site string) {
	n.t.Helper()
	_, port, _ := net.SplitHostPort(n.addr)
	text := fmt.Sprintf("{\n\tadmin %s\n\tpersist_config off\n\tdefault_bind 127.0.0.1\n\trate_limit {\n%s\n\t}\n}\n"+
		"http://:%s {\n%s\n\trespond ok\n\tlog\n}\n", n.admin, options, port, site)
	if err := os.WriteFile(n.config, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// reload loads another configuration.
func (n *node) reload(options, site string) {
	n.t.Helper()
	n.write(options, site)
	out, err := exec.Command(binary, "reload", "--config", n.config, "--address", n.admin).CombinedOutput()
	if err != nil {
		n.t.Fatalf("reload: %v\n%s", err, out)
	}
}

// await polls until done returns true, for 30 seconds at most.
func (n *node) await(what string, done func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("waited 30 s for %s; the log is\n%s", what, n.logged())
		}
	}
}

// logged returns the log.
func (n *node) logged() string {
	n.t.Helper()
	text, err := os.ReadFile(n.log)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

// get requests a path, with headers as "Name: value".
func (n *node) get(path string, headers ...string) (status int, header http.Header, err error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+n.addr+path, nil)
	if err != nil {
		return 0, nil, err
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header, err
}

// mustGet is get for a response that must have this status.
func (n *node) mustGet(status int, path string, headers ...string) http.Header {
	n.t.Helper()
	got, header, err := n.get(path, headers...)
	if err != nil {
		n.t.Fatal(err)
	}
	if got != status {
		n.t.Errorf("GET %s with %v = %d, want %d; headers %v", path, headers, got, status, header)
	}
	return header
}
