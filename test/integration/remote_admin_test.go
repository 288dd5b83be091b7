package integration

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const remoteURL = "https://gateway.internal:2021" // the remote admin endpoint of docs/operate/remote.md

// TestRemoteAdmin runs a Caddy with the configuration for remote access of docs/operate/remote.md. Each
// client may do what its certificate permits, and a client without a certificate may do nothing. The history
// has the subject of the certificate with which somebody has changed something.
func TestRemoteAdmin(t *testing.T) {
	alice, monitor := newCertificate(t, "alice", nil), newCertificate(t, "monitor", nil)
	g := startRemoteAdmin(t, alice, monitor)
	g.admits(1, "X-User: a")

	for who, certificate := range map[string]*tls.Certificate{
		"nobody":                       nil,
		"a stranger with alice's name": newCertificate(t, "alice", nil),
		"alice, as the monitor says":   newCertificate(t, "alice", monitor),
	} {
		if r, err := g.remote(certificate, "GET", "/rate_limit/rules", ""); err == nil {
			t.Errorf("%s gets %d %s, want no answer", who, r.status, r.body)
		}
	}

	const (
		overrides = "/rate_limit/overrides"
		inspect   = "/rate_limit/zones/user/inspect"
		reset     = "/rate_limit/zones/user/reset"
		override  = `{"id": "launch", "zone": "user", "key": "a", "limit": "2/1h"}`
	)
	for _, tc := range []struct {
		who                *tls.Certificate
		method, path, body string
		status             int
		headers            []string
	}{
		{monitor, "GET", "/rate_limit/rules", "", 200, nil},
		{monitor, "POST", inspect, `{"key": "a"}`, 200, nil},
		{monitor, "POST", overrides, override, 403, nil},
		{monitor, "POST", reset, `{"key": "a"}`, 403, nil},
		{monitor, "POST", inspect + "/../reset", `{"key": "a"}`, 403, nil},
		{monitor, "POST", inspect + "/%2e%2e/reset", `{"key": "a"}`, 403, nil},
		{monitor, "PUT", "/rate_limit/rules", `{}`, 403, nil},
		{monitor, "DELETE", "/rate_limit/emergency?all_nodes=true", "", 403, nil},
		{monitor, "GET", "/config/", "", 403, nil},
		{monitor, "GET", "/rate_limit/../config/", "", 403, nil},
		{alice, "POST", "/load", `{}`, 403, nil},
		{alice, "POST", "/stop", "", 403, nil},
		// Requests of pages that a browser with alice's certificate shows.
		{alice, "POST", overrides, override, 403, []string{"Origin: https://attacker.example"}},
		{alice, "POST", overrides, override, 400, []string{"Origin: null"}},
		{alice, "POST", overrides, override, 400, []string{"Sec-Fetch-Mode: no-cors"}},
		{alice, "POST", overrides, override, 403, []string{"Sec-Fetch-Mode: cors"}},
		{alice, "OPTIONS", overrides, "", 403, []string{"Origin: https://attacker.example"}},
	} {
		r, err := g.remote(tc.who, tc.method, tc.path, tc.body, tc.headers...)
		if err != nil || r.status != tc.status {
			t.Errorf("%s %s with %q = %v, %v, want %d", tc.method, tc.path, tc.headers, r, err, tc.status)
		}
	}
	g.get("/", "X-User: a").rejected()
	g.mustRemote(alice, "GET", "/rate_limit/rules", "").is(200).has("ETag", `"0"`)

	g.mustRemote(alice, "POST", overrides, override).is(201).says(`"created_by":"CN=alice,O=ops"`)
	g.admits(1, "X-User: a")
	g.mustRemote(monitor, "GET", "/rate_limit/rules/versions", "").is(200).
		says(`{"version":1,`, `"author":"CN=alice,O=ops"`)

	// The commands do the same. Nobody can name another author than the subject of the certificate.
	change := g.command(t, alice, "override", "change", "launch", "--limit", "3/1h", "--author", "mallory")
	if !strings.Contains(change, "3/1h") {
		t.Errorf("override change prints %s, want the limit", change)
	}
	g.mustRemote(monitor, "GET", "/rate_limit/rules/versions?limit=1", "").is(200).
		says(`"author":"CN=alice,O=ops for mallory"`, `"summary":"overrides.launch.limit: 2/1h to 3/1h"`)
	g.command(t, alice, "override", "change", "launch", "--limit", "2/1h")
	g.mustRemote(monitor, "GET", "/rate_limit/rules/versions?limit=1", "").is(200).says(`"author":"CN=alice,O=ops"`)
	if out := g.command(t, monitor, "override", "remove", "launch"); !strings.Contains(out, "not authorized") {
		t.Errorf("override remove by the monitor prints %s, want a refusal", out)
	}

	ran := 0
	for _, c := range pageCommands(t, remotePage) {
		if !strings.Contains(c.command, remoteURL) {
			continue
		}
		ran++
		curl := parseCurl(c.command)
		who := map[string]*tls.Certificate{"alice.crt": alice, "monitor.crt": monitor}[curl.cert]
		r := g.mustRemote(who, curl.method, strings.TrimPrefix(curl.url, remoteURL), curl.body, curl.headers...)
		if got, want := shape(t, r.body), shape(t, c.output); got != want {
			t.Errorf("%s\nprints   %s\nthe page %s", c.command, got, want)
		}
	}
	if ran == 0 {
		t.Error("the page has no command for remote access")
	}
}

