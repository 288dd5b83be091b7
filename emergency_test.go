package fleetlimit

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/rules"
)

// startEmergency switches emergency mode on for some time, or until the test ends.
func startEmergency(t *testing.T, limit string, expiresIn time.Duration) *emergency {
	t.Helper()
	e, err := newEmergency(&rules.Emergency{Limit: limit, ExpiresAt: new(time.Now().Add(expiresIn))})
	if err == nil {
		err = emergencyMode.start(e)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(endEmergency)
	return e
}

func endEmergency() {
	if e := emergencyMode.current.Load(); e != nil {
		emergencyMode.end(e, "the test has ended")
	}
}

func TestEmergencyEndsExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer endEmergency()
		startEmergency(t, "10/1s", time.Minute)
		time.Sleep(30 * time.Second)
		second := startEmergency(t, "10/1s", time.Minute) // which prolongs it
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if got := emergencyMode.active(time.Now()); got != second {
			t.Errorf("emergency a nanosecond before its end = %p, want %p", got, second)
		}
		if got := emergencyMode.active(time.Now().Add(1)); got != nil {
			t.Errorf("emergency at its end = %p, want none, even if the timer is late", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := emergencyMode.current.Load(); got != nil {
			t.Errorf("emergency after its end = %p, want none", got)
		}
	})
}

// The old one must not end what has replaced it.
func TestEmergencyThatWasReplacedEndsNothing(t *testing.T) {
	first := startEmergency(t, "10/1s", time.Hour)
	second := startEmergency(t, "5/1s", time.Hour)
	emergencyMode.end(first, "late")
	if got := emergencyMode.active(time.Now()); got != second {
		t.Errorf("emergency = %p, want %p", got, second)
	}
	if second.counts != first.counts {
		t.Error("the counts have changed with the limit, want the same")
	}
}

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
	if got := emergencyMode.current.Load(); got != nil {
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

func TestParseEmergencyLimit(t *testing.T) {
	for text, want := range map[string]string{ // "": it is refused
		"10/1s": "10/1s", "5/s burst 20": "5/1s burst 20", "block": "", "unlimited": "", "5/1s burst": "",
	} {
		got, err := process{}.ParseEmergencyLimit(text)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s = %q, %v, want %q", text, got, err, want)
		}
	}
}
