package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// send sends a request of a key. Once admitted, the request takes some time. send returns its
// status, and how long it took until the request was admitted or rejected.
func send(h caddyhttp.MiddlewareHandler, key string, takes time.Duration) (status int, after time.Duration) {
	w, began := httptest.NewRecorder(), time.Now()
	_ = h.ServeHTTP(w, benchRequest(key), caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		after = time.Since(began)
		time.Sleep(takes)
		w.WriteHeader(http.StatusOK)
		return nil
	}))
	if w.Code != http.StatusOK {
		after = time.Since(began)
	}
	return w.Code, after
}

// TestConcurrentWait has requests wait until others have ended.
func TestConcurrentWait(t *testing.T) {
	const ms = time.Millisecond
	for i, test := range []struct {
		zone   string
		takes  time.Duration // how long each request takes
		status int           // of the second request
		after  time.Duration
	}{
		{`"concurrent": 1, "wait": "500ms"`, 200 * ms, 200, 200 * ms},
		{`"concurrent": 1, "wait": "500ms"`, 700 * ms, 429, 500 * ms},
		{`"concurrent": 1, "wait": "500ms", "limit": "1/1h"`, 200 * ms, 429, 0}, // the rate would reject it anyway
		{`"concurrent": 1, "wait": "500ms", "limit": "2/1h"`, 200 * ms, 200, 200 * ms},
		{`"concurrent": 1, "wait": "500ms", "endpoints": [{"path": "/*", "cost": 1, "wait": "0s"}]`, 200 * ms, 429, 0},
		{`"concurrent": 1, "wait": "500ms", "adaptive": {"max_latency": "100ms"}`, 50 * ms, 200, 50 * ms},
	} {
		h := provisioned(t, keyed("concurrent-wait-"+string(rune('a'+i)), test.zone))
		synctest.Test(t, func(t *testing.T) {
			go send(h, "k", test.takes)
			synctest.Wait()
			if status, after := send(h, "k", test.takes); status != test.status || after != test.after {
				t.Errorf("%s: second request = %d after %v, want %d after %v", test.zone, status, after, test.status, test.after)
			}
			time.Sleep(time.Minute)
		})
		if n := h.requests.Zones[0].Usage.InFlight.Load(); n != 0 {
			t.Errorf("%s: %d requests are in flight after all have ended", test.zone, n)
		}
	}
}

// TestWaitForPermitAndRate has a request wait for a permit and for a rate: the second request waits
// 200 ms until the first has ended, and then until its events are there.
func TestWaitForPermitAndRate(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		rate   string
		status int // of the second request
		after  time.Duration
	}{
		{`"limit": "10/4s burst 1"`, 200, 400 * ms},
		{`"limit": "10/6s burst 1"`, 429, 0}, // its turn would come after 600 ms
		{`"limit": "1/450ms", "algorithm": "fixed_window"`, 200, 450 * ms},
		{`"limit": "1/600ms", "algorithm": "fixed_window"`, 429, 0},
	} {
		t.Run(test.rate, func(t *testing.T) {
			h := provisioned(t, keyed("permit-and-rate", `"concurrent": 1, "wait": "500ms", `+test.rate))
			synctest.Test(t, func(t *testing.T) {
				go send(h, "k", 200*ms)
				synctest.Wait()
				if status, after := send(h, "k", 0); status != test.status || after != test.after {
					t.Errorf("second request = %d after %v, want %d after %v", status, after, test.status, test.after)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// In emergency mode, TestNobodyWaitsInEmergency has requests rejected at once that would otherwise
// wait for their turn, for a permit, or for the status of another request.
func TestNobodyWaitsInEmergency(t *testing.T) {
	for i, zone := range []string{
		`"limit": "10/1s burst 1", "wait": "500ms"`,
		`"limit": "1/300ms", "algorithm": "fixed_window", "wait": "500ms"`,
		`"concurrent": 1, "wait": "500ms"`,
		`"limit": "1/1h", "count_status": ["401"], "wait": "500ms"`,
	} {
		for _, test := range []struct {
			emergency bool
			status    int // of the second request
		}{{true, 429}, {false, 200}} {
			h := provisioned(t, keyed(fmt.Sprintf("emergency-wait-%d-%t", i, test.emergency), zone))
			if test.emergency {
				startEmergency(t, "100/1s", time.Hour)
			}
			synctest.Test(t, func(t *testing.T) {
				go send(h, "k", 200*time.Millisecond)
				synctest.Wait()
				if status, after := send(h, "k", 0); status != test.status || (after == 0) != test.emergency {
					t.Errorf("%s, emergency %t: second request = %d after %v, want %d", zone, test.emergency, status, after, test.status)
				}
				time.Sleep(time.Hour)
			})
			endEmergency()
		}
	}
}
