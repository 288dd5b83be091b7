package table

import (
	"math/rand/v2"
	"testing"
)

// TestMarked compares what the arithmetic says of random groups with what looking at each byte does.
func TestMarked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	few := []group{0, 1, 2, 0x7F, 0x80, 0x81, 0xFE, 0xFF} // neighbours, and the ends of what is a sum of lower bits
	for range 100_000 {
		var g group
		for slot := range groupSize {
			g.set(slot, few[rng.IntN(len(few))])
		}
		g |= group(rng.IntN(256)) << 56
		mark := few[rng.IntN(len(few))]
		var want []int
		for slot := range groupSize {
			if g>>(8*slot)&0xFF == mark {
				want = append(want, slot)
			}
		}
		s := g.tagged(mark)
		for _, slot := range want {
			if s == 0 || s.first() != slot {
				t.Fatalf("slots of %x marked %x = %x, want %v", g, mark, g.tagged(mark), want)
			}
			s = s.rest()
		}
		if s != 0 {
			t.Fatalf("slots of %x marked %x = %x, want %v only", g, mark, g.tagged(mark), want)
		}
	}
}

func TestMarksAreNeverZero(t *testing.T) {
	seen := make(map[group]int)
	for hash := range uint32(1 << 16) {
		seen[tagOf(hash<<16|hash)]++
	}
	for mark := group(1); mark <= 255; mark++ {
		if n := seen[mark]; n < 256 || n > 258 {
			t.Errorf("hashes with the mark %d = %d of 65536, want 257", mark, n)
		}
	}
	if len(seen) != 255 {
		t.Errorf("marks = %d, want those from 1 to 255", len(seen))
	}
}

// A count that has reached its end stays there: it says that something may have gone by, which is safe.
func TestPassesAreCountedOnlyAsFarAsTheyFit(t *testing.T) {
	var g group
	g.set(6, 255)
	for range 254 {
		g.pass()
	}
	for range 254 {
		g.unpass()
	}
	if g.passed() {
		t.Errorf("group after 254 went by and were taken out = %x, want none that went by", g)
	}
	for range 300 {
		g.pass()
	}
	for range 255 {
		g.unpass()
	}
	if !g.passed() || g.used() != g.tagged(255) {
		t.Errorf("group after 300 went by = %x, want it to say for ever that some did, and its slots as they were", g)
	}
}
