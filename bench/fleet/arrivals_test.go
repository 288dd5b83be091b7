package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// shapeOf returns the shape called name.
func shapeOf(t *testing.T, name string) shape {
	t.Helper()
	h, err := shapeNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestArrivalsFollowTheShape(t *testing.T) {
	const rate, nodes, length = 1000, 5, 20 * time.Second
	for _, h := range shapes {
		tr := &trial{shape: h, rate: rate}
		got := tr.arrivals(3, nodes, length)
		if n, want := len(got), 20_000.0; math.Abs(float64(n)-want) > 5*math.Sqrt(want) {
			t.Errorf("%s: %d takes, want %g or so", h.name, n, want)
		}
		if !slices.IsSortedFunc(got, func(a, b arrival) int { return int(a.due - b.due) }) {
			t.Errorf("%s: they are not in order", h.name)
		}
		seen := make(map[int32]int)
		for _, a := range got {
			seen[a.node]++
			if a.trial != 3 || a.key < 0 || int(a.key) >= h.keys || a.due < 0 || a.due >= length || a.node < 0 || a.node >= nodes {
				t.Fatalf("%s: %+v", h.name, a)
			}
		}
		if want := map[bool]int{false: nodes, true: 1}[h.pinned]; len(seen) != want {
			t.Errorf("%s: takes on %d nodes, want %d", h.name, len(seen), want)
		}
		if again := tr.arrivals(3, nodes, length); !slices.Equal(got, again) {
			t.Errorf("%s: the same trial has other takes in another run", h.name)
		}
		if other := tr.arrivals(4, nodes, length); slices.Equal(got, other) {
			t.Errorf("%s: another trial has the same takes", h.name)
		}
	}
}

func TestBurstsArriveInTheFirstTenthOfAPeriod(t *testing.T) {
	h := shapeOf(t, "bursts")
	for _, a := range (&trial{shape: h, rate: 1000}).arrivals(0, 1, 7*time.Second) {
		if into := math.Mod(a.due.Seconds(), h.period); into > h.period*burstFraction+1e-6 {
			t.Fatalf("a take at %v, %g s into a period, want up to %g s", a.due, into, h.period*burstFraction)
		}
	}
	for _, c := range []struct{ s, want float64 }{{0, 0}, {0.35, 0.035}, {0.7, 0.7}, {1.05, 0.735}, {7, 7}} {
		if got := h.arrival(c.s); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("at(%g) = %g, want %g", c.s, got, c.want)
		}
	}
}

func TestMovingTrafficAlternatesBetweenAllNodesAndOne(t *testing.T) {
	h := shapeOf(t, "moving")
	home, others := int32(-1), make(map[int32]bool)
	for _, a := range (&trial{shape: h, rate: 1000}).arrivals(0, 5, 9*time.Second) {
		if math.Mod(a.due.Seconds(), h.moves) < h.moves/2 {
			others[a.node] = true
			continue
		}
		if home < 0 {
			home = a.node
		}
		if a.node != home {
			t.Fatalf("a take at %v arrived at node %d, want node %d as before", a.due, a.node, home)
		}
	}
	if len(others) != 5 {
		t.Errorf("%d nodes before the traffic moves, want 5", len(others))
	}
}

func TestMergeOrdersArrivals(t *testing.T) {
	got := merge([]arrival{{due: 1, trial: 0}, {due: 4, trial: 0}}, []arrival{{due: 1, trial: 1}, {due: 2, trial: 1}})
	want := []arrival{{due: 1, trial: 0}, {due: 1, trial: 1}, {due: 2, trial: 1}, {due: 4, trial: 0}}
	if !slices.Equal(got, want) {
		t.Errorf("merged to %v, want %v", got, want)
	}
}

func TestZipfDrawsByWeight(t *testing.T) {
	z := newZipf(1, 3) // the weights are 6, 3 and 2 of 11
	for _, c := range []struct {
		u    float64
		want int
	}{{0, 0}, {0.54, 0}, {0.55, 1}, {0.81, 1}, {0.82, 2}, {math.Nextafter(1, 0), 2}} {
		if got := z.draw(c.u); got != c.want {
			t.Errorf("draw(%g) = %d, want %d", c.u, got, c.want)
		}
	}
	if got, want := z.first(), 6.0/11; math.Abs(got-want) > 1e-12 {
		t.Errorf("share of the first key = %g, want %g", got, want)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var drawn [4]int
	for equal := newZipf(0, 4); drawn[0]+drawn[1]+drawn[2]+drawn[3] < 40_000; {
		drawn[equal.draw(rng.Float64())]++
	}
	for k, n := range drawn {
		if n < 9_500 || n > 10_500 {
			t.Errorf("key %d of 4 equal ones was drawn %d times of 40000", k, n)
		}
	}
}
