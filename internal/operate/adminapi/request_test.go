package adminapi

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// statusOf returns the status that Caddy answers an error of the API with, 200 for nil.
func statusOf(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return http.StatusOK
	}
	var answer caddy.APIError
	if !errors.As(err, &answer) {
		t.Fatalf("the error is a %T, want a caddy.APIError", err)
	}
	return answer.HTTPStatus
}

func TestReadJSON(t *testing.T) {
	const json = "application/json"
	for _, tc := range []struct {
		contentType, body string
		want              int
	}{
		{json, `{"limit": "1/s"}`, 200},
		{json + "; charset=utf-8", " {} \n", 200},
		{"Application/JSON", "{}", 200},
		{json, "", 400},
		{json, `{"other": 1}`, 400},
		{json, `{} {}`, 400},
		{json, `"text"`, 400},
		{json, `{"reason": "` + strings.Repeat("x", maxBody) + `"}`, 413},
		{json, `{}` + strings.Repeat(" ", maxBody), 413},
		{"", "{}", 415},
		{"text/plain", "{}", 415},
		{"application/json-patch+json", "{}", 415},
		{"application/x-www-form-urlencoded", "{}", 415},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tc.body))
		r.Header.Set("Content-Type", tc.contentType)
		err := readJSON(httptest.NewRecorder(), r, maxBody, new(emergencyRequest), exampleEmergency)
		if got := statusOf(t, err); got != tc.want {
			t.Errorf("%q with %.40q = %d (%v), want %d", tc.contentType, tc.body, got, err, tc.want)
		}
	}
}

// The author is the client unless the request names one. The subject of a certificate stays in the
// author.
func TestAuthorOf(t *testing.T) {
	check := func(query, want string, certificate *x509.Certificate) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPut, "/?"+query, nil)
		r.RemoteAddr = "192.0.2.1:5"
		if certificate != nil {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
		}
		got, err := authorOf(r)
		if got != want || (want == "") != (statusOfError(err) == 400) {
			t.Errorf("author of %.40q = %q, %v, want %q", query, got, err, want)
		}
	}
	check("", "192.0.2.1:5", nil)
	check("author=+alice@host+", "alice@host", nil)
	check("author="+strings.Repeat("x", 200), strings.Repeat("x", 200), nil)
	check("author="+strings.Repeat("x", 201), "", nil)
	check("author=a%0Ab", "", nil)
	check("author=a%FF", "", nil)
	certificate := &x509.Certificate{SerialNumber: big.NewInt(7)}
	check("", "certificate 7", certificate)
	certificate.Subject = pkix.Name{CommonName: "alice", Organization: []string{"ops"}}
	check("", "CN=alice,O=ops", certificate)
	check("author=bob", "CN=alice,O=ops for bob", certificate)
}

// A client that comes while Caddy starts has to try again.
func TestNothingRuns(t *testing.T) {
	for starting, want := range map[bool]int{true: http.StatusServiceUnavailable, false: http.StatusNotFound} {
		p := &Process{Running: func() *Running { return nil }, Starting: func() bool { return starting }}
		_, err := running(getRules)(p, httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		if err == nil || statusOf(t, err) != want {
			t.Errorf("starting %t: error = %v, want %d", starting, err, want)
		}
	}
}