// A remoteAdmin is a Caddy in a process of its own, which has a remote admin endpoint.
type remoteAdmin struct {
	*gateway
	endpoint string         // the address of the remote admin endpoint
	roots    *x509.CertPool // the roots that vouch for the endpoint
	root     string         // the file of roots
}

// startRemoteAdmin starts a Caddy with the configuration of the page, and one site.
func startRemoteAdmin(t *testing.T, alice, monitor *tls.Certificate) *remoteAdmin {
	t.Helper()
	site := &gateway{t: t, addr: redistest.FreeAddr(), client: newClient()}
	dir := t.TempDir()
	g := &remoteAdmin{site, redistest.FreeAddr(), x509.NewCertPool(), filepath.Join(dir, "caddy/pki/authorities/local/root.crt")}
	t.Cleanup(g.client.CloseIdleConnections)
	file := filepath.Join(dir, "caddy.json")
	if err := os.WriteFile(file, g.config(alice, monitor), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	caddy := exec.Command(builtCaddy(t), "run", "--config", file)
	caddy.Env = append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	caddy.Stdout, caddy.Stderr = &output, &output
	if err := caddy.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- caddy.Wait() }()
	t.Cleanup(func() {
		_ = caddy.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("%s", &output)
		}
	})
	redistest.Eventually(t, "the root certificate", func() bool {
		root, _ := os.ReadFile(g.root)
		return g.roots.AppendCertsFromPEM(root)
	})
	redistest.Eventually(t, "the remote admin endpoint", func() bool {
		_, err := g.remote(alice, "GET", "/rate_limit/health/live", "")
		return err == nil
	})
	return g
}

// config returns the configuration of the page, for these clients, this machine and one site.
func (g *remoteAdmin) config(alice, monitor *tls.Certificate) []byte {
	g.t.Helper()
	page, err := os.ReadFile(remotePage)
	if err != nil {
		g.t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n```json body\n")
	text, _, _ = strings.Cut(text, "\n```\n")
	for shown, own := range map[string]string{
		"10.0.0.5:2021":           g.endpoint,
		`["gateway.internal"]`:    `["gateway.internal", "localhost"]`,
		"<alice.crt in base64>":   base64.StdEncoding.EncodeToString(alice.Certificate[0]),
		"<monitor.crt in base64>": base64.StdEncoding.EncodeToString(monitor.Certificate[0]),
	} {
		if !strings.Contains(text, shown) {
			g.t.Fatalf("the configuration of the page lacks %q:\n%s", shown, text)
		}
		text = strings.ReplaceAll(text, shown, own)
	}
	var config struct {
		Admin, Apps map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		g.t.Fatal(err)
	}
	config.Admin["listen"] = fmt.Appendf(nil, "%q", redistest.FreeAddr())
	config.Admin["config"] = []byte(`{"persist": false}`)
	config.Apps["http"] = fmt.Appendf(nil, `{"servers": {"site": {"listen": [%q], "routes": [{"handle": [
		{"handler": "rate_limit", "rate_limits": {"user": {"key": "{http.request.header.X-User}", "limit": "1/1h"}}},
		{"handler": "static_response", "body": "hello"}]}]}}}`, g.addr)
	whole, err := json.Marshal(map[string]any{"admin": config.Admin, "apps": config.Apps})
	if err != nil {
		g.t.Fatal(err)
	}
	return whole
}

// remote sends a request to the remote admin endpoint, from a client with a certificate. certificate is nil
// if the client has none.
func (g *remoteAdmin) remote(
	certificate *tls.Certificate, method, path, body string, headers ...string,
) (*reply, error) {
	g.t.Helper()
	config := &tls.Config{ServerName: "gateway.internal", RootCAs: g.roots}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if certificate == nil {
			return new(tls.Certificate), nil
		}
		return certificate, nil // even if the server does not ask for it
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	client := &http.Client{Timeout: 20 * time.Second, Transport: transport}
	req, err := http.NewRequest(method, "https://"+g.endpoint+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	return readReply(g.t, resp), nil
}

// command runs `caddy rate-limit` on the remote admin endpoint, and returns what it prints.
func (g *remoteAdmin) command(t *testing.T, certificate *tls.Certificate, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"client.crt": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}, "client.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, port, _ := strings.Cut(g.endpoint, ":")
	args = append([]string{"rate-limit", "--address", "localhost:" + port, "--client-cert", filepath.Join(dir, "client.crt"),
		"--client-key", filepath.Join(dir, "client.key"), "--ca", g.root}, args...)
	out, _ := exec.Command(builtCaddy(t), args...).CombinedOutput() // the output has the error
	return string(out)
}

// mustRemote does what remote does, for a client that must get an answer.
func (g *remoteAdmin) mustRemote(certificate *tls.Certificate, method, path, body string, headers ...string) *reply {
	g.t.Helper()
	r, err := g.remote(certificate, method, path, body, headers...)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

// newCertificate returns a certificate that is no authority. It is self-signed if signer is nil.
func newCertificate(t *testing.T, name string, signer *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{Organization: []string{"ops"}, CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
	}
	certificate := &tls.Certificate{PrivateKey: key}
	parent, parentKey := template, any(key)
	if signer != nil {
		certificate.Certificate = signer.Certificate
		if parent, err = x509.ParseCertificate(signer.Certificate[0]); err != nil {
			t.Fatal(err)
		}
		parentKey = signer.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate.Certificate = append([][]byte{der}, certificate.Certificate...)
	return certificate
}
