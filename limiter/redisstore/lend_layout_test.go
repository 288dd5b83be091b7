package redisstore

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// borrow answers one loan of "key" at an instant of a test's clock, or of Redis's when that is 0.
func borrow(t *testing.T, s *Store, now limiter.Instant, l limiter.LeaseRequest) limiter.LeaseRequest {
	t.Helper()
	if now > 0 {
		s.clock = func(limiter.Instant) string { return fmt.Sprint(int64(now)) }
	}
	l.Key = []byte("key")
	loans := []limiter.LeaseRequest{l}
	answer := make(chan error, 1)
	s.Lend(loans, func(err error) { answer <- err })
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	return loans[0]
}

// leasable returns a rule that has slots of two seconds, where the algorithm has slots.
func leasable(t *testing.T, a limiter.Algorithm) *limiter.Rule {
	t.Helper()
	r, err := limiter.NewRule(limiter.Rule{
		ID: 0x01020304, Algorithm: a, MaxOvershoot: 1.0 / 30, Limit: limiter.Limit{Events: 600, Window: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestValuesWithLeases pins what a key takes while leases are out, and that it takes no more than before when they are not.
func TestValuesWithLeases(t *testing.T) {
	redis := redistest.Shared(t).Client()
	client := connect(t, standalone(t))
	const start = limiter.Instant(1_800_000_000_000_000) // of a slot
	type step struct {
		name  string
		after time.Duration // since the start
		loan  limiter.LeaseRequest
		bytes int // of the value
		noted int // members of the log
	}
	for _, test := range []struct {
		limiter.Algorithm
		steps []step
	}{
		{limiter.Algorithm{Kind: limiter.FixedWindow}, []step{
			{"lent", 0, limiter.LeaseRequest{Want: 10}, 22, 0},
			{"over", 6 * time.Second, limiter.LeaseRequest{Need: 1}, 19, 0},
		}},
		{sliding(1), []step{
			{"lent", 0, limiter.LeaseRequest{Want: 10}, 17, 0},
			{"over", 6 * time.Second, limiter.LeaseRequest{Need: 1}, 14, 0},
		}},
		{limiter.Algorithm{}, []step{
			{"served", 0, limiter.LeaseRequest{Need: 1}, 20, 0},
			{"lent", 0, limiter.LeaseRequest{Want: 10}, 40, 0},
			{"refilled, and still out", 2 * time.Second, limiter.LeaseRequest{Cancel: limiter.Events{N: 1, At: start}}, 40, 0},
			{"over", 4 * time.Second, limiter.LeaseRequest{Need: 1}, 20, 0},
		}},
		{limiter.Algorithm{Kind: limiter.SlidingWindowLog}, []step{
			{"lent", 0, limiter.LeaseRequest{Want: 10}, 30, 0},
			{"still out", 3999 * time.Millisecond, limiter.LeaseRequest{}, 30, 0},
			{"over", 4 * time.Second, limiter.LeaseRequest{}, 10, 1},         // which was not written then
			{"served", 5 * time.Second, limiter.LeaseRequest{Need: 1}, 0, 3}, // with what is gone
			{"lent again", 5 * time.Second, limiter.LeaseRequest{Want: 10}, 30, 3},
			{"given back", 5 * time.Second, limiter.LeaseRequest{Returns: [2]limiter.Events{{N: 10, At: start + 5_000_000}}}, 0, 3},
			{"undone", 6 * time.Second, limiter.LeaseRequest{Cancel: limiter.Events{N: 1, At: start + 5_000_000}}, 10, 2},
		}},
	} {
		s, r := withClock(client), leasable(t, test.Algorithm)
		hash := hashName(s.prefix, []byte("key"))
		run := borrow(t, s, start, limiter.LeaseRequest{Rule: r}).Incarnation
		for _, step := range test.steps {
			step.loan.Rule, step.loan.Incarnation = r, run
			borrow(t, s, start+limiter.Instant(step.after.Microseconds()), step.loan)
			fields, err := redis.HGetAll(t.Context(), hash).Result()
			if err != nil {
				t.Fatal(err)
			}
			if value := fields[field(r.ID)]; len(value) != step.bytes || len(fields) > 2 {
				t.Errorf("%v, %s: fields = %q, want at most one, of %d bytes, and the creation", test.Algorithm, step.name, fields, step.bytes)
			}
			if n := redis.ZCard(t.Context(), logName(hash, r.ID)).Val(); n != int64(step.noted) {
				t.Errorf("%v, %s: members of the log = %d, want %d", test.Algorithm, step.name, n, step.noted)
			}
			for _, name := range redis.Keys(t.Context(), hash+"*").Val() {
				if redis.PTTL(t.Context(), name).Val() <= 0 {
					t.Errorf("%v, %s: %q never expires", test.Algorithm, step.name, name)
				}
			}
		}
	}
}

// TestLoansExpire checks that what a loan writes lives for as long as it is of use, and an eighth
// longer at the most.
func TestLoansExpire(t *testing.T) {
	redis := redistest.Shared(t).Client()
	for _, test := range []struct {
		limiter.Algorithm
		limiter.LeaseRequest
		day         bool // the window is a day, not a minute
		least, most time.Duration
	}{
		{limiter.Algorithm{}, limiter.LeaseRequest{Want: 10}, false, 2900 * time.Millisecond, 7 * time.Second},
		{limiter.Algorithm{Kind: limiter.SlidingWindowLog}, limiter.LeaseRequest{Want: 10}, false, 62 * time.Second, 79 * time.Second},
		{limiter.Algorithm{Kind: limiter.FixedWindow}, limiter.LeaseRequest{CreditTotal: 1}, false, 119 * time.Second, 135 * time.Second},
		{limiter.Algorithm{Kind: limiter.FixedWindow}, limiter.LeaseRequest{CreditTotal: 1}, true, 48 * time.Hour, 55 * time.Hour},
		{limiter.Algorithm{}, limiter.LeaseRequest{CreditTotal: 1}, true, 48 * time.Hour, 55 * time.Hour},
	} {
		s := New(connect(t, standalone(t)), fmt.Sprint("rl", test.Algorithm))
		test.Rule = leasable(t, test.Algorithm)
		if test.day {
			test.Rule = mustRule(t, 1, test.Algorithm, limiter.Limit{Events: 100_000, Window: 24 * time.Hour})
		}
		borrow(t, s, 0, test.LeaseRequest)
		ttl := redis.PTTL(t.Context(), hashName(s.prefix, []byte("key"))).Val()
		if ttl < test.least || ttl > test.most {
			t.Errorf("%v, of a day: %v: time to live = %v, want %v to %v", test.Algorithm, test.day, ttl, test.least, test.most)
		}
	}
}

// TestDebtsOfManyNodes pins what is remembered of what each node paid, and that it is forgotten in the end.
func TestDebtsOfManyNodes(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s, now := withClock(connect(t, standalone(t))), limiter.Instant(1_800_000_000_000_000)
	r, hash := leasable(t, limiter.Algorithm{}), hashName(s.prefix, []byte("key"))
	for node := range uint64(1000) {
		now += 1_000_000_000 // longer than the unit of expiries
		s.node = node
		borrow(t, s, now, limiter.LeaseRequest{Rule: r, CreditTotal: 1})
		name := field(r.ID) + string(binary.BigEndian.AppendUint64(nil, node))
		if value := redis.HGet(t.Context(), hash, name).Val(); len(value) != 10 {
			t.Fatalf("what node %d paid = %q, want 10 bytes", node, value)
		}
	}
	if n := redis.HLen(t.Context(), hash).Val(); n > 20 {
		t.Errorf("fields after 1000 nodes that are gone = %d, want a few", n)
	}
}
