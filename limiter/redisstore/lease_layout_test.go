package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// lend answers one lease request of "key" at now by a test's clock, or by Redis's clock if now is
// 0.
func lend(t *testing.T, s *Store, now limiter.Instant, l limiter.LeaseRequest) limiter.LeaseRequest {
	t.Helper()
	if now > 0 {
		s.clock = func(limiter.Instant) string { return fmt.Sprint(int64(now)) }
	}
	l.Key = []byte("key")
	requests := []limiter.LeaseRequest{l}
	answer := make(chan error, 1)
	s.Lend(requests, nil, func(err error) { answer <- err })
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	return requests[0]
}

// leasable returns a rule with lease slots of two seconds, if the algorithm has slots.
func leasable(t *testing.T, a limiter.Algorithm) *limiter.Rule {
	t.Helper()
	r, err := limiter.NewRule(limiter.Rule{
		ID: 0x01020304, Algorithm: a, Limit: limiter.Limit{Events: 600, Window: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestValuesWithLeases pins the sizes of values while leases are open, and after that.
func TestValuesWithLeases(t *testing.T) {
	redis := redistest.Shared(t).Client()
	client := connect(t, standalone(t))
	const start = limiter.Instant(1_800_000_000_000_000) // start of a slot
	type step struct {
		name    string
		after   time.Duration // time since start
		request limiter.LeaseRequest
		bytes   int // bytes of the value
		noted   int // number of members of the log
	}
	for _, test := range []struct {
		limiter.Algorithm
		steps []step
	}{
		{limiter.Algorithm{Kind: limiter.FixedWindow}, []step{
			{"granted", 0, limiter.LeaseRequest{Want: 10}, 22, 0},
			{"over", 11 * time.Second, limiter.LeaseRequest{Need: 1}, 19, 0},
		}},
		{sliding(1), []step{
			{"granted", 0, limiter.LeaseRequest{Want: 10}, 21, 0},
			{"over", 11 * time.Second, limiter.LeaseRequest{Need: 1}, 18, 0},
		}},
		{limiter.Algorithm{}, []step{
			{"served", 0, limiter.LeaseRequest{Need: 1}, 20, 0},
			{"granted", 0, limiter.LeaseRequest{Want: 10}, 39, 0},
			{"refilled, with overflow", 2 * time.Second, limiter.LeaseRequest{Cancel: limiter.Events{N: 1, At: start}}, 53, 0},
			{"still open", 89 * time.Second, limiter.LeaseRequest{Need: 1}, 53, 0},
			{"over", 200 * time.Second, limiter.LeaseRequest{Need: 1}, 20, 0},
			{"half empty", 200 * time.Second, limiter.LeaseRequest{Need: 400}, 20, 0},
			{"granted with a share", 200 * time.Second, limiter.LeaseRequest{Want: 10, Share: 100}, 53, 0},
		}},
		{limiter.Algorithm{Kind: limiter.SlidingWindowLog}, []step{
			{"granted", 0, limiter.LeaseRequest{Want: 10}, 30, 0},
			{"still open", 7499 * time.Millisecond, limiter.LeaseRequest{}, 30, 0},
			{"over", 7500 * time.Millisecond, limiter.LeaseRequest{}, 10, 1}, // the value was not written
			{"served", 8 * time.Second, limiter.LeaseRequest{Need: 1}, 0, 3}, // one of them is the member `gone`
			{"granted again", 8 * time.Second, limiter.LeaseRequest{Want: 10}, 30, 3},
			{"returned", 8 * time.Second, limiter.LeaseRequest{Returns: [2]limiter.Return{{Events: limiter.Events{N: 10, At: start + 8_000_000}}}}, 0, 3},
			{"canceled", 9 * time.Second, limiter.LeaseRequest{Cancel: limiter.Events{N: 1, At: start + 8_000_000}}, 10, 2},
		}},
	} {
		s, r := withClock(client), leasable(t, test.Algorithm)
		hash := hashName(s.prefix, []byte("key"))
		incarnation := lend(t, s, start, limiter.LeaseRequest{Rule: r}).Incarnation
		for _, step := range test.steps {
			step.request.Rule, step.request.Incarnation = r, incarnation
			lend(t, s, start+limiter.Instant(step.after.Microseconds()), step.request)
			fields, err := redis.HGetAll(t.Context(), hash).Result()
			if err != nil {
				t.Fatal(err)
			}
			if value := fields[field(r.ID)]; len(value) != step.bytes || len(fields) > 2 {
				t.Errorf("%v, %s: fields = %q, want at most one value of %d bytes, and the creation", test.Algorithm, step.name, fields, step.bytes)
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

// TestLeasesExpire checks the time to live of the hash that a lease request writes: as long as the
// hash is of use, and at most an eighth longer.
func TestLeasesExpire(t *testing.T) {
	redis := redistest.Shared(t).Client()
	for _, test := range []struct {
		limiter.Algorithm
		limiter.LeaseRequest
		least, most time.Duration
	}{
		{limiter.Algorithm{}, limiter.LeaseRequest{Want: 10}, 90 * time.Second, 205 * time.Second},
		{limiter.Algorithm{Kind: limiter.SlidingWindowLog}, limiter.LeaseRequest{Want: 10}, 62 * time.Second, 79 * time.Second},
	} {
		s := New(connect(t, standalone(t)), fmt.Sprint("rl", test.Algorithm))
		test.Rule = leasable(t, test.Algorithm)
		lend(t, s, 0, test.LeaseRequest)
		ttl := redis.PTTL(t.Context(), hashName(s.prefix, []byte("key"))).Val()
		if ttl < test.least || ttl > test.most {
			t.Errorf("%v: time to live = %v, want %v to %v", test.Algorithm, ttl, test.least, test.most)
		}
	}
}
