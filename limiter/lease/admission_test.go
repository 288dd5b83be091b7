package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestAdmission admits a take of a key with an account in each way in which that happens without
// the lender. The reply changes how a carried take was admitted.
func TestAdmission(t *testing.T) {
	for _, test := range []struct {
		name        string
		fate        fate
		delay       time.Duration // of the reply; the take waits 50 ms
		want, after admission
	}{
		{"not asked", refused, rtt, indebted, indebted},
		{"reply lost", lostReply, rtt, uncertain, uncertain},
		{"late, then served", answered, 70 * time.Millisecond, carried, debited},
		{"late, then not asked", refused, 70 * time.Millisecond, carried, indebted},
		{"late, then lost", lostReply, 70 * time.Millisecond, carried, uncertain},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return test.fate, test.delay })
				set := n.newTakeSet(takeOf(n.fixed("zone", 1, 1000), "key", 3))
				k := &set.takes[0]
				n.round(t.Context(), set)
				n.takeInOutage(t.Context(), set)
				if k.state != admitted || k.admission != test.want {
					t.Errorf("take in state %d, admission %d, want %d, %d", k.state, k.admission, admitted, test.want)
				}
				time.Sleep(50 * time.Millisecond)
				k.shard.Lock()
				got := k.admissionLocked()
				a, _ := k.findLocked()
				before := a.local
				k.shard.Unlock()
				if got != test.after {
					t.Errorf("admission after the reply = %d, want %d", got, test.after)
				}
				inOutage := test.after != debited
				n.undo(k, set.now)
				if got := a.local - before; inOutage && got != 3 {
					t.Errorf("the local bucket gets back %d events, want 3", got)
				}
			})
		})
	}
}

// TestDropFillsLocalBucketOnce resets a key while a request is under way. That fills its local
// bucket. The reply does not fill the bucket again after events were taken from it.
func TestDropFillsLocalBucketOnce(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 300 * time.Millisecond })
		r := n.fixed("zone", 1, 1000)
		set := n.newTakeSet(takeOf(r, "key", 3))
		k := &set.takes[0]
		n.round(t.Context(), set)
		n.Drop(r, []byte("key"))
		n.takeInOutage(t.Context(), set)
		local := func() int64 {
			k.shard.Lock()
			defer k.shard.Unlock()
			a, _ := k.findLocked()
			return a.local
		}
		before := local()
		time.Sleep(time.Second)
		if after := local(); k.admission != carried || before <= 0 || after != before {
			t.Errorf("admission = %d, local bucket before and after the reply = %d, %d, want %d, and one number above 0",
				k.admission, before, after, carried)
		}
	})
}
