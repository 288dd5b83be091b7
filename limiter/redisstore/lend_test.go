package redisstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestLend grants leases by the clock of Redis, in every topology.
func TestLend(t *testing.T) {
	for _, topology := range topologies {
		t.Run(topology.name, func(t *testing.T) {
			s := New(connect(t, topology.options(t)), "rl")
			r := leasable(t, limiter.Algorithm{Kind: limiter.FixedWindow})
			l := lend(t, s, 0, limiter.LeaseRequest{Rule: r, Need: 1, More: 2, Want: 1000})
			if l.Served != 3 || l.Granted != 298 || l.Incarnation == 0 { // half of 597
				t.Errorf("served %d, granted %d by incarnation %d, want 3 and 298 by one that is not 0", l.Served, l.Granted, l.Incarnation)
			}
			if now := limiter.At(time.Now()); l.Expires <= l.Decision.At || l.Expires > now+10_000_000 {
				t.Errorf("the lease expires at %d, want within 10 s of %d", l.Expires, now)
			}
			l = lend(t, s, 0, limiter.LeaseRequest{Rule: r, Need: 1, Want: 1000, Busy: true})
			if l.Served != 1 || l.Granted != 298 || l.Decision.Remaining != 0 { // all that is left
				t.Errorf("served %d, granted %d for a busy key, %d left, want 1, 298 and 0",
					l.Served, l.Granted, l.Decision.Remaining)
			}
			if l = lend(t, s, 0, limiter.LeaseRequest{Rule: r, Need: 601}); l.Served != 0 || l.Decision.OK {
				t.Errorf("request above the limit = %+v, want a denial", l)
			}
		})
	}
}

