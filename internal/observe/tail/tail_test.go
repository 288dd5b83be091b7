package tail

import (
	"slices"
	"sync"
	"testing"
)

func TestListBoundsItsTails(t *testing.T) {
	var l List[string, int]
	if got := l.All(); got != nil {
		t.Fatalf("tails at first = %v, want none", got)
	}
	first, second := l.Open("first", 1, 2), l.Open("second", 1, 2)
	if third := l.Open("third", 1, 2); third != nil {
		t.Error("a third tail of at most two is open")
	}
	seen := l.All()
	l.Close(first)
	l.Close(first)
	if got := l.All(); !slices.Equal(got, []*Tail[string, int]{second}) || second.Filter != "second" {
		t.Errorf("tails after the first is closed = %v, want the second", got)
	}
	if !slices.Equal(seen, []*Tail[string, int]{first, second}) {
		t.Errorf("a list that was read before has changed to %v", seen)
	}
	l.Close(second)
	if got := l.All(); got != nil {
		t.Errorf("tails after both are closed = %v, want none", got)
	}
}

func TestTailDropsWhatHasNoRoom(t *testing.T) {
	var l List[string, int]
	tail := l.Open("", 2, 1)
	for i := range 5 {
		if full := tail.Full(); full != (i >= 2) {
			t.Errorf("full before value %d = %v", i, full)
		}
		tail.Put(i)
	}
	if n := tail.Dropped(); n != 6 { // Full and Put each count the three that have no room
		t.Errorf("dropped = %d, want 6", n)
	}
	for want := range 2 {
		if v, ok := tail.Take(); v != want || !ok {
			t.Errorf("value = %d, %v, want %d", v, ok, want)
		}
	}
	if v, ok := tail.Take(); ok || tail.Dropped() != 0 {
		t.Errorf("value of an empty tail = %d, want none, and none dropped", v)
	}
}

// Every value is either taken or counted as dropped, while other tails open and close.
func TestTailLosesNoValueUncounted(t *testing.T) {
	const givers, each = 4, 10_000
	var l List[string, int]
	tail := l.Open("", 16, 2)
	var work sync.WaitGroup
	for range givers {
		work.Go(func() {
			for i := range each {
				for _, open := range l.All() {
					if !open.Full() {
						open.Put(i)
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); work.Wait() }()
	var taken, dropped uint64
	for ended := false; ; {
		_, ok := tail.Take()
		switch {
		case ok:
			taken++
			continue
		case ended:
			if dropped += tail.Dropped(); taken+dropped != givers*each {
				t.Errorf("taken = %d, dropped = %d, want %d together", taken, dropped, givers*each)
			}
			return
		}
		if other := l.Open("", 1, 2); other != nil {
			l.Close(other)
		}
		dropped += tail.Dropped()
		select {
		case <-done:
			ended = true
		default:
		}
	}
}
