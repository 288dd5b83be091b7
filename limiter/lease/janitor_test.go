package lease

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestExpiredLeasesAreReturned checks that unspent events are returned although no take comes,
// after at most one further lease.
func TestExpiredLeasesAreReturned(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.rule(limiter.Rule{
					Algorithm: limiter.Algorithm{Kind: kind},
					Limit:     limiter.Limit{Events: 90_000, Window: time.Hour},
				})
				taken := n.warm(r, "key")
				n.waitForReturns()
				n.waitForReturns() // a lease of a log lasts for up to two slots
				if kind == limiter.TokenBucket {
					time.Sleep(4 * time.Minute) // a part of an ample bucket lasts for that long at most
				}
				if leased := n.leased(r, "key"); leased != 0 {
					t.Errorf("leased = %d, want none", leased)
				}
				if kind == limiter.TokenBucket { // 27 events accrue per second
					time.Sleep(10 * time.Second)
					taken = 0
				}
				n.checkUsed(r, "key", taken)
			})
		})
	}
}

// TestLeasesAreRenewed takes a key steadily. After a while no take waits for the lender, although
// leases expire between two takes, some of them with their window.
func TestLeasesAreRenewed(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.rule(limiter.Rule{
					Algorithm: limiter.Algorithm{Kind: kind},
					Limit:     limiter.Limit{Events: 90_000, Window: time.Minute},
				})
				n.warm(r, "key")
				for i := range 600 {
					time.Sleep(300 * time.Millisecond)
					if d := n.take(r, "key", 1); d.Source != limiter.FromLease && i > 50 {
						t.Errorf("take %d = %+v, want it from a lease", i, d)
					}
				}
			})
		})
	}
}

// TestReturnWithFullBackground returns an expired lease as soon as a background call may begin.
func TestReturnWithFullBackground(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10_000)
		taken := n.warm(r, "key")
		leased := n.leased(r, "key")
		release := n.fillBackground(maxBackground)
		time.Sleep(11 * time.Second)
		n.checkUsed(r, "key", taken+leased)
		release()
		n.waitForReturns()
		n.checkUsed(r, "key", taken)
		n.checkIdle(r)
	})
}

// TestDebtsPerTick checks that a tick sends a bounded number of debts, although each call fails at
// once.
func TestDebtsPerTick(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1000)
		release := n.fillBackground(maxBackground)
		for i := range 3 * maxDuePerTick {
			n.owes(r, fmt.Sprint("key", i), 1)
		}
		time.Sleep(time.Second + tick/2*time.Microsecond) // all pauses are over
		n.lender.delay = 0
		n.lender.always(lostRequest)
		release()
		for i := range 3 {
			time.Sleep(tick * time.Microsecond)
			synctest.Wait()
			if got, want := n.Stats().Requests, uint64(i+1)*maxDuePerTick; got != want {
				t.Errorf("requests after %d ticks = %d, want %d", i+1, got, want)
			}
		}
	})
}

// TestAttendWithFullBackground checks that the wheel comes again to an account for which no
// background call could begin.
func TestAttendWithFullBackground(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 1000)
		release := n.fillBackground(maxBackground)
		n.owes(r, "key", 2)
		over := n.now().plus(firstPause + tick)
		taken := n.wheel.take(over, 9, nil)
		if len(taken) != 1 {
			t.Fatalf("due with a debt and a full background = %v, want one", taken)
		}
		n.attend(taken[0], over)
		if got := n.wheel.take(over+tick, 9, nil); len(got) != 1 || got[0] != taken[0] {
			t.Errorf("due while the background is still full = %v, want it again", got)
		}
		release()
		n.attend(taken[0], over+tick)
		n.waitForReplies()
		if _, debt := n.outstanding(r, "key"); debt != 0 {
			t.Errorf("debt when calls may begin = %d, want 0", debt)
		}
		n.checkIdle(r)
	})
}

