package lease

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestBackoffAfterFailures spends a lease while the lender fails. The account sends one request
// when the lease is low and another after a pause. Once the lender replies, the lease is refilled
// again.
func TestBackoffAfterFailures(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1_000_000)
		n.warm(r, "key")
		n.grant(r, "key", 30) // in the place of what it had
		n.lender.delay = 0
		n.lender.always(lostRequest)
		before, spent := n.Stats().Requests, 0
		for n.leased(r, "key") > 0 {
			n.allowed(r, "key", 1, limiter.FromLease)
			spent++
			time.Sleep(10 * time.Millisecond)
		}
		if got := n.Stats().Requests - before; spent < 20 || got < 1 || got > 2 {
			t.Errorf("requests while %d takes were decided in %v = %d, want 1 or 2", spent, time.Duration(spent)*10*time.Millisecond, got)
		}
		n.fails(errCut, takeOf(r, "key", 1)) // who has to wait asks nevertheless
		n.fails(errCut, takeOf(r, "key", 1))

		n.lender.delay = rtt
		n.lender.always(answered)
		n.allowed(r, "key", 1, limiter.FromStore)
		leased := n.leased(r, "key")
		for range leased {
			n.take(r, "key", 1)
			time.Sleep(time.Millisecond)
		}
		n.waitForReplies()
		if got := n.leased(r, "key"); got == 0 {
			t.Errorf("leased after %d takes = %d, want more: it was to be refilled in the background", leased, got)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		n.checkIdle(r)
	})
}

// TestPause doubles the pause with every failure. A pause is at least half of the longest one.
func TestPause(t *testing.T) {
	const ms = 1000
	for _, line := range []struct {
		failed uint8
		part   float64
		want   limiter.Instant
	}{
		{0, 0, 125 * ms},
		{0, 0.5, 93_750},
		{0, 1, 62_500},
		{1, 0, 250 * ms},
		{1, 1, 125 * ms},
		{2, 0, 500 * ms},
		{3, 0, 1000 * ms},
		{4, 0, 2000 * ms},
		{4, 1, 1000 * ms},
		{255, 0, 2000 * ms},
	} {
		if got := pause(line.failed, line.part); got != line.want {
			t.Errorf("pause after %d failures and another, at %v = %d µs, want %d", line.failed, line.part, got, line.want)
		}
	}
}

// TestDebtIsRetriedWithBackoff sends debt again about 100 ms after the first failure, then less and
// less often. A success resets the pause.
func TestDebtIsRetriedWithBackoff(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		for range 2 {
			var asked []time.Time
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) {
				asked = append(asked, time.Now())
				return lostRequest, rtt
			})
			n.allowed(r, "key", 5, limiter.FromCredit)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			n.lender.always(answered)
			time.Sleep(2100 * time.Millisecond)
			if _, owed := n.outstanding(r, "key"); owed != 0 {
				t.Errorf("owed 2.1 s after the lender is back = %d, want 0", owed)
			}
			if len(asked) < 8 {
				t.Fatalf("loans in 10 s = %d, want 8 or more", len(asked))
			}
			for i := range len(asked) - 1 {
				most := min(125*time.Millisecond<<i, 2*time.Second)
				late := rtt + 2*tick*time.Microsecond // until it has failed, and until the wheel comes
				if got := asked[i+1].Sub(asked[i]); got < most/2 || got > most+late {
					t.Errorf("time from loan %d to the next = %v, want %v to %v", i, got, most/2, most+late)
				}
			}
			n.checkIdle(r)
			time.Sleep(10 * time.Second) // to a window with credit again
		}
	})
}

// TestFailedTakeKeepsBackoff has takes wait during a pause of debt. A reply to them ends the pause.
// A failure does not.
func TestFailedTakeKeepsBackoff(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		n.lender.always(lostRequest)
		n.allowed(r, "key", 5, limiter.FromCredit)
		n.waitForReplies()
		for range 10 { // in less than 62 ms, with the above
			n.fails(errCut, takeOf(r, "key", 1))
			time.Sleep(rtt / 2)
		}
		if got := n.Stats().Requests; got != 11 {
			t.Errorf("requests for 10 takes that wait, and one for what is owed = %d, want 11", got)
		}
		time.Sleep(100 * time.Millisecond)
		if got := n.Stats().Requests; got != 12 {
			t.Errorf("requests when the rest is over = %d, want 12", got)
		}
		n.lender.always(answered)
		n.allowed(r, "key", 1, limiter.FromStore)
		if _, owed := n.outstanding(r, "key"); owed != 0 {
			t.Errorf("owed after a take that was answered = %d, want 0", owed)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		n.checkIdle(r)
	})
}

