package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// hourly returns a rule of a bucket of 4000 events, which refills them in an hour.
func (n node) hourly() *limiter.Rule {
	n.t.Helper()
	return n.rule(limiter.Rule{Limit: limiter.Limit{Events: 4000, Window: time.Hour}})
}

// newestRequest returns the newest request with its reply.
func (m *memoryLender) newestRequest() limiter.LeaseRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[len(m.requests)-1]
}

// TestRecall returns a part that the lender recalls, with what the node has kept of an older one.
// Nothing is wanted.
func TestRecall(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.hourly()
		n.allowed(r, "key", 1, limiter.FromStore)
		n.allowed(r, "key", 3, limiter.FromLease)
		for _, key := range []string{"key", "another key"} {
			n.recall(key, 2)
		}
		n.recall("another key", 1)
		if n.waitForReplies(); n.leased(r, "key") != 5 || n.lender.received() != 1 {
			t.Fatalf("leased after a recall of others = %d, want 5", n.leased(r, "key"))
		}
		n.recall("key", 1)
		if n.waitForReplies(); n.leased(r, "key") != 0 {
			t.Errorf("leased after a recall = %d, want 0", n.leased(r, "key"))
		}
		l := n.lender.newestRequest()
		if l.Need != 0 || l.Want != 0 || l.Share != 0 || l.Returns[1].N != 8 || l.Returns[1].Spent != 3 || l.Spends.Events[0] != 3 {
			t.Errorf("request after a recall = %+v, want it to return 8 of which 3 are spent, and to want nothing", l)
		}
		n.checkUsed(r, "key", 4)
		n.recall("key", 1)
		if n.waitForReplies(); n.lender.newestRequest().Returns != [2]limiter.Return{} {
			t.Error("a node that holds nothing returns something")
		}

		n.allowed(r, "key", 1, limiter.FromStore)
		n.locationOf(r, "key").withAccount(func(a account) { a.returnPart(&limiter.LeaseRequest{Rule: r}, 2) })
		n.recall("key", 1)
		if n.waitForReplies(); n.leased(r, "key") != 0 || n.lender.newestRequest().Returns[0].N != 2 {
			t.Errorf("leased after a recall = %d, want the 2 that were kept to be returned", n.leased(r, "key"))
		}
		n.checkIdle(r)
	})
}

// TestRecallDoesNothing recalls a part while a request is under way, while the background is full,
// and when the zone is closed.
func TestRecallDoesNothing(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.hourly()
		n.allowed(r, "key", 1, limiter.FromStore)
		release := n.fillBackground(maxBackground)
		n.recall("key", 1)
		release()
		done := make(chan struct{})
		go func() {
			defer close(done)
			n.allowed(r, "key", 9, limiter.FromStore)
		}()
		time.Sleep(rtt / 2)
		n.recall("key", 1)
		<-done
		if n.waitForReplies(); n.lender.received() != 2 || n.leased(r, "key") == 0 {
			t.Errorf("requests = %d with %d leased, want the two of the takes", n.lender.received(), n.leased(r, "key"))
		}
		n.Open("zone").Close()
		before := n.lender.received()
		n.recall("key", 1)
		if n.waitForReplies(); n.lender.received() != before {
			t.Error("a recall has sent a request of a closed zone")
		}
	})
}

// recalls has the lender deny takes because other nodes hold all events of the key, and recall the
// parts. If age is 0, they are recalled by the denial itself, and else this long before.
func (n node) recalls(r *limiter.Rule, age time.Duration) {
	n.lender.lend([]limiter.LeaseRequest{{Rule: r, Key: []byte("key"), Need: r.Capacity()}})
	n.lender.amend = func(l *limiter.LeaseRequest) {
		if l.Denial() != nil {
			l.RecalledAt = l.Decision.At - limiter.Instant(age.Microseconds())
		}
	}
}

// givesBack has other nodes return events of the key after d.
func (n node) givesBack(r *limiter.Rule, d time.Duration, events int64) {
	time.AfterFunc(d, func() { _, _ = n.lender.AddQuota(context.Background(), 0, r, []byte("key"), events) })
}

