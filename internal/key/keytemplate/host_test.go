package keytemplate

import (
	"crypto/tls"
	"net/http"
	"testing"
)

// mustReader returns the reader of a placeholder.
func mustReader(t *testing.T, placeholder string) reader {
	t.Helper()
	p, err := ParsePlaceholder(placeholder, true)
	if err != nil {
		t.Fatal(err)
	}
	return p.read
}

func TestRemoteHost(t *testing.T) {
	read := mustReader(t, "{http.request.remote.host}")
	for _, tc := range []struct{ addr, want string }{
		{"192.0.2.1:80", "192.0.2.1"},
		{"[2001:db8::1]:80", "2001:db8::1"},
		{"[fe80::1%eth0]:80", "fe80::1%eth0"},
		{"@", ""},
		{"", ""},
		{"@abstract", ""},
		{"/run/client.sock", ""},
	} {
		r, repl := keyRequest("192.0.2.9")
		r.RemoteAddr = tc.addr
		if got, has := read(r, repl); got != tc.want || (has == Present) != (got != "") {
			t.Errorf("remote host of %q = %q, %v; want %q", tc.addr, got, has, tc.want)
		}
		r.TLS = &tls.ConnectionState{HandshakeComplete: false}
		if got, has := read(r, repl); got != "" || has != Missing {
			t.Errorf("remote host of %q in early data = %q, %v; want none", tc.addr, got, has)
		}
	}
}

func TestHostIsNormalized(t *testing.T) {
	for _, tc := range []struct{ host, name, hostport, label string }{
		{"a.example", "a.example", "a.example", "example"},
		{"A.Example", "a.example", "a.example", "example"},
		{"a.example.", "a.example", "a.example", "example"},
		{"A.EXAMPLE..", "a.example", "a.example", "example"},
		{"A.example.:8080", "a.example", "a.example:8080", "example"},
		{"a.example:8080", "a.example", "a.example:8080", "example"},
		{"a.example:", "a.example", "a.example", "example"},
		{"[2001:DB8::1]", "2001:db8::1", "2001:db8::1", "2001:db8::1"},
		{"[2001:DB8::1]:80", "2001:db8::1", "[2001:db8::1]:80", "2001:db8::1"},
		{"[2001:db8:0::1%eth0]", "2001:db8::1", "2001:db8::1", "2001:db8::1"},
		{"[2001:db8::1%25a%b]:80", "2001:db8::1", "[2001:db8::1]:80", "2001:db8::1"},
		{"[2001:db8::1].", "2001:db8::1", "2001:db8::1", "2001:db8::1"},
		{"[V1.A]:80", "v1.a", "v1.a:80", "a"},
		{"192.0.2.1", "192.0.2.1", "192.0.2.1", "1"},
		{" a ", "a", "a", "a"},
		{"a:b:c", "a:b:c", "a:b:c", "a:b:c"},
		{":80", "", ":80", ""},
		{".", "", "", ""},
		{"", "", "", ""},
	} {
		r, repl := keyRequest("192.0.2.1")
		r.Host = tc.host
		for placeholder, want := range map[string]string{
			"{http.request.host}": tc.name, "{http.request.hostport}": tc.hostport, "{http.request.header.Host}": tc.hostport,
			"{http.request.header.host}":   tc.hostport,
			"{http.request.host.labels.0}": tc.label, "{http.request.host.labels.9}": "",
		} {
			if got, has := mustReader(t, placeholder)(r, repl); got != want || (has == Present) != (want != "") {
				t.Errorf("%s of %q = %q, %v; want %q", placeholder, tc.host, got, has, want)
			}
		}
	}
}

func TestPlainHost(t *testing.T) {
	for _, tc := range []struct {
		host, want string
		differs    bool
	}{
		{"a.example", "a.example", false},
		{"A.example:80", "A.example:80", false},
		{"a.example.", "a.example", true},
		{"a.example..:80", "a.example:80", true},
		{"[::1]", "[::1]", false},
		{"[::1]:80", "[::1]:80", false},
		{"[::1%eth0]:80", "[::1]:80", true},
		{"[0::1%1]", "[::1]", true},
		{"", "", false},
		{".", "", true},
	} {
		if got, differs := PlainHost(tc.host); got != tc.want || differs != tc.differs {
			t.Errorf("PlainHost(%q) = %q, %v, want %q, %v", tc.host, got, differs, tc.want, tc.differs)
		}
	}
}

func TestMethodIsInUpperCase(t *testing.T) {
	r, repl := keyRequest("192.0.2.1")
	r.Method = "pOst"
	if got, has := mustReader(t, "{http.request.method}")(r, repl); got != http.MethodPost || has != Present {
		t.Errorf("method = %q, %v; want POST", got, has)
	}
}
