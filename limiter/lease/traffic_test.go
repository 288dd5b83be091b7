package lease

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestFloodOnCredit admits a hundred thousand fresh keys on credit while the lender does not answer. No more flights than the
// bound are under way, a take that has to wait is answered nevertheless, and when the lender is back it hears of every event.
func TestFloodOnCredit(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		const keys = 100_000
		r, other := n.creditRule(0), n.fixed("a", 2, 10)
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			if loans[0].Rule == other {
				return answered, rtt
			}
			return lostRequest, time.Second // as the transport fails what is not answered
		})
		for i := range keys {
			key := fmt.Sprint("key", i)
			n.allowed(r, key, 1, limiter.FromCredit)
			if i%100 == 0 { // when there is no room, the wheel comes once for all that is owed
				n.allowed(r, key, 2, limiter.FromCredit)
			}
		}
		const owed = keys + 2*keys/100
		if got, _ := n.lender.pendingCalls(); got != maxRefills {
			t.Errorf("flights after %d takes on credit = %d, want %d", keys, got, maxRefills)
		}
		n.allowed(other, "waits", 1, limiter.FromStore)
		time.Sleep(3 * time.Second)
		if got := n.Stats(); got.Credited != owed || got.Settled != 0 || got.Debt != owed {
			t.Errorf("stats = %+v, want %d credited and none settled", got, owed)
		}
		n.lender.always(answered)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if got := n.Stats(); got.Settled != owed || got.Debt != 0 {
			t.Errorf("settled = %d, with a debt of %d, want %d and none", got.Settled, got.Debt, owed)
		}
		if _, got := n.lender.pendingCalls(); got > maxBackground+1 {
			t.Errorf("flights at a time = %d, want at most %d and the one that was waited for", got, maxBackground)
		}
		for i := range keys / 100 {
			n.checkUsed(r, fmt.Sprint("key", 100*i), 3+n.leased(r, fmt.Sprint("key", 100*i)))
			n.checkUsed(r, fmt.Sprint("key", 100*i+1), 1+n.leased(r, fmt.Sprint("key", 100*i+1)))
		}
		n.checkIdle(r)
	})
}

// calm checks that nothing is under way in the end, and no account of the zone of r rests.
func (n node) checkIdle(r *limiter.Rule) {
	n.t.Helper()
	synctest.Wait()
	if got := n.background.calls.Load(); got != 0 {
		n.t.Errorf("flights in the end = %d, want none", got)
	}
	b := n.zoneOf(r)
	for i := range uint64(1) << shardBits {
		if got := b.accounts.Shard(i << (64 - shardBits)).State.backoffs; got != nil {
			n.t.Errorf("accounts of shard %d that rest in the end = %v, want none, nor room for them", i, got)
		}
	}
}

// fill makes the store busy with so many flights, until room is called.
func (n node) fillBackground(flights int64) (room func()) {
	n.background.calls.Add(flights)
	return func() { n.background.calls.Add(-flights) }
}

// TestRefillWithoutRoom lets the next take refill what is low and owes nothing: nothing comes in between.
func TestRefillWithoutRoom(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 100_000)
		n.warm(r, "key")
		room, asked := n.fillBackground(maxRefills), n.lender.received()
		for n.leased(r, "key") > 2 {
			n.allowed(r, "key", 1, limiter.FromLease)
		}
		time.Sleep(time.Second)
		if got := n.lender.received() - asked; got != 0 {
			t.Errorf("loans while there is no room = %d, want none", got)
		}
		room()
		n.allowed(r, "key", 1, limiter.FromLease)
		n.waitForReplies()
		if leased := n.leased(r, "key"); leased < 5 {
			t.Errorf("leased after a take when there is room = %d, want 5 or more", leased)
		}
		n.checkIdle(r)
	})
}

// TestDebtWithoutRoom is told as soon as there is room for it, though nobody takes. What came by the wheel finds room that takes
// must leave.
func TestDebtWithoutRoom(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		room := n.fillBackground(maxBackground)
		n.allowed(r, "key", 2, limiter.FromCredit)
		n.allowed(r, "key", 2, limiter.FromCredit)
		time.Sleep(time.Second)
		if got := n.lender.received(); got != 0 {
			t.Errorf("loans while there is no room = %d, want none", got)
		}
		room()
		room = n.fillBackground(maxRefills)
		time.Sleep(2*tick*time.Microsecond + rtt)
		synctest.Wait()
		if got := n.Stats(); got.Settled != 4 || got.Requests != 1 {
			t.Errorf("stats two ticks after there was room = %+v, want 4 settled by one request", got)
		}
		room()
		n.checkIdle(r)
	})
}

// TestDebtThatGrowsMeanwhile is told by the next flight, in the place of the one before.
func TestDebtThatGrowsMeanwhile(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		room := n.fillBackground(maxRefills - 1)
		n.allowed(r, "key", 2, limiter.FromCredit)
		n.allowed(r, "key", 2, limiter.FromCredit)
		time.Sleep(rtt + rtt/2)
		if got := n.background.calls.Load(); got != maxRefills {
			t.Errorf("flights while the second loan is asked for = %d, want %d", got, maxRefills)
		}
		n.waitForReplies()
		if got := n.Stats(); got.Settled != 4 || got.Requests != 2 {
			t.Errorf("stats = %+v, want 4 settled by two requests", got)
		}
		room()
		n.checkIdle(r)
	})
}

