package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestAdmission admits a take without the lender in each of the ways that there are for a key with
// an account. A take that is carried becomes another one with the reply.
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
