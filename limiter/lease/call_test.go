package lease

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestFloodOfDebt has the lender come back after an outage in which tens of thousands of new keys
// came. While the lender does not reply, background calls stay within their bound, and a waiting
// take is still decided. In the end all debt is debited.
func TestFloodOfDebt(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		const keys = 20_000
		r, other := n.fixed("zone", 1, 1000), n.fixed("a", 2, 10)
		n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
			if requests[0].Rule == other {
				return answered, rtt
			}
			return unreachable, time.Second
		})
		for i := range keys {
			n.owes(r, fmt.Sprint("key", i), 1)
			if i%100 == 0 {
				n.owes(r, fmt.Sprint("key", i), 2)
			}
		}
		const total = keys + 2*keys/100
		time.Sleep(900 * time.Millisecond)
		if got, _ := n.lender.pendingCalls(); got != maxBackground {
			t.Errorf("calls 0.9 s after the outage = %d, want %d", got, maxBackground)
		}
		n.allowed(other, "waits", 1, limiter.FromStore)
		time.Sleep(3 * time.Second)
		if got := n.Stats(); got.Debt != total || got.DebtSettled != 0 || got.OutageDebt() != total {
			t.Errorf("stats = %+v, want %d owed and none settled", got, total)
		}
		n.lender.always(answered)
		time.Sleep(9 * time.Second) // the calls fail, and their accounts pause for 2 s at most
		synctest.Wait()
		if got := n.Stats(); got.DebtSettled != total || got.OutageDebt() != 0 {
			t.Errorf("settled = %d, with a debt of %d, want %d and none", got.DebtSettled, got.OutageDebt(), total)
		}
		if _, got := n.lender.pendingCalls(); got > maxBackground+1 {
			t.Errorf("calls at a time = %d, want at most %d and the one that a take waited for", got, maxBackground)
		}
		for i := range keys / 100 {
			n.checkUsed(r, fmt.Sprint("key", 100*i), 3)
			n.checkUsed(r, fmt.Sprint("key", 100*i+1), 1)
		}
		n.checkIdle(r)
	})
}

// TestRefillWithFullBackground checks that a low lease without debt is refilled by the next take
// after the background has room, and not before.
func TestRefillWithFullBackground(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 100_000)
		n.warm(r, "key")
		release, received := n.fillBackground(maxRefills), n.lender.received()
		for n.leased(r, "key") > 2 {
			n.allowed(r, "key", 1, limiter.FromLease)
		}
		time.Sleep(time.Second)
		if got := n.lender.received() - received; got != 0 {
			t.Errorf("requests while the background is full = %d, want none", got)
		}
		release()
		n.allowed(r, "key", 1, limiter.FromLease)
		n.waitForReplies()
		if leased := n.leased(r, "key"); leased < 5 {
			t.Errorf("leased after a take when calls may begin = %d, want 5 or more", leased)
		}
		n.checkIdle(r)
	})
}

// TestDebtWithFullBackground settles a debt as soon as a background call may begin, although no
// take comes. The wheel may begin calls that takes may not.
func TestDebtWithFullBackground(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1000)
		release := n.fillBackground(maxBackground)
		n.owes(r, "key", 2)
		n.owes(r, "key", 2)
		time.Sleep(time.Second)
		if got := n.lender.received(); got != 0 {
			t.Errorf("requests while the background is full = %d, want none", got)
		}
		release()
		release = n.fillBackground(maxRefills)
		time.Sleep(2*tick*time.Microsecond + rtt)
		synctest.Wait()
		if got := n.Stats(); got.DebtSettled != 4 || got.Requests != 1 {
			t.Errorf("stats two ticks after calls could begin = %+v, want 4 settled by one request", got)
		}
		release()
		n.checkIdle(r)
	})
}

// TestDebtGrowsDuringRequest settles new debt with the next call, which takes the place of the call
// before it.
func TestDebtGrowsDuringRequest(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1000)
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, time.Second })
		release := n.fillBackground(maxBackground - 1)
		n.owes(r, "key", 2)
		time.Sleep(500 * time.Millisecond) // the pause is over
		n.owes(r, "key", 2)
		time.Sleep(time.Second)
		if got, pending := n.Stats(), n.background.calls.Load(); got.DebtSettled != 2 || got.Requests != 2 || pending != maxBackground {
			t.Errorf("stats during the second request = %+v with %d calls, want 2 settled and %d calls", got, pending, maxBackground)
		}
		time.Sleep(time.Second)
		if got := n.Stats(); got.DebtSettled != 4 || got.Requests != 2 {
			t.Errorf("stats = %+v, want 4 settled by two requests", got)
		}
		release()
		n.checkIdle(r)
	})
}

// TestCallForWaitersIsNotBackground has a call for a waiting take follow a background call. The
// second call does not count as background.
func TestCallForWaitersIsNotBackground(t *testing.T) {
	inBubble(t, Options{Timeout: 5 * time.Second}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1000)
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, time.Second })
		n.owes(r, "key", 5)
		time.Sleep(500 * time.Millisecond) // the pause is over
		var wg sync.WaitGroup
		wg.Go(func() { n.allowed(r, "key", 6, limiter.FromStore) }) // sent after the debt of 5
		time.Sleep(time.Second)
		if pending, _ := n.lender.pendingCalls(); pending != 1 || n.background.calls.Load() != 0 {
			t.Errorf("calls while a take waits = %d, %d of them in the background; want 1 and 0", pending, n.background.calls.Load())
		}
		wg.Wait()
		n.checkUsed(r, "key", 11+n.leased(r, "key"))
		n.checkIdle(r)
	})
}

// TestBackgroundLimit begins calls up to a bound.
func TestBackgroundLimit(t *testing.T) {
	var b backgroundLimit
	for i, line := range []struct {
		most int64
		want bool
		room int
	}{
		{2, true, maxBackground - 1},
		{2, true, maxBackground - 2},
		{2, false, maxBackground - 2},
		{3, true, maxBackground - 3},
		{2, false, maxBackground - 3},
	} {
		if got := b.begin(line.most); got != line.want || b.room() != line.room {
			t.Errorf("call %d of %d begins: %t, with room for %d, want %t and %d", i, line.most, got, b.room(), line.want, line.room)
		}
	}
	b.end()
	if !b.begin(3) {
		t.Errorf("the third call does not begin, although another has finished")
	}
	b.calls.Store(maxBackground + 1) // briefly, while a call is refused
	if got := b.room(); got != 0 {
		t.Errorf("room = %d, want none", got)
	}
}
