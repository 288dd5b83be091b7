package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A waited is what happened to a request of a test, by the clock of its bubble.
type waited struct {
	arrived, began time.Duration // since the test began; began is -1 if the request was rejected
	status         int
	header         http.Header
	err            error
}

// A crowd sends requests in a bubble.
type crowd struct {
	h     *Handler
	start time.Time
	wg    sync.WaitGroup
	mu    sync.Mutex
	all   []*waited // in the order of their arrival
}

func newCrowd(h *Handler) *crowd { return &crowd{h: h, start: time.Now()} }

// send sends a request of a key.
func (c *crowd) send(ctx context.Context, key string) *waited {
	r := &waited{arrived: time.Since(c.start), began: -1}
	c.mu.Lock()
	c.all = append(c.all, r)
	c.mu.Unlock()
	c.wg.Go(func() {
		request := benchRequest(key)
		request = request.WithContext(withCancelOf(request.Context(), ctx))
		w := httptest.NewRecorder()
		r.err = c.h.ServeHTTP(w, request, caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
			r.began = time.Since(c.start)
			w.WriteHeader(http.StatusOK)
			return nil
		}))
		r.status, r.header = w.Code, w.Header()
	})
	return r
}

// withCancelOf returns a context with the values of values that ends with end.
func withCancelOf(values, end context.Context) context.Context {
	ctx, cancel := context.WithCancel(values)
	context.AfterFunc(end, cancel)
	return ctx
}

// admitted returns the admitted requests, in the order of their arrival.
func (c *crowd) admitted() (all []*waited) {
	c.wg.Wait()
	for _, r := range c.all {
		if r.began >= 0 {
			all = append(all, r)
		}
	}
	return all
}

// inQueue runs a test in a bubble, with a handler that has a zone q.
func inQueue(t *testing.T, zone string, test func(t *testing.T, c *crowd)) {
	h := provisioned(t, keyed(strings.ReplaceAll(t.Name(), "/", "."), zone))
	synctest.Test(t, func(t *testing.T) { test(t, newCrowd(h)) })
}

// TestWaitUsesEachSlot sends 120 requests a second for ten seconds to a limit of 100.
func TestWaitUsesEachSlot(t *testing.T) {
	inQueue(t, `"limit": "100/1s burst 1", "wait": "500ms"`, func(t *testing.T, c *crowd) {
		for range 1200 {
			c.send(t.Context(), "k")
			time.Sleep(time.Second / 120)
		}
		admitted := c.admitted()
		if n := len(admitted); n < 980 || n > 1051 {
			t.Errorf("admitted in 10 s = %d, want 980 to 1051", n)
		}
		var last time.Duration
		for i, r := range admitted {
			// The clock of the store has whole microseconds.
			switch wait := r.began - r.arrived; {
			case wait > 500*time.Millisecond:
				t.Errorf("request %d waits %v, want 500ms at most", i, wait)
			case i > 0 && r.began-last < 10*time.Millisecond-time.Microsecond:
				t.Errorf("request %d begins %v after the one before, want 10ms or more", i, r.began-last)
			case wait > 0 && r.began-last > 10*time.Millisecond+time.Microsecond:
				t.Errorf("request %d waits %v after a slot that nobody uses", i, wait)
			}
			last = r.began
		}
	})
}

// TestWaitOfManyAtOnce sends 2000 requests at once. The bucket ends at 0, and not below: the next
// slot after the last turn is free.
func TestWaitOfManyAtOnce(t *testing.T) {
	inQueue(t, `"limit": "100/1s burst 1", "wait": "500ms"`, func(t *testing.T, c *crowd) {
		for range 2000 {
			c.send(t.Context(), "k")
		}
		if n := len(c.admitted()); n != 51 {
			t.Errorf("admitted = %d, want 51", n)
		}
		z := c.h.requests.Zones[0].Usage
		if got := z.Sum().Queued.Total(); got != 50 {
			t.Errorf("queued = %d, want 50", got)
		}
		if n, seconds, _ := z.Waits.Waited.Histogram(); n != 50 || seconds < 12.7 || seconds > 12.8 {
			t.Errorf("waits = %d of %v s in all, want 50 of 12.75", n, seconds)
		}
		if got := z.Waits.Waiting(); got != 0 {
			t.Errorf("waiting afterwards = %d, want 0", got)
		}
		for _, r := range c.all {
			if r.began < 0 && (r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") != "1" || r.arrived != 0) {
				t.Fatalf("a rejected request has status %d, Retry-After %q, want 429, 1", r.status, r.header.Get("Retry-After"))
			}
		}
		time.Sleep(5 * time.Millisecond)
		next := c.send(t.Context(), "k")
		if c.wg.Wait(); next.began != 510*time.Millisecond {
			t.Errorf("the next request begins after %v, want 510ms", next.began)
		}
	})
}

