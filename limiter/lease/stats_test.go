package lease

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestStatsPlus checks that Plus adds every number.
func TestStatsPlus(t *testing.T) {
	one := Stats{Requests: 1, Granted: 2, Returned: 3, Expired: 4, Lost: 5, Accounts: 9,
		Debt: 12, DebtSettled: 11, DebtDropped: 10}
	want := Stats{Requests: 3, Granted: 6, Returned: 9, Expired: 12, Lost: 15, Accounts: 27,
		Debt: 36, DebtSettled: 33, DebtDropped: 30}
	if got := one.Plus(one).Plus(one); got != want {
		t.Errorf("three times %+v = %+v, want %+v", one, got, want)
	}
}

// TestStatsExpired counts events that were not spent before their window had passed. They are not
// returned.
func TestStatsExpired(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{
			Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, Limit: limiter.Limit{Events: 10_000, Window: time.Second},
		})
		time.Sleep(500 * time.Millisecond)
		n.warm(r, "key") // until about 280 ms before the end of the window
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := n.Stats(); s.Expired == 0 || s.Expired+s.Returned > s.Granted {
			t.Errorf("stats = %+v, want some expired, and no more than were granted", s)
		}
		if leased := n.leased(r, "key"); leased != 0 {
			t.Errorf("leased after the window = %d, want none", leased)
		}
	})
}

// TestStatsOfPart checks that Returned counts, of a part, the events at once that were not spent.
// More events than those may be spent of a part.
func TestStatsOfPart(t *testing.T) {
	for _, test := range []struct{ spent, returned int64 }{{0, 8}, {3, 5}, {8, 0}, {9, 0}} {
		l := &limiter.LeaseRequest{Incarnation: 7, Returns: [2]limiter.Return{1: {
			Events: limiter.Events{At: 1, N: 8}, Spent: test.spent, Share: 2048,
		}}}
		var answered, failed counters
		answered.replied(l, 7, nil)
		failed.replied(l, 7, errCut)
		if got := answered.returned.Load(); got != uint64(test.returned) {
			t.Errorf("returned after %d were spent = %d, want %d", test.spent, got, test.returned)
		}
		if got := failed.lost.Load(); got != uint64(test.returned) {
			t.Errorf("lost with the request after %d were spent = %d, want %d", test.spent, got, test.returned)
		}
	}
}