// TestFlightForTakesIsNotTraffic gives the place of a flight that nobody waited for to none that takes wait for.
func TestFlightForTakesIsNotTraffic(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		n.allowed(r, "key", 5, limiter.FromCredit)
		var wg sync.WaitGroup
		wg.Go(func() { n.allowed(r, "key", 6, limiter.FromStore) }) // is asked for when it is known that 5 are owed
		time.Sleep(rtt + rtt/2)
		if flying, _ := n.lender.pendingCalls(); flying != 1 || n.background.calls.Load() != 0 {
			t.Errorf("flights while a take waits = %d, of which nobody waits for %d; want 1 and 0", flying, n.background.calls.Load())
		}
		wg.Wait()
		n.checkIdle(r)
	})
}

// TestGiveBackWithoutRoom gives back what was not spent as soon as there is room.
func TestGiveBackWithoutRoom(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10_000)
		taken := n.warm(r, "key")
		leased := n.leased(r, "key")
		room := n.fillBackground(maxBackground)
		time.Sleep(6 * time.Second)
		n.checkUsed(r, "key", taken+leased)
		room()
		n.waitForReturns()
		n.checkUsed(r, "key", taken)
		n.checkIdle(r)
	})
}

// TestUndoWithoutRoom gives back to a lease what another zone denied after it had ended: it goes back as soon as there is room.
func TestUndoWithoutRoom(t *testing.T) {
	inBubble(t, Options{Timeout: 20 * time.Second}, func(t *testing.T, n node) {
		wide, slow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		taken := n.warm(wide, "key")
		leased := n.leased(wide, "key")
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			if loans[0].Rule == slow {
				return answered, 10 * time.Second
			}
			return answered, rtt
		})
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(nil, takeOf(wide, "key", leased), takeOf(slow, "key", 2)) })
		time.Sleep(rtt)
		room := n.fillBackground(maxBackground) // the wheel comes to the lease, of which nothing is left
		wg.Wait()
		n.checkUsed(wide, "key", taken+leased)
		room()
		n.waitForReturns()
		n.checkUsed(wide, "key", taken)
		n.checkIdle(wide)
	})
}

// TestDebtsOfATick tells of so many debts in a tick at most, though the lender fails at once.
func TestDebtsOfATick(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		room := n.fillBackground(maxBackground)
		for i := range 3 * maxDuePerTick {
			n.allowed(r, fmt.Sprint("key", i), 1, limiter.FromCredit)
		}
		n.lender.delay = 0
		n.lender.always(lostRequest)
		room()
		for i := range 3 {
			time.Sleep(tick * time.Microsecond)
			synctest.Wait()
			if got, want := n.Stats().Requests, uint64(i+1)*maxDuePerTick; got != want {
				t.Errorf("requests after %d ticks = %d, want %d", i+1, got, want)
			}
		}
	})
}

// TestEvictionWithoutRoom lets those accounts go that have nothing to give back. When there are none, the new key is left to the
// lender.
func TestEvictionWithoutRoom(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.boundedRule(10_000, 2)
		taken := n.warm(r, "leased")
		n.allowed(r, "empty", 1, limiter.FromStore)
		leased := n.leased(r, "leased")
		room := n.fillBackground(maxBackground)
		n.allowed(r, "new", 1, limiter.FromStore) // in the place of the one that is empty, though used later
		n.grant(r, "new", 5)
		n.allowed(r, "newer", 1, limiter.FromStore)
		if got := n.leased(r, "leased"); got != leased {
			t.Errorf("leased = %d, want the %d as before", got, leased)
		}
		n.checkUsed(r, "newer", 1)
		n.checkAccounts(2)
		room()
		n.allowed(r, "newest", 1, limiter.FromStore)
		n.waitForReplies()
		n.checkAccounts(2)
		if got := n.lender.used(r, "leased") + n.lender.used(r, "new"); got != taken+1+5 && got != taken+1+leased {
			t.Errorf("used when there is room = %d, want one lease to be back: %d or %d", got, taken+1+5, taken+1+leased)
		}
		n.checkIdle(r)
	})
}

// TestLookAfterWithoutRoom comes back to an account when others have taken the room that there was for it.
func TestLookAfterWithoutRoom(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		room := n.fillBackground(maxBackground)
		n.allowed(r, "key", 2, limiter.FromCredit)
		begin := n.options.Clock()
		taken := n.wheel.take(begin+tick, 9, nil)
		if len(taken) != 1 {
			t.Fatalf("due when something is owed and there is no room: %v, want one", taken)
		}
		n.attend(taken[0], begin+tick)
		if got := n.wheel.take(begin+2*tick, 9, nil); len(got) != 1 || got[0] != taken[0] {
			t.Errorf("due when there is still no room = %v, want it again", got)
		}
		room()
		n.attend(taken[0], begin+2*tick)
		n.waitForReplies()
		if _, owed := n.outstanding(r, "key"); owed != 0 {
			t.Errorf("owed when there was room = %d, want 0", owed)
		}
		n.checkIdle(r)
	})
}

// TestTrafficBegins up to the bound that it is given.
func TestTrafficBegins(t *testing.T) {
	var tr backgroundLimit
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
		if got := tr.begin(line.most); got != line.want || tr.room() != line.room {
			t.Errorf("flight %d of %d begins: %t, with room for %d, want %t and %d", i, line.most, got, tr.room(), line.want, line.room)
		}
	}
	tr.end()
	if !tr.begin(3) {
		t.Errorf("the third flight does not begin, though another has ended")
	}
	tr.calls.Store(maxBackground + 1) // for a moment, while one is refused
	if got := tr.room(); got != 0 {
		t.Errorf("room = %d, want none", got)
	}
}
