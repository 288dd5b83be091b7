package fault

import (
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A scene is a fleet with one fault, on the primary of shard 0.
type scene struct {
	*fleet
	fault   *fault
	primary *redistest.Server
	replica *redistest.Server // of the primary, if the fault promotes it
	used    string            // a key at its limit before the fault
	half    string            // a key at half of its limit before the fault
	fresh   string            // a key that is used first during the fault
	other   string            // a key like fresh, on another shard; "" if there is none

	joined []int  // nodes that have started while the fault lasted, besides those of the fleet
	undo   func() // ends the fault; inject sets it
}

// run injects a fault and checks what becomes of the requests.
func (f *fleet) run(ft *fault) *result {
	f.t.Helper()
	s := f.prepare(ft)
	r := &result{fault: ft}
	for _, p := range s.primaries() {
		r.primaries = append(r.primaries, f.redis.addr(p))
	}
	r.before = f.left()
	f.load.resume()
	wait(200 * time.Millisecond)

	r.injected = time.Now()
	ft.inject(s)
	r.keys = []tightKey{{s.fresh, 0}, {s.half, 0}, {s.used, 0}}
	if s.other != "" {
		r.keys = append(r.keys, tightKey{s.other, 1})
	}
	f.load.tight.Store(&r.keys)
	if *matrix && !ft.suspends {
		f.reload()
	}
	if ft.promotes {
		redistest.Eventually(f.t, "the promotion", func() bool {
			return strings.Contains(s.replica.Client().Info(f.t.Context(), "replication").Val(), "role:master")
		})
	} else {
		wait(time.Until(r.injected.Add(ft.lasts)))
		s.undo()
	}
	r.healed = time.Now()
	ended := s.awaitEnd(r.healed)
	f.load.pause()
	if ft.promotes && s.undo != nil {
		s.undo()
	}
	r.samples, r.late = f.load.taken()
	r.transitions = f.transitions(r.injected)
	if ended {
		s.settle(r)
	}
	for _, n := range s.joined {
		f.load.node(n).Kill()
	}
	return r
}

// prepare uses the keys of the scene as far as they are to be used before the fault. The load is paused.
func (f *fleet) prepare(ft *fault) *scene {
	f.t.Helper()
	f.faults++
	f.redis.awaitHealthy()
	s := &scene{fleet: f, fault: ft, primary: f.redis.primary(f.load.keys[0][0])}
	if ft.promotes {
		s.replica = f.redis.replica(s.primary)
	}
	names := f.names(0, "used", "half", "fresh")
	s.used, s.half, s.fresh = names[0], names[1], names[2]
	if f.redis.shards() > 1 && !ft.everywhere {
		s.other = f.names(1, "other")[0]
	}
	f.load.tight.Store(new([]tightKey))
	// A machine that is late by more than the timeout needs long until then.
	redistest.Within(f.t, time.Minute, "decisions by Redis", f.healthy)
	f.load.taken()
	s.exhaust(tightKey{s.used, 0})
	for i := range limit / 2 {
		f.load.request(i%len(f.nodes), tight, s.half, 0)
	}
	return s
}

// exhaust sends requests of a key until Redis has denied it to all nodes.
func (s *scene) exhaust(k tightKey) {
	s.t.Helper()
	nodes := s.joined
	for n := range s.nodes {
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		redistest.Eventually(s.t, "the denial of "+k.name, func() bool {
			for range 2 * limit {
				if got := s.load.request(n, tight, k.name, k.shard); got.status == 429 && !got.degraded {
					return true
				}
			}
			return false
		})
	}
}

// awaitEnd waits until no request has noticed the fault for a while, and reports whether that was in time.
func (s *scene) awaitEnd(healed time.Time) bool {
	s.t.Helper()
	const quiet = 200 * time.Millisecond
	for now := healed; now.Before(healed.Add(endedWithin + time.Second)); now = time.Now() {
		noticed := slices.ContainsFunc(s.load.since(now.Add(-quiet)), func(s sample) bool { return s.degraded })
		if now.Sub(healed) > quiet && !noticed && s.healthy() {
			wait(quiet)
			return true
		}
		wait(20 * time.Millisecond)
	}
	return false
}

// settle sends requests of the keys at their limits until each node has denied them, while the load is
// paused. Then it looks for what the fault has left behind.
func (s *scene) settle(r *result) {
	s.t.Helper()
	for _, k := range r.keys {
		s.exhaust(k)
	}
	samples, _ := s.load.taken()
	r.samples = append(r.samples, samples...)
	if r.after = s.left(); *matrix {
		r.awaited = true
		r.after = s.awaitEnds(r.before)
	}
}

// awaitEnds waits until the goroutines and connections that were not there before have ended. It returns what
// is left in the end.
func (f *fleet) awaitEnds(before resources) (now resources) {
	f.t.Helper()
	for calm, deadline := 0, time.Now().Add(endsWithin); calm < 3 && time.Now().Before(deadline); calm++ {
		if now = f.left(); now.leaks(before) {
			calm = -1
		}
		wait(20 * time.Millisecond)
	}
	return now
}

func wait(d time.Duration) { <-time.After(d) }