// TestLeaseExpiresDuringBackoff returns an expired lease when the pause is over, without what the
// failed request was to return.
func TestLeaseExpiresDuringBackoff(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1_000_000)
		taken := n.warm(r, "key")
		time.Sleep(6 * time.Second)
		n.grant(r, "key", 30)
		time.Sleep(4600 * time.Millisecond) // of the 5 s that it lasts, but for a margin
		n.lender.always(lostRequest)
		n.allowed(r, "key", 1, limiter.FromLease) // is refilled, as its lease ends soon
		n.waitForReplies()
		n.lender.always(answered)
		kept := n.leased(r, "key")
		if kept == 0 {
			t.Fatal("nothing is leased after a refill that failed")
		}
		time.Sleep(700 * time.Millisecond) // it rests for a second at least
		n.checkUsed(r, "key", taken+30)
		time.Sleep(1400 * time.Millisecond)
		n.checkUsed(r, "key", taken+30-kept)
		n.checkIdle(r)
	})
}

// TestRefillAfterBackoff refills a low lease at the first take after the pause. The wheel alone
// sends nothing.
func TestRefillAfterBackoff(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1_000_000)
		n.warm(r, "key")
		n.grant(r, "key", 30) // in the place of what it had
		n.lender.always(lostRequest)
		for n.leased(r, "key") > 2 {
			n.allowed(r, "key", 1, limiter.FromLease)
		}
		n.waitForReplies()
		n.lender.always(answered)
		asked := n.lender.received()
		time.Sleep(2100 * time.Millisecond)
		n.checkIdle(r)
		if got := n.lender.received() - asked; got != 0 {
			t.Errorf("loans until the rest is over = %d, want none", got)
		}
		n.allowed(r, "key", 1, limiter.FromLease)
		n.waitForReplies()
		if leased := n.leased(r, "key"); leased < 5 {
			t.Errorf("leased after a take = %d, want 5 or more", leased)
		}
	})
}

// TestAttendSoonKeepsBackoff leaves a pause as it is. The wheel comes once, at its end.
func TestAttendSoonKeepsBackoff(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		p := n.locationOf(n.fixed("zone", 1, 10), "key")
		now := n.options.Clock()
		want := backoff{until: now + 50*tick, failures: 3}
		n.setBackoffLocked(p, want)
		n.attendSoonLocked(p, now)
		if got := p.shard.State.backoffs[p.key.Hash]; got != want {
			t.Errorf("rest = %+v, want %+v", got, want)
		}
		if got := n.wheel.take(now+60*tick, 9, nil); len(got) != 1 || got[0].at != want.until {
			t.Errorf("due = %+v, want one at %d", got, want.until)
		}
	})
}

// TestNoRenewalDuringBackoff attends to a key whose lease was spent. Nothing is requested until its
// pause is over.
func TestNoRenewalDuringBackoff(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1_000_000)
		n.warm(r, "key")
		n.lender.always(lostRequest)
		for n.leased(r, "key") > 1 { // at low water, the lender is asked in vain
			n.allowed(r, "key", 1, limiter.FromLease)
		}
		n.waitForReplies()
		n.lender.always(answered)
		n.grant(r, "key", 60)
		for n.leased(r, "key") > 0 {
			n.allowed(r, "key", 1, limiter.FromLease)
		}
		p := n.locationOf(r, "key")
		look := due{zone: p.zone, hash: p.key.Hash}
		before := n.Stats().Requests
		n.attend(look, n.options.Clock())
		if got := n.Stats().Requests - before; got != 0 {
			t.Errorf("requests while the account rests = %d, want none", got)
		}
		n.attend(look, n.options.Clock()+pause(maxFailures, 0))
		if got := n.Stats().Requests - before; got != 1 {
			t.Errorf("requests when it has rested = %d, want 1", got)
		}
		n.waitForReplies()
	})
}

// TestDebtIsSettledAfterFailures settles a debt although requests have failed and no take comes. No
// debt is settled twice.
func TestDebtIsSettledAfterFailures(t *testing.T) {
	for _, f := range []fate{lostRequest, lostReply} {
		inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
			r := n.creditRule(0)
			n.lender.always(f)
			n.allowed(r, "key", 5, limiter.FromCredit)
			time.Sleep(4 * time.Second)
			if got := n.Stats().Requests; got < 6 || got > 8 {
				t.Errorf("requests in 4 s = %d, want 6 to 8: after pauses of 0.1, 0.2, 0.4 and 0.8 s or so, and of a second or two", got)
			}
			if _, owed := n.outstanding(r, "key"); owed != 5 {
				t.Errorf("owed while nothing is answered = %d, want 5", owed)
			}
			n.lender.always(answered)
			time.Sleep(3 * time.Second)
			if _, owed := n.outstanding(r, "key"); owed != 0 {
				t.Errorf("owed when all is answered = %d, want 0", owed)
			}
			var lent int64 // of which we heard nothing when the reply was lost
			for _, l := range n.lender.requests {
				lent += l.Granted - l.Returns[0].N - l.Returns[1].N
			}
			n.checkUsed(r, "key", 5+lent)
			asked := n.lender.received()
			time.Sleep(time.Minute)
			if got := n.lender.received(); got != asked {
				t.Errorf("loans after all is settled = %d, want none", got-asked)
			}
		})
	}
}
