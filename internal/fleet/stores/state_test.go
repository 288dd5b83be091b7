package stores

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// TestMergedStates has two stores of one name, as there are while a reload changes the password.
func TestMergedStates(t *testing.T) {
	const ms = time.Millisecond
	refused := errors.New("NOAUTH")
	server := &redisconn.Server{Memory: 1}
	primary := func(b redisconn.Breaker, refusals uint64, s *redisconn.Server) redisconn.Primary {
		return redisconn.Primary{Breaker: b, Errors: [redisconn.ErrorKinds]uint64{redisconn.Refused: refusals}, Server: s}
	}
	got := merged([]State{
		{"redis a", lease.Stats{Granted: 3, Accounts: 1}, 1, 4, []membership.Mismatch{{Zone: "one"}}, []redisconn.Primary{
			primary(redisconn.Breaker{Addr: "a:1", State: redisconn.Open, Err: refused}, 5, nil),
			primary(redisconn.Breaker{Addr: "b:1", Latency: 9 * ms}, 0, nil),
			primary(redisconn.Breaker{Addr: "c:1", Latency: ms}, 1, nil),
		}, refused, 2},
		{"redis a", lease.Stats{Granted: 4, Accounts: 2}, 2, 3, []membership.Mismatch{{Zone: "two"}}, []redisconn.Primary{
			primary(redisconn.Breaker{Addr: "a:1", Latency: ms}, 2, server),
			primary(redisconn.Breaker{Addr: "b:1", Latency: 2 * ms}, 0, nil),
			primary(redisconn.Breaker{Addr: "c:1", State: redisconn.HalfOpen, Err: refused}, 1, nil),
		}, nil, 3},
		{Name: "redis b", Nodes: 1},
	})
	want := []State{
		{"redis a", lease.Stats{Granted: 7, Accounts: 3}, 3, 4, []membership.Mismatch{{Zone: "one"}, {Zone: "two"}}, []redisconn.Primary{
			primary(redisconn.Breaker{Addr: "a:1", State: redisconn.Open, Err: refused}, 7, server),
			primary(redisconn.Breaker{Addr: "b:1", Latency: 9 * ms}, 0, nil),
			primary(redisconn.Breaker{Addr: "c:1", State: redisconn.HalfOpen, Err: refused}, 2, nil),
		}, refused, 2},
		{Name: "redis b", Nodes: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("states = %+v\nwant     %+v", got, want)
	}
}

// TestStatesOfReload has three configurations of stores in Redis: two of one Redis, with and without a
// password, and one of another Redis. A store in memory has no state.
func TestStatesOfReload(t *testing.T) {
	for _, redis := range []string{
		`{"addresses": ["192.0.2.2:6379"]}`, `{"addresses": ["192.0.2.1:6379"]}`, `{"addresses": ["192.0.2.1:6379"], "password": "p"}`, "",
	} {
		_, release := Acquire(resolved(t, redis), new(observer))
		defer release()
	}
	states := States()
	if len(states) != 2 || states[0].Name != "redis standalone 192.0.2.1:6379" || states[1].Name != "redis standalone 192.0.2.2:6379" ||
		len(states[0].Primaries) != 1 || states[0].Primaries[0].Addr != "192.0.2.1:6379" {
		t.Errorf("states = %+v, want one with one primary for each Redis, in order", states)
	}
}