// TestLeaseExpiresDuringRequest has a lease expire during a request. The next request returns it:
// at once after a reply, and within two seconds after a failure.
func TestLeaseExpiresDuringRequest(t *testing.T) {
	for _, f := range []fate{answered, lostRequest} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.fixed("zone", 1, 10_000)
			taken := n.warm(r, "key")
			leased := n.leased(r, "key")
			p := n.locationOf(r, "key")

			p.shard.Lock() // the call requests nothing, so the lease is not returned with it
			c := newCall(p.key.Text, n.now())
			a, _ := p.findLocked()
			p.requestLocked(c, a, r, new(queue), everything)
			p.shard.Unlock()
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return f, 13 * time.Second })
			n.send(c)
			time.Sleep(12 * time.Second)
			n.checkUsed(r, "key", taken+leased)
			n.lender.decide(nil)
			time.Sleep(1050 * time.Millisecond)
			if f != answered {
				time.Sleep(2 * time.Second)
			}
			n.checkUsed(r, "key", taken)
		})
	}
}

// TestLateGrantIsReturned returns a grant at once if it has expired when it arrives.
func TestLateGrantIsReturned(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10_000)
		r.OnOutage = limiter.OutageClosed
		taken := n.warm(r, "key")
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 14 * time.Second })
		n.fails(ErrTimeout, takeOf(r, "key", 200))
		n.lender.decide(nil)
		time.Sleep(8 * time.Second)
		if used := n.lender.used(r, "key"); used <= taken+200 {
			t.Fatalf("used = %d, want more than %d: something must be granted", used, taken+200)
		}
		time.Sleep(6 * time.Second)
		n.waitForReplies()
		n.checkUsed(r, "key", taken)
	})
}

// TestSweepRemovesIdleAccounts checks that an account is removed half a minute after its last use,
// and that its memory is freed.
func TestSweepRemovesIdleAccounts(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
		for i := range 2000 {
			n.grant(r, fmt.Sprint("key", i), 0)
		}
		n.denied(r, "denied", 11, limiter.FromStore)
		time.Sleep(29 * time.Second)
		synctest.Wait()
		n.checkAccounts(2001)
		time.Sleep(13 * time.Second)
		synctest.Wait()
		n.checkAccounts(0)
		z, tables := n.zoneOf(r), 0
		for i := range uint64(1) << shardBits {
			tables += reflect.ValueOf(&z.accounts.Shard(i << (64 - shardBits)).Entries).Elem().FieldByName("arrays").Len()
		}
		if tables != 0 {
			t.Errorf("memory in %d tables without accounts, want none", tables)
		}
	})
}

// TestAttendFarAhead attends in time to an account that is due later than the wheel looks ahead.
func TestAttendFarAhead(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		now := n.now()
		far := due{at: now + 3*wheelSize*tick, zone: n.Open("zone")}
		n.wheel.add(far)
		for _, d := range n.wheel.take(now+wheelSize*tick, 9, nil) {
			n.attend(d, now+wheelSize*tick)
		}
		if got := n.wheel.take(now+2*wheelSize*tick+tick, 9, nil); len(got) != 1 || got[0] != far {
			t.Errorf("due when it was taken too early = %v, want it again", got)
		}
	})
}

// TestKeysAtLimit counts the keys at their limit. A key is at its limit from a denial by the store
// until the retry instant.
func TestKeysAtLimit(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
		n.allowed(r, "free", 1, limiter.FromStore)
		for _, key := range []string{"a", "b", "c"} {
			n.allowed(r, key, 10, limiter.FromStore)
			n.denied(r, key, 1, limiter.FromStore)
		}
		check := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			if got := r.Zone.(*Accounts).KeysAtLimit(); got != want {
				t.Errorf("keys at their limit = %d, want %d", got, want)
			}
		}
		check(12*time.Second, 3) // all accounts were swept
		check(r.Limit.Window, 0)
	})
}
