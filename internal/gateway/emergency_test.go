package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/rules"
)

// startEmergency switches emergency mode on, for expiresIn or until the test ends.
func startEmergency(t *testing.T, limit string, expiresIn time.Duration) {
	t.Helper()
	if _, err := emergencyMode.Start(&rules.Emergency{Limit: limit, ExpiresAt: new(time.Now().Add(expiresIn))}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(endEmergency)
}

func endEmergency() { emergencyMode.End("") }

// Requests are served while emergency mode is switched on, changed and off.
func TestEmergencySwitchesWhileRequestsAreServed(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"z": {"key": "k", "limit": {"unlimited": true}}}}`)
	var clients sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := h.ServeHTTP(newBenchWriter(), requestOf("192.0.2.1"), handlerThatWritesNothing); err != nil {
					t.Errorf("error = %v, want none", err)
				}
			}
		})
	}
	for range 50 {
		startEmergency(t, "1/1h", time.Hour)
		startEmergency(t, "2/1h", time.Millisecond)
		endEmergency()
	}
	close(done)
	clients.Wait()
	if got := emergencyMode.Describe(); got.Active {
		t.Errorf("emergency = %v, want none", got)
	}
}

// requestOf returns a request of a client with this address.
func requestOf(clientIP string) *http.Request {
	r := benchRequest("k")
	r.Context().Value(caddyhttp.VarsCtxKey).(map[string]any)[caddyhttp.ClientIPVarKey] = clientIP
	return r
}

func TestEmergencyClients(t *testing.T) {
	h := provisioned(t, `{"allow": ["198.51.100.1"], "rate_limits": {"z": {"key": "k", "limit": {"unlimited": true}}}}`)
	startEmergency(t, "1/1h", time.Hour)
	early := requestOf("192.0.2.9")
	early.TLS = new(tls.ConnectionState)
	for _, tc := range []struct {
		name    string
		request *http.Request
		want    int // of the second request
	}{
		{"address", requestOf("192.0.2.1"), 429},
		{"allowed address", requestOf("198.51.100.1"), 200},
		{"no address, as on a Unix socket", requestOf(""), 200},
		{"early data", early, 425},
	} {
		var status int
		for range 2 {
			r := tc.request
			vars := map[string]any{caddyhttp.ClientIPVarKey: caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey)}
			r = r.WithContext(context.WithValue(r.Context(), caddyhttp.VarsCtxKey, vars))
			w := newStatusWriter()
			err := h.ServeHTTP(w, r, handlerThatWritesNothing)
			status = w.status
			var answer caddyhttp.HandlerError
			if errors.As(err, &answer) {
				status = answer.StatusCode
			}
		}
		if status != tc.want {
			t.Errorf("%s: status = %d, want %d", tc.name, status, tc.want)
		}
	}
}

// A statusWriter notes the status, which is 200 unless a handler writes another one.
type statusWriter struct {
	*benchWriter
	status int
}

func newStatusWriter() *statusWriter { return &statusWriter{newBenchWriter(), http.StatusOK} }

func (w *statusWriter) WriteHeader(status int) { w.status = status }