// TestStrictRulesGrantNothing requests a lease under a strict rule, which grants none.
func TestStrictRulesGrantNothing(t *testing.T) {
	r, err := limiter.NewRule(limiter.Rule{ID: 1, Strict: true, Limit: limiter.Limit{Events: 600, Window: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	l := lend(t, New(connect(t, standalone(t)), "rl"), 0, limiter.LeaseRequest{Rule: r, Need: 1, Want: 100})
	if l.Served != 1 || l.Granted != 0 || l.Expires != 0 {
		t.Errorf("served %d, granted %d until %d, want 1 and nothing", l.Served, l.Granted, l.Expires)
	}
}

// TestRequestAfterRestart has Redis lose everything. Leases of the earlier incarnation are not
// taken back, and the state that the node has seen is restored.
func TestRequestAfterRestart(t *testing.T) {
	server := redistest.NewServer(t)
	s := New(connect(t, redisconn.Options{Addresses: []string{server.Addr}}), "rl")
	r := leasable(t, limiter.Algorithm{Kind: limiter.SlidingWindowLog})
	before := lend(t, s, 0, limiter.LeaseRequest{Rule: r, Need: 100, Want: 50})
	seen := limiter.Events{At: before.Decision.At, N: r.Capacity() - before.Decision.Remaining}
	server.Restart()

	after := limiter.LeaseRequest{Rule: r, Seen: seen, Incarnation: before.Incarnation}
	after.Returns[0].Events = limiter.Events{At: before.Decision.At, N: before.Granted}
	after = lend(t, s, 0, after)
	if after.Incarnation == before.Incarnation {
		t.Errorf("incarnation after a restart = %d, as before", after.Incarnation)
	}
	if got, want := after.Decision.Remaining, before.Decision.Remaining; got != want {
		t.Errorf("remaining after a restart = %d, want %d as before", got, want)
	}
}

// TestLendFails checks that Lend calls done once with an error if the call fails, and if the client
// is closed.
func TestLendFails(t *testing.T) {
	client := connect(t, standalone(t))
	requests := []limiter.LeaseRequest{{Rule: leasable(t, limiter.Algorithm{}), Key: []byte("key"), Need: 1}}
	s, errs := New(client, "rl"), make(chan error, 2)
	if err := redistest.Shared(t).Client().Set(t.Context(), "rl:{key}", "not a hash", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Lend(requests, nil, func(err error) { errs <- err })
	if err := <-errs; err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("error = %v, want Redis's WRONGTYPE", err)
	}
	client.Close()
	s.Lend(requests, nil, func(err error) { errs <- err })
	if err := <-errs; !errors.Is(err, redisconn.ErrClosed) {
		t.Errorf("error after Close = %v, want ErrClosed", err)
	}
	if n := len(errs); n != 0 {
		t.Errorf("further calls of done = %d, want none", n)
	}
}

// TestReadGrantsRejectsOtherReplies reads replies that lease_grant.lua does not send.
func TestReadGrantsRejectsOtherReplies(t *testing.T) {
	requests := []limiter.LeaseRequest{{Rule: leasable(t, limiter.Algorithm{})}}
	parts := strings.Repeat("\x01", 35)
	for _, test := range []struct {
		reply any
		ok    bool
	}{
		{[]any{int64(5), int64(1), int64(0), int64(0), int64(1), int64(0), int64(1), int64(0), int64(0)}, true},
		{[]any{int64(5), int64(1), int64(1), int64(9), int64(0), int64(4), int64(1), int64(0), parts}, true},
		{[]any{int64(5), int64(1), int64(1), int64(9), int64(0), int64(4), int64(1), int64(0), parts, int64(2)}, true}, // with two foreign values
		{nil, false},
		{[]any{}, false},
		{[]any{int64(5), int64(1), int64(0), int64(0), int64(1), int64(0), int64(1), int64(0)}, false},
		{[]any{int64(5), int64(1), int64(0), int64(0), int64(1), int64(0), int64(1), int64(0), parts[1:]}, false},
		{[]any{int64(5), int64(1), int64(0), int64(0), int64(1), int64(0), int64(1), int64(0), int64(0), int64(0)}, false},
	} {
		if _, err := readGrants(&redisconn.Call{Reply: test.reply}, requests); (err == nil) != test.ok {
			t.Errorf("reading %v = %v, want no error: %v", test.reply, err, test.ok)
		}
	}
}

// TestLeaseArgs pins the bytes of a lease request, which lease_request.lua reads by their offsets.
func TestLeaseArgs(t *testing.T) {
	s := new(Store)
	r := leasable(t, limiter.Algorithm{})
	for _, test := range []struct {
		limiter.LeaseRequest
		want string
	}{
		{limiter.LeaseRequest{More: 1, Want: 2, Share: 3, Nodes: 3},
			"\x00\x00\x01\x00\x0c\x00\x00\x00\x00\x02\x00\x98\x96\x80\x00\x03"},
		{limiter.LeaseRequest{More: 1 << 60, Seen: limiter.Events{At: 3, N: 4}, Incarnation: 5},
			"\xff\xff\xff\x00\x04\x00\x00\x00\x00\x00\x00\x98\x96\x80\x00\x00" +
				"\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x03" + "\x00\x00\x00\x00\x00\x00\x05"},
		{limiter.LeaseRequest{Incarnation: 5, Returns: [2]limiter.Return{{Events: limiter.Events{At: 1, N: 2}, Spent: 9, Share: 8}, {Events: limiter.Events{At: 3, N: 4}}},
			Cancel: limiter.Events{At: 5, N: 6}, Lacked: 7},
			"\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x98\x96\x80\x00\x00" +
				"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x05" +
				"\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x00\x09" + "\x00\x08" +
				"\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x03" + "\x00\x00\x00\x00\x00" + "\x00\x00" +
				"\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x05" + "\x00\x00\x00\x00\x07"},
		{limiter.LeaseRequest{Incarnation: 5, Returns: [2]limiter.Return{{}, {Events: limiter.Events{At: 1, N: 2}, Spent: 9}},
			Spends: limiter.Spends{Newest: 6, Events: [limiter.OverflowWindows]uint16{7, 258}}},
			"\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x98\x96\x80\x00\x00" +
				strings.Repeat("\x00", 12) + "\x00\x00\x00\x00\x00\x00\x05" + strings.Repeat("\x00", 19) +
				"\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x00\x09" + "\x00\x00" +
				strings.Repeat("\x00", 17) + "\x00\x00\x00\x00\x00\x00\x06" + "\x00\x07\x01\x02" + strings.Repeat("\x00", 20)},
	} {
		test.Rule = r
		if got := string(s.appendLeaseArgs(nil, &test.LeaseRequest)); got != test.want {
			t.Errorf("arguments of %+v = %q, want %q", test.LeaseRequest, got, test.want)
		}
	}
}