// TestWaitOfClientThatLeaves has two clients leave. The turn of the newest request is given back,
// and an older one is lost.
func TestWaitOfClientThatLeaves(t *testing.T) {
	inQueue(t, `"limit": "10/1s burst 1", "wait": "1s"`, func(t *testing.T, c *crowd) {
		older, leaveOlder := context.WithCancel(t.Context())
		newest, leaveNewest := context.WithCancel(t.Context())
		for _, ctx := range []context.Context{t.Context(), older, t.Context(), newest} {
			c.send(ctx, "k")
			synctest.Wait()
		}
		leaveNewest()
		synctest.Wait()
		next := c.send(t.Context(), "k")
		synctest.Wait()
		leaveOlder()
		synctest.Wait()
		last := c.send(t.Context(), "k")
		admitted := c.admitted()
		if len(admitted) != 4 || next.began != 300*time.Millisecond || last.began != 400*time.Millisecond {
			t.Errorf("admitted = %d, the next after %v, the last after %v, want 4, 300ms, 400ms", len(admitted), next.began, last.began)
		}
		w := &c.h.requests.Zones[0].Usage.Waits
		if back, lost := w.GivenBack.Load(), w.Lost.Load(); back != 1 || lost != 1 {
			t.Errorf("given back %d, lost %d, want 1, 1", back, lost)
		}
	})
}

// TestWaitForWindow takes once more when the window ends, if that is soon enough.
func TestWaitForWindow(t *testing.T) {
	for _, algorithm := range []string{"fixed_window", "sliding_window_log"} {
		t.Run(algorithm, func(t *testing.T) {
			inQueue(t, `"limit": "2/1s", "algorithm": "`+algorithm+`", "wait": "500ms"`, func(t *testing.T, c *crowd) {
				c.send(t.Context(), "k")
				c.send(t.Context(), "k")
				time.Sleep(300 * time.Millisecond)
				tooLate := c.send(t.Context(), "k")
				time.Sleep(300 * time.Millisecond)
				soon := c.send(t.Context(), "k")
				time.Sleep(2 * time.Second)
				admitted := c.admitted()
				if len(admitted) != 3 || tooLate.began >= 0 || soon.began != time.Second {
					t.Errorf("admitted %d, the one after 300ms at %v, the one after 600ms at %v, want 3, not, 1s",
						len(admitted), tooLate.began, soon.began)
				}
				if got := c.h.requests.Zones[0].Usage.Sum().Queued.Total(); got != 1 {
					t.Errorf("queued = %d, want 1", got)
				}
			})
		})
	}
}

// TestWaitIsBounded has requests wait up to the bounds: 1000 events of a key, and 5000 requests of
// a zone.
func TestWaitIsBounded(t *testing.T) {
	inQueue(t, `"limit": "100/1s burst 1", "wait": "1m"`, func(t *testing.T, c *crowd) {
		for range 1500 {
			c.send(t.Context(), "a")
		}
		time.Sleep(5 * time.Millisecond)
		w := &c.h.requests.Zones[0].Usage.Waits
		if got := w.Waiting(); got != 1000 {
			t.Errorf("waiting for one key = %d, want 1000", got)
		}
		for _, key := range []string{"b", "c", "d", "e", "f"} {
			for range 1000 {
				c.send(t.Context(), key)
			}
		}
		time.Sleep(5 * time.Millisecond)
		if got := w.Waiting(); got < 4980 || got > 5000 { // requests that are being decided count, too
			t.Errorf("waiting in the zone = %d, want up to 5000", got)
		}
		if n := len(c.admitted()); n < 4980 || n > 5006 {
			t.Errorf("admitted = %d, want up to 5000 and one of each key at once", n)
		}
		if w.Full.Load() == 0 {
			t.Error("no request was rejected for lack of room, want some")
		}
	})
}

// TestWaitBesideDenial has one zone deny a request that another zone would have wait. That zone
// takes nothing for it.
func TestWaitBesideDenial(t *testing.T) {
	const queue = `{"log_rejections": "none", "rate_limits": {
		"beside_queue": {"key": "{http.request.header.X-Api-Key}", "limit": "10/1s burst 1", "wait": "1s"}`
	both, alone := provisioned(t, queue+`, "beside_all": {"key": "all", "limit": "2/1h"}}}`), provisioned(t, queue+`}}`)
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(both)
		for range 5 {
			c.send(t.Context(), "k")
			synctest.Wait()
		}
		admitted := c.admitted()
		if len(admitted) != 2 || admitted[1].began != 100*time.Millisecond {
			t.Fatalf("admitted = %d, want 2, the second after 100ms", len(admitted))
		}
		time.Sleep(100 * time.Millisecond)
		c = newCrowd(alone)
		if next := c.send(t.Context(), "k"); len(c.admitted()) != 1 || next.began != 0 {
			t.Errorf("the next request begins after %v, want 0s: three were rejected", next.began)
		}
	})
}
