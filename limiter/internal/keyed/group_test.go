package keyed

import (
	"math/rand/v2"
	"testing"
)

// TestTagged compares the arithmetic with a look at each byte, for random groups.
func TestTagged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	few := []group{0, 1, 2, 0x7F, 0x80, 0x81, 0xFE, 0xFF} // neighbours, and the ends of the ranges
	for range 100_000 {
		var g group
		for slot := range groupSize {
			g.set(slot, few[rng.IntN(len(few))])
		}
		g |= group(rng.IntN(256)) << 56
		tag := few[rng.IntN(len(few))]
		var want []int
		for slot := range groupSize {
			if g>>(8*slot)&0xFF == tag {
				want = append(want, slot)
			}
		}
		s := g.tagged(tag)
		for _, slot := range want {
			if s == 0 || s.first() != slot {
				t.Fatalf("slots of %x tagged %x = %x, want %v", g, tag, g.tagged(tag), want)
			}
			s &= s - 1
		}
		if s != 0 {
			t.Fatalf("slots of %x tagged %x = %x, want %v only", g, tag, g.tagged(tag), want)
		}
	}
}

func TestTagsAreNeverZero(t *testing.T) {
	seen := make(map[group]int)
	for hash := range uint32(1 << 16) {
		seen[tagOf(hash<<16|hash)]++
	}
	for tag := group(1); tag <= 255; tag++ {
		if n := seen[tag]; n < 256 || n > 258 {
			t.Errorf("hashes with the tag %d = %d of 65536, want 257", tag, n)
		}
	}
	if len(seen) != 255 {
		t.Errorf("tags = %d, want those from 1 to 255", len(seen))
	}
}

// A count of displaced entries that has reached its maximum stays there, which is safe.
func TestDisplacedCountStopsAtItsMaximum(t *testing.T) {
	var g group
	g.set(6, 255)
	add := func(times, n int) {
		for range times {
			g.addDisplaced(n)
		}
	}
	add(254, 1)
	add(254, -1)
	if g.displaced() {
		t.Errorf("group after 254 entries were displaced and removed = %x, want no displaced entries", g)
	}
	add(300, 1)
	add(255, -1)
	if !g.displaced() || g.used() != g.tagged(255) {
		t.Errorf("group after 300 entries were displaced = %x, want displaced ones for ever, and the same slots", g)
	}
}
