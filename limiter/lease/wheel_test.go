package lease

import (
	"fmt"
	"testing"
)

// TestWheel takes an account that is due in the first tick after its instant, or in the last tick
// of the ring if that is earlier.
func TestWheel(t *testing.T) {
	const begin = 7 * tick
	for _, line := range []struct {
		at, want instant
	}{
		{begin - 5*tick, begin}, // its tick has passed
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

// TestWheelTakesAtMost takes at most a given number of accounts. The next call takes the others, in
// the order of ticks.
func TestWheelTakesAtMost(t *testing.T) {
	var w wheel
	for i := range instant(5) {
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
		{4, "[14 99]"}, // 99 was added after the fifth call
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
			t.Errorf("capacity of tick %d after all was taken = %d, want little", i, got)
		}
	}
}

// TestWheelFreesMemoryAfterRush frees the memory of a tick with many accounts that were taken in
// parts.
func TestWheelFreesMemoryAfterRush(t *testing.T) {
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
		t.Errorf("capacity after a rush = %d, want none", got)
	}
}

// TestWheelStoodStill finds everything that was due after a long time without calls.
func TestWheelStoodStill(t *testing.T) {
	var w wheel
	for i := range instant(2 * wheelSize) {
		w.add(due{at: i * tick})
	}
	if got := len(w.take(100*wheelSize*tick, 3*wheelSize, nil)); got != 2*wheelSize {
		t.Errorf("taken = %d, want %d", got, 2*wheelSize)
	}
}