// TestTakesAskAgain denies takes while the lender recalls parts. They ask once more, a millisecond
// after the reply. Takes that come meanwhile are decided by the second reply too. If it denies
// them, the denial is remembered.
func TestTakesAskAgain(t *testing.T) {
	const again = rtt + askAgainAfter + rtt // when the second reply comes
	for _, test := range []struct {
		what     string
		age      time.Duration // of the recall
		back     int64         // events that other nodes return
		after    time.Duration // when they do
		admitted int
		took     time.Duration
		requests int // for takes
	}{
		{"all is returned", 0, 100, rtt, 3, again, 3},
		{"a little is returned", 0, 2, rtt, 2, again, 3},
		{"nothing is returned", 0, 0, rtt, 0, again, 3},
		{"it is returned too late", 0, 100, again, 0, again, 3},
		{"before, but not long ago", 3 * time.Millisecond, 100, rtt, 3, again, 3},
		{"long ago", 3*time.Millisecond + time.Microsecond, 100, rtt, 0, rtt, 2},
	} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.hourly()
			n.recalls(r, test.age)
			n.givesBack(r, test.after, test.back)
			before := n.lender.received()
			decisions := make(chan limiter.Decision, 3)
			for _, at := range []time.Duration{0, rtt / 4, rtt + rtt/3} { // the second is sent beside the first
				time.AfterFunc(at, func() { decisions <- n.take(r, "key", 1) })
			}
			began, admitted, took := time.Now(), 0, time.Duration(0)
			for i := range 3 {
				d := <-decisions
				if d.OK {
					admitted++
				}
				if i == 0 {
					took = time.Since(began)
				}
			}
			if admitted != test.admitted || took != test.took {
				t.Errorf("%s: %d takes admitted, the first after %v; want %d and %v", test.what, admitted, took, test.admitted, test.took)
			}
			n.waitForReplies()
			needs := 0
			for _, l := range n.lender.requests[before:] {
				if l.Need > 0 {
					needs++
				}
			}
			if needs != test.requests {
				t.Errorf("%s: %d requests for takes, want %d", test.what, needs, test.requests)
			}
			if test.admitted == 0 {
				n.denied(r, "key", 1, limiter.FromRememberedDenial)
			}
			n.checkIdle(r)
		})
	}
}

// TestNobodyAsksAgain has the only take give up before it asks again. No second request is sent,
// and the account goes on to work.
func TestNobodyAsksAgain(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.hourly()
		n.recalls(r, 0)
		before := n.lender.received()
		ctx, cancel := context.WithTimeout(t.Context(), rtt+askAgainAfter/2)
		defer cancel()
		err := n.Take(ctx, n.Now(), []limiter.Take{takeOf(r, "key", 1)})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("take = %v, want that its context has ended", err)
		}
		if n.waitForReplies(); n.lender.received() != before+1 {
			t.Errorf("requests = %d, want 1", n.lender.received()-before)
		}
		n.givesBack(r, 0, 100)
		time.Sleep(time.Second)
		n.allowed(r, "key", 1, limiter.FromStore)
		n.waitForReplies()
		n.checkIdle(r)
	})
}

// TestDenialOfSeveralIsFinal denies a call for two limits. Its takes do not ask again, because the
// take of the other limit has not been served.
func TestDenialOfSeveralIsFinal(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.hourly()
		other := n.rule(limiter.Rule{ID: 2, Limit: r.Limit})
		n.recalls(r, 0)
		before := n.lender.received()
		takes := []limiter.Take{takeOf(r, "key", 1), takeOf(other, "key", 1)}
		if took := n.fails(nil, takes...); takes[0].Decision.OK || took > rtt+askAgainAfter/2 {
			t.Errorf("take = %+v after %v, want a denial after one round trip", takes[0].Decision, took)
		}
		if n.waitForReplies(); n.lender.received() > before+3 {
			t.Errorf("requests = %d, want none that asks again", n.lender.received()-before)
		}
		n.checkIdle(r)
	})
}

// TestCloseBeforeAskingAgain closes the store while a take waits to ask again. The take is decided,
// and nothing stays leased.
func TestCloseBeforeAskingAgain(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.hourly()
		n.recalls(r, 0)
		n.givesBack(r, rtt, 100)
		done := make(chan struct{})
		go func() {
			defer close(done)
			n.allowed(r, "key", 1, limiter.FromStore)
		}()
		time.Sleep(rtt + askAgainAfter/2)
		n.Close()
		<-done
		synctest.Wait()
		n.checkUsed(r, "key", 4000-100+1)
	})
}

// recall has the store hear that the lender recalls a bucket just now.
func (n node) recall(key string, rule uint32) {
	n.Recall(limiter.Recall{Key: []byte(key), Rule: rule, At: limiter.At(time.Now().Add(3 * time.Hour))})
}
