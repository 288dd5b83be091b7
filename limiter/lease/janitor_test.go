package lease

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestLeasesGoBackWhenTheyEnd gives back what is not spent though nobody takes any more, after no more than one further lease.
func TestLeasesGoBackWhenTheyEnd(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.rule(limiter.Rule{
					Algorithm: limiter.Algorithm{Kind: kind}, MaxOvershoot: 0.01,
					Limit: limiter.Limit{Events: 100_000, Window: time.Hour},
				})
				taken := n.warm(r, "key")
				n.waitForReturns()
				n.waitForReturns() // a lease lasts for up to two slots
				if leased := n.leased(r, "key"); leased != 0 {
					t.Errorf("leased 24 s later = %d, want none", leased)
				}
				if kind == limiter.TokenBucket { // 27 a second accrue
					time.Sleep(10 * time.Second)
					taken = 0
				}
				n.checkUsed(r, "key", taken)
			})
		})
	}
}

// TestLeasesAreRenewed has a key taken steadily: once it is warm, no take waits for the lender, though leases end between two takes, and
// with windows.
func TestLeasesAreRenewed(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.rule(limiter.Rule{
					Algorithm: limiter.Algorithm{Kind: kind}, MaxOvershoot: 0.05,
					Limit: limiter.Limit{Events: 100_000, Window: time.Minute},
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

// TestLeaseEndsWhileALoanIsInTheAir gives back what has ended meanwhile with the next loan: after an answer at once, after a
// failure within two seconds.
func TestLeaseEndsWhileALoanIsInTheAir(t *testing.T) {
	for _, f := range []fate{answered, lostRequest} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.fixed("zone", 1, 10_000)
			taken := n.warm(r, "key")
			leased := n.leased(r, "key")
			p := n.locationOf(r, "key")

			p.shard.Lock() // asks for nothing, so what is leased does not go back with it
			c := newCall(p.key.Text, n.options.Clock())
			a, _ := p.findLocked()
			p.requestLocked(c, a, r, new(queue))
			p.shard.Unlock()
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return f, 8 * time.Second })
			n.send(c)
			time.Sleep(7 * time.Second)
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

// TestLateGrant gives back at once what arrives after its end.
func TestLateGrant(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10_000)
		taken := n.warm(r, "key")
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 14 * time.Second })
		n.fails(ErrTimeout, takeOf(r, "key", 100))
		n.lender.decide(nil)
		time.Sleep(8 * time.Second)
		if used := n.lender.used(r, "key"); used <= taken+100 {
			t.Fatalf("used = %d, want more than %d: something must be lent", used, taken+100)
		}
		time.Sleep(6 * time.Second)
		n.waitForReplies()
		n.checkUsed(r, "key", taken)
	})
}

// TestIdleAccountsAreForgotten half a minute after they were used, and their memory with them.
func TestIdleAccountsAreForgotten(t *testing.T) {
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
		b, room := n.zoneOf(r), 0
		for i := range uint64(1) << shardBits {
			room += reflect.ValueOf(&b.accounts.Shard(i << (64 - shardBits)).Entries).Elem().FieldByName("arrays").Len()
		}
		if room != 0 {
			t.Errorf("memory in %d tables when there are no accounts, want none", room)
		}
	})
}

// TestWheel has what is due in the first tick after its instant, and what is too far ahead before that.
func TestWheel(t *testing.T) {
	const begin = 7 * tick
	for _, line := range []struct {
		at, want limiter.Instant
	}{
		{begin - 5*tick, begin}, // is late
		{begin - 1, begin},
		{begin, begin + tick},
		{begin + 1, begin + tick},
		{begin + tick - 1, begin + tick},
		{begin + tick, begin + 2*tick},
		{begin + (wheelSize-2)*tick, begin + (wheelSize-1)*tick},
		{begin + wheelSize*tick, begin + (wheelSize-1)*tick},
		{begin + 9*wheelSize*tick, begin + (wheelSize-1)*tick},
	} {
		w := &wheel{next: begin / tick}
		w.add(due{at: line.at})
		if got := w.take(line.want-1, 9, nil); len(got) != 0 {
			t.Errorf("due at %d: taken before %d", line.at, line.want)
		}
		if got := w.take(line.want, 9, nil); len(got) != 1 || got[0].at != line.at {
			t.Errorf("due at %d: taken at %d = %v, want it", line.at, line.want, got)
		}
		if got := w.take(line.want+3*wheelSize*tick, 9, nil); len(got) != 0 {
			t.Errorf("due at %d: taken twice: %v", line.at, got)
		}
	}
}

// TestLookAfterFarAhead comes back to what is further ahead than the wheel knows.
func TestLookAfterFarAhead(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		now := n.options.Clock()
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

// TestWheelTakesNoMoreThanAsked has what is left for the next call, in the order of the ticks, whatever comes in between.
func TestWheelTakesNoMoreThanAsked(t *testing.T) {
	var w wheel
	for i := range limiter.Instant(5) {
		w.add(due{at: 10 * tick, hash: uint64(i)})
		w.add(due{at: 12 * tick, hash: uint64(10 + i)})
	}
	for i, line := range []struct {
		most int
		want string
	}{
		{0, "[]"},
		{2, "[0 1]"},
		{3, "[2 3 4]"},
		{0, "[]"},
		{4, "[10 11 12 13]"},
		{4, "[14 99]"}, // that came when the fourth call had been answered
		{4, "[]"},
	} {
		hashes := []uint64{}
		for _, d := range w.take(20*tick, line.most, nil) {
			hashes = append(hashes, d.hash)
		}
		if got := fmt.Sprint(hashes); got != line.want {
			t.Errorf("call %d for %d = %s, want %s", i, line.most, got, line.want)
		}
		if i == 4 {
			w.add(due{at: 5 * tick, hash: 99})
		}
	}
	for i := range w.due {
		if got := cap(w.due[i]); got > 10 {
			t.Errorf("room in tick %d after all was taken = %d, want little", i, got)
		}
	}
}

// TestWheelForgetsARush keeps no room for what was due in one tick and taken in parts.
func TestWheelForgetsARush(t *testing.T) {
	var w wheel
	for range 10_000 {
		w.add(due{at: 10 * tick})
	}
	for range 10 {
		if got := len(w.take(20*tick, 1000, nil)); got != 1000 {
			t.Fatalf("taken = %d, want 1000", got)
		}
	}
	w.take(20*tick, 1, nil)
	if got := cap(w.due[11]); got != 0 {
		t.Errorf("room after a rush = %d, want none", got)
	}
}

// TestWheelThatStoodStill finds all that was due, however long nobody asked.
func TestWheelThatStoodStill(t *testing.T) {
	var w wheel
	for i := range limiter.Instant(2 * wheelSize) {
		w.add(due{at: i * tick})
	}
	if got := len(w.take(100*wheelSize*tick, 3*wheelSize, nil)); got != 2*wheelSize {
		t.Errorf("taken = %d, want %d", got, 2*wheelSize)
	}
}
