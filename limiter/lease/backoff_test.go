package lease

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestPause doubles the pause with every failure. A pause is at least half of the longest one.
func TestPause(t *testing.T) {
	const ms = 1000
	for _, line := range []struct {
		failures uint8
		part     float64
		want     int64
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
		if got := pause(line.failures, line.part); got != line.want {
			t.Errorf("pause after %d failures and another, at %v = %d µs, want %d", line.failures, line.part, got, line.want)
		}
	}
}

// TestBackoffAfterFailures spends a lease while the lender fails. The account sends one request
// when the lease is low and another after a pause. Once the lender replies, the lease is refilled
// again.
func TestBackoffAfterFailures(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1_000_000)
		n.warm(r, "key")
		n.grant(r, "key", 30) // in place of its lease
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
		n.fails(errCut, takeOf(r, "key", 1)) // it needs a request, in spite of the pause
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
			t.Errorf("leased after %d takes = %d, want more: the lease should be refilled in the background", leased, got)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		n.checkIdle(r)
	})
}

// TestDebtIsRetriedWithBackoff sends debt again about 100 ms after the first failure, and then
// after longer and longer pauses. A success makes the next pause short again.
func TestDebtIsRetriedWithBackoff(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1000)
		for range 2 {
			var sent []time.Time
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) {
				sent = append(sent, time.Now())
				return unreachable, rtt
			})
			n.takesInOutage(r, "key", 5)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			n.lender.always(answered)
			time.Sleep(2100 * time.Millisecond)
			if _, debt := n.outstanding(r, "key"); debt != 0 {
				t.Errorf("debt 2.1 s after the lender replies again = %d, want 0", debt)
			}
			if len(sent) < 8 {
				t.Fatalf("requests in 10 s = %d, want 8 or more", len(sent))
			}
			for i := range len(sent) - 1 {
				most := min(125*time.Millisecond<<i, 2*time.Second)
				late := rtt + 2*tick*time.Microsecond // until the request fails and the wheel comes
				if got := sent[i+1].Sub(sent[i]); got < most/2 || got > most+late {
					t.Errorf("time from request %d to the next = %v, want %v to %v", i, got, most/2, most+late)
				}
			}
			n.waitForReturns() // a new request has the next take wait again
			n.checkIdle(r)
		}
	})
}

// TestFailedTakeKeepsBackoff has takes wait during a pause of debt. A reply to them ends the pause,
// and a failure does not.
func TestFailedTakeKeepsBackoff(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1000)
		n.lender.always(unreachable)
		for range 11 { // together in less than 62 ms
			n.takesInOutage(r, "key", 1)
			time.Sleep(rtt / 2)
		}
		if got := n.Stats().Requests; got != 11 {
			t.Errorf("requests for 11 takes that wait = %d, want 11", got)
		}
		time.Sleep(100 * time.Millisecond)
		if got := n.Stats().Requests; got != 12 {
			t.Errorf("requests after the pause = %d, want 12", got)
		}
		n.lender.always(answered)
		n.allowed(r, "key", 1, limiter.FromStore)
		if _, debt := n.outstanding(r, "key"); debt != 0 {
			t.Errorf("debt after a take was served = %d, want 0", debt)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		n.checkIdle(r)
	})
}

