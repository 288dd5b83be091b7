package pool

import "testing"

type value struct{ closed int }

func (v *value) Close() { v.closed++ }

func TestPool(t *testing.T) {
	p := New[string, *value]()
	opened := 0
	open := func() *value {
		opened++
		return new(value)
	}
	first, releaseFirst := p.Acquire("a", open)
	second, releaseSecond := p.Acquire("a", open)
	other, releaseOther := p.Acquire("b", open)
	if first != second || first == other || opened != 2 || len(p.All()) != 2 {
		t.Fatalf("values = %p, %p, %p of %d opened, %d in the pool; want one for both of a key", first, second, other, opened, len(p.All()))
	}
	releaseFirst()
	releaseOther()
	if first.closed != 0 || p.Get("a") != first || p.Get("b") != nil || other.closed != 1 || len(p.All()) != 1 {
		t.Errorf("closed = %d and %d with %d left, want only the one that nobody uses", first.closed, other.closed, len(p.All()))
	}
	releaseSecond()
	if first.closed != 1 || len(p.All()) != 0 {
		t.Errorf("closed = %d with %d left, want once at the end", first.closed, len(p.All()))
	}
	if third, release := p.Acquire("a", open); third == first {
		t.Error("a closed value is acquired again, want a new one")
	} else {
		release()
	}
}
