package gateway

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
)

// TestWaitOfClientThatLeavesBeside has a client leave while its request waits in zone b. The
// request has not reached the next handler, so zone a gets back what it has taken for it, and has
// room for the next request.
func TestWaitOfClientThatLeavesBeside(t *testing.T) {
	for name, zone := range map[string]string{
		"plain":    `"limit": "2/1000h"`,
		"window":   `"limit": "2/1000h", "algorithm": "fixed_window"`,
		"reserved": `"limit": "2/1000h", "count_status": "200"`,
		"charged":  `"limit": "1/1000h", "charge": "{http.vars.cost} reserve 1"`, // no proxy has sent the request, so it is free
	} {
		h := provisioned(t, `{"log_rejections": "none", "rate_limits": {
			"a-`+name+`": {"key": "{http.request.header.X-Api-Key}", `+zone+`},
			"b-`+name+`": {"key": "{http.request.header.X-Api-Key}", "limit": "10/1s burst 1", "wait": "1s"}}}`)
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(h)
			ctx, leave := context.WithCancel(t.Context())
			first := c.send(t.Context(), "k")
			synctest.Wait()
			left := c.send(ctx, "k")
			synctest.Wait()
			leave()
			c.wg.Wait()
			second := c.send(t.Context(), "k")
			c.wg.Wait()
			time.Sleep(time.Second)
			third := c.send(t.Context(), "k")
			c.wg.Wait()
			if first.began < 0 || left.began >= 0 || second.began < 0 || third.began >= 0 != (name == "charged") {
				t.Errorf("%s: began at %v, the one that left %v, %v, %v; want those that stay, as far as there is room",
					name, first.began, left.began, second.began, third.began)
			}
		})
	}
}

// TestRejectionAfterWaitIsLogged has the first rejection of a key logged though it comes after a
// wait.
func TestRejectionAfterWaitIsLogged(t *testing.T) {
	h := provisioned(t, `{"rate_limits": {
		"logged-permit": {"key": "{http.request.header.X-Api-Key}", "concurrent": 1, "wait": "100ms"}}}`)
	core, logs := observer.New(zapcore.InfoLevel)
	h.log.Logger = zap.New(core)
	synctest.Test(t, func(t *testing.T) {
		var rejected [2]*waited
		c, began := newCrowd(h), time.Now()
		go send(h, "k", time.Second)
		synctest.Wait()
		for i := range rejected {
			rejected[i] = c.send(t.Context(), "k")
			synctest.Wait()
		}
		c.wg.Wait()
		if took := time.Since(began); took != 100*time.Millisecond || rejected[0].status != 429 || rejected[1].status != 429 || logs.Len() != 1 {
			t.Errorf("after %v, rejected with %d and %d, %d lines; want 100ms, 429, 429, one line",
				took, rejected[0].status, rejected[1].status, logs.Len())
		}
		time.Sleep(time.Minute)
	})
}

// TestWaitForPermitIsCounted counts requests that wait for permits: while they wait, and once in
// all.
func TestWaitForPermitIsCounted(t *testing.T) {
	for name, zone := range map[string]string{
		"alone": `"concurrent": 1, "wait": "1s"`,
		"rate":  `"concurrent": 1, "limit": "100/1h", "wait": "1s"`,
		"both":  `"concurrent": 1, "limit": "100/1s burst 1", "wait": "1s"`,
	} {
		h := provisioned(t, keyed("counted-"+name, zone))
		z := h.requests.Zones[0].Usage
		synctest.Test(t, func(t *testing.T) {
			go send(h, "k", 200*time.Millisecond)
			synctest.Wait()
			go send(h, "k", 0)
			synctest.Wait()
			if n := z.Waits.Waiting(); n != 1 {
				t.Errorf("%s: waiting = %d, want 1", name, n)
			}
			time.Sleep(time.Minute)
			n, seconds, _ := z.Waits.Waited.Histogram()
			if n != 1 || seconds != 0.2 || z.Waits.Waiting() != 0 {
				t.Errorf("%s: waits = %d of %v s, %d are waiting, want 1 of 0.2, 0", name, n, seconds, z.Waits.Waiting())
			}
			if s := z.Sum(); s.Queued.Total() != 1 || s.Admitted.Total() != 1 {
				t.Errorf("%s: queued %d, admitted %d, want 1, 1", name, s.Queued.Total(), s.Admitted.Total())
			}
		})
	}
}

// TestFullQueueIsCounted counts the requests that find no room to wait, once in a zone.
func TestFullQueueIsCounted(t *testing.T) {
	permits := provisioned(t, keyed("full-permits", `"concurrent": 1, "wait": "1s"`))
	synctest.Test(t, func(t *testing.T) {
		go send(permits, "k", 10*time.Second)
		synctest.Wait()
		for range 300 {
			go send(permits, "k", 0)
		}
		synctest.Wait()
		w := &permits.requests.Zones[0].Usage.Waits
		if waiting, full := w.Waiting(), w.Full.Load(); full == 0 || waiting == 0 || waiting+int64(full) != 300 {
			t.Errorf("waiting = %d, full = %d, want some of each, and 300 in all", waiting, full)
		}
		before := w.Full.Load()
		time.Sleep(time.Minute)
		if got := w.Full.Load(); got != before {
			t.Errorf("full = %d after the queue has timed out, want %d", got, before)
		}
	})

	rate := provisioned(t, keyed("full-rate", `"limit": "1/1s", "wait": "1s",
		"endpoints": [{"path": "/", "limit": "1/1s", "wait": "1s"}, {"path": "/*", "limit": "1/1s", "wait": "1s"}]`))
	synctest.Test(t, func(t *testing.T) {
		c, w := newCrowd(rate), &rate.requests.Zones[0].Usage.Waits
		fill(t, w)
		c.send(t.Context(), "k")
		c.wg.Wait()
		rejected := c.send(t.Context(), "k")
		c.wg.Wait()
		if got := w.Full.Load(); rejected.status != http.StatusTooManyRequests || got != 1 {
			t.Errorf("status %d, full = %d, want 429, 1", rejected.status, got)
		}
	})
}

// fill has as many requests wait in a zone as can, until the test ends.
func fill(t *testing.T, w *usage.Waits) {
	n := 0
	for w.Begin() {
		n++
	}
	t.Cleanup(func() {
		for range n {
			w.End()
		}
	})
}

// TestWaitIsRemembered wants the memory of a zone, in which operators try another limit, to have
// the instants at which requests came, not those of their turns.
func TestWaitIsRemembered(t *testing.T) {
	for name, zone := range map[string]string{
		"bucket": `"limit": "10/1s burst 1", "wait": "1s"`,
		"window": `"limit": "1/1s", "algorithm": "fixed_window", "wait": "1s"`,
		"permit": `"limit": "100/1h", "concurrent": 1, "wait": "1s"`,
	} {
		h := provisioned(t, keyed("remembered-"+name, zone))
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(100 * time.Millisecond)
			memory, now := &h.requests.Zones[0].Usage.Recent, time.Now().UnixMicro()
			memory.Want(now)
			for range 2 {
				go send(h, "k", 200*time.Millisecond)
				synctest.Wait()
			}
			time.Sleep(2 * time.Second)
			all := memory.View(time.Now().UnixMicro()).Decisions
			if len(all) != 2 || all[0].At != now || all[1].At != now {
				t.Errorf("%s: remembered = %+v, want two requests at %d", name, all, now)
			}
		})
	}
}
