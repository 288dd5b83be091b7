package concurrencytest

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// TestPreview previews requests before they begin on one of two nodes. The preview says what then
// happens to the request, and the lender records nothing for a preview.
func TestPreview(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			rule := &concurrency.Rule{ID: 1, Limit: int64(1 + r.IntN(12)), Strict: r.IntN(2) == 0}
			l := newLender(seed, fault{})
			nodes := newFleet(l, 2, false)
			var held []concurrency.Permit
			for i := range 200 {
				if len(held) > 0 && r.IntN(2) == 0 {
					last := r.IntN(len(held))
					held[last].Release(time.Now())
					held = append(held[:last], held[last+1:]...)
				}
				time.Sleep(time.Duration(10+r.IntN(1000)) * time.Millisecond) // until no call is on its way
				n := nodes[r.IntN(len(nodes))]
				before := maps.Clone(l.records)
				previewed, err := n.Preview(context.Background(), time.Now(), rule, key)
				if err != nil || !maps.Equal(l.records, before) {
					t.Fatalf("preview %d: %v, and the records were %v and are %v", i, err, before, l.records)
				}
				peeked := n.Peek(time.Now(), rule, key)
				p, d, _ := n.acquire(rule)
				if previewed.OK != d.OK || previewed.RetryAt-previewed.At != d.RetryAt-d.At || d.OK && previewed.Remaining < 1 {
					t.Errorf("request %d is previewed as %+v, and decided as %+v", i, previewed, d)
				}
				if !peeked.OK && d.OK {
					t.Errorf("peek denies request %d, which is admitted", i)
				}
				if d.OK {
					held = append(held, p)
				}
			}
			for _, p := range held {
				p.Release(time.Now())
			}
			closeAll(nodes)
		})
	}
}

// TestPreviewInOutage previews requests on a node that is cut off.
func TestPreviewInOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newFleet(newLender(1, fault{}), 2, false)
		nodes[0].setCut(true)
		for mode, ok := range map[limiter.OutageMode]bool{limiter.OutageOpen: true, limiter.OutageClosed: false, limiter.OutageLocal: true} {
			d, err := nodes[0].Preview(context.Background(), time.Now(), &concurrency.Rule{ID: 1, Limit: 4, OnOutage: mode}, key)
			if d.OK != ok || !errors.Is(err, errCut) || d.Source != limiter.FromOutage {
				t.Errorf("preview with on_outage %v = %+v, %v, want OK = %t in an outage", mode, d, err, ok)
			}
		}
		closeAll(nodes)
	})
}