// TestLeaseExpiresDuringBackoff returns an expired lease when the pause is over. The events that
// the failed request was to return are lost.
func TestLeaseExpiresDuringBackoff(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1_000_000)
		taken := n.warm(r, "key")
		time.Sleep(11 * time.Second)
		n.grant(r, "key", 30)
		time.Sleep(9 * time.Second) // a lease lasts 10 s
		n.lender.always(lostRequest)
		n.allowed(r, "key", 1, limiter.FromLease) // has the lease refilled, because it expires soon
		n.waitForReplies()
		n.lender.always(answered)
		kept := n.leased(r, "key")
		if kept == 0 {
			t.Fatal("nothing is leased after a refill that failed")
		}
		time.Sleep(700 * time.Millisecond) // the pause is at least a second
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
		n.grant(r, "key", 30) // in place of its lease
		n.lender.always(lostRequest)
		for n.leased(r, "key") > 2 {
			n.allowed(r, "key", 1, limiter.FromLease)
		}
		n.waitForReplies()
		n.lender.always(answered)
		received := n.lender.received()
		time.Sleep(2100 * time.Millisecond)
		n.checkIdle(r)
		if got := n.lender.received() - received; got != 0 {
			t.Errorf("requests until the pause is over = %d, want none", got)
		}
		n.allowed(r, "key", 1, limiter.FromLease)
		n.waitForReplies()
		if leased := n.leased(r, "key"); leased < 5 {
			t.Errorf("leased after a take = %d, want 5 or more", leased)
		}
	})
}

// TestAttendSoonKeepsBackoff checks that attendSoonLocked does not change a pause. The wheel comes
// once, at the end of the pause.
func TestAttendSoonKeepsBackoff(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		p := n.locationOf(n.fixed("zone", 1, 10), "key")
		now := n.now()
		want := backoff{until: now + 50*tick, failures: 3}
		n.setBackoffLocked(p, want)
		n.attendSoonLocked(p, now)
		if got := p.shard.State.backoffs[p.key.Hash]; got != want {
			t.Errorf("backoff = %+v, want %+v", got, want)
		}
		if got := n.wheel.take(now+60*tick, 9, nil); len(got) != 1 || got[0].at != want.until {
			t.Errorf("due = %+v, want one at %d", got, want.until)
		}
	})
}

// TestNoRenewalDuringBackoff attends to a key whose lease was spent. It requests nothing until the
// pause of the key is over.
func TestNoRenewalDuringBackoff(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1_000_000)
		n.warm(r, "key")
		n.lender.always(lostRequest)
		for n.leased(r, "key") > 1 { // the refill of the low lease fails
			n.allowed(r, "key", 1, limiter.FromLease)
		}
		n.waitForReplies()
		n.lender.always(answered)
		n.grant(r, "key", 60)
		for n.leased(r, "key") > 0 {
			n.allowed(r, "key", 1, limiter.FromLease)
		}
		p := n.locationOf(r, "key")
		d := due{zone: p.zone, hash: p.key.Hash}
		before := n.Stats().Requests
		n.attend(d, n.now())
		if got := n.Stats().Requests - before; got != 0 {
			t.Errorf("requests during the pause = %d, want none", got)
		}
		n.attend(d, n.now().plus(pause(maxFailures, 0)))
		if got := n.Stats().Requests - before; got != 1 {
			t.Errorf("requests after the pause = %d, want 1", got)
		}
		n.waitForReplies()
	})
}

// TestDebtIsSettledAfterFailures settles debt although no take comes, and although requests have
// failed without effect before. No debt is settled twice.
func TestDebtIsSettledAfterFailures(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1000)
		n.lender.always(unreachable)
		n.takesInOutage(r, "key", 5)
		time.Sleep(4 * time.Second)
		if got := n.Stats().Requests; got < 6 || got > 8 {
			t.Errorf("requests in 4 s = %d, want 6 to 8: after pauses of 0.1, 0.2, 0.4 and 0.8 s or so, and of a second or two", got)
		}
		if _, debt := n.outstanding(r, "key"); debt != 5 {
			t.Errorf("debt while requests fail = %d, want 5", debt)
		}
		n.lender.always(answered)
		time.Sleep(3 * time.Second)
		if _, debt := n.outstanding(r, "key"); debt != 0 {
			t.Errorf("debt when requests succeed = %d, want 0", debt)
		}
		n.checkUsed(r, "key", 5)
		received := n.lender.received()
		time.Sleep(time.Minute)
		if got := n.lender.received(); got != received {
			t.Errorf("requests after all debt is settled = %d, want none", got-received)
		}
	})
}
