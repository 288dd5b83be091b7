package memstore

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Slots that come and go in any order hold what was written to them, and nothing of what was there before.
func TestPagesKeepSlotsApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var p pages
	sizes := make(map[slot]size)
	for range 20_000 {
		if rng.IntN(5) < 2 {
			for s, z := range sizes {
				for i, l := range p.cells(s) {
					for j, got := range l {
						if got != int64(s) && (i+j > 0) {
							t.Fatalf("slot %d of %d cells: number %d of cell %d = %d, want %d", s, z.cells(), j, i, got, s)
						}
					}
				}
				p.put(s)
				delete(sizes, s)
				break
			}
			continue
		}
		z := size(rng.IntN(sizeCount))
		s := p.get(z)
		if _, taken := sizes[s]; taken || s == none {
			t.Fatalf("got slot %d, which is in use or none", s)
		}
		p.at(s).next = none
		for i, l := range p.cells(s) {
			if l != (cell{}) {
				t.Fatalf("cell %d of the new slot %d = %v, want zeros", i, s, l)
			}
			for j := range l {
				p.cells(s)[i][j] = int64(s)
			}
		}
		sizes[s] = z
	}
	if got, want := len(sizes), p.room; got > want {
		t.Errorf("slots in use = %d, want at most %d, the room in %d pages", got, want, len(p.all))
	}
}

// Whatever keys come and go, memory is not lost: what one leaves behind, the next one takes.
func TestSlotsAreUsedAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		ask  func(t *testing.T, s *Store, r, limited *limiter.Rule, key []byte)
	}{
		{"evicted", func(t *testing.T, s *Store, r, _ *limiter.Rule, key []byte) {
			_ = s.Take(t.Context(), start, []limiter.Take{{Rule: r, Key: key, Cost: 1}})
		}},
		{"denied by another key", func(t *testing.T, s *Store, r, limited *limiter.Rule, key []byte) {
			_ = s.Take(t.Context(), start, []limiter.Take{{Rule: r, Key: key, Cost: 1}, {Rule: limited, Cost: 1}})
		}},
		{"peeked at", func(t *testing.T, s *Store, r, _ *limiter.Rule, key []byte) {
			_ = s.Peek(t.Context(), start, []limiter.Take{{Rule: r, Key: key, Cost: 1}})
		}},
		{"swept", func(t *testing.T, s *Store, r, _ *limiter.Rule, key []byte) {
			_ = s.Take(t.Context(), start, []limiter.Take{{Rule: r, Key: key, Cost: 1}})
			s.sweep(start + 3700*second)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, limited := open(t, "z", "other"), newRule(t, limiter.Rule{
				ID: 9, Zone: "other", Limit: limiter.Limit{Events: 1, Window: time.Hour},
			})
			take(t, s, start, limited, "")
			var rules []*limiter.Rule
			for i, a := range everyForm {
				rules = append(rules, newRule(t, limiter.Rule{
					ID: uint32(i), Zone: "z", MaxKeys: 100, Algorithm: a, Limit: limiter.Limit{Events: 9, Window: time.Hour},
				}))
			}
			rng := rand.New(rand.NewPCG(3, 4))
			for i := range uint64(20_000) {
				key := make([]byte, 8+rng.IntN(maxText))
				binary.BigEndian.PutUint64(key, i)
				tt.ask(t, s, rules[i%uint64(len(rules))], limited, key)
			}
			got, asides := memory(s)
			if most := (1 << shardBits) * sizeCount; got > most {
				t.Errorf("pages for 100 keys at most = %d, want at most one of each size in each shard, %d", got, most)
			}
			if keys := s.Stats("z").Keys; keys > 100 || asides > keys {
				t.Errorf("keys = %d and asides = %d, want at most 100 and no more asides", keys, asides)
			}
		})
	}
}

// memory returns how many pages and asides zone "z" has.
func memory(s *Store) (pages, asides int) {
	t := s.table("z")
	for i := range t.shards {
		pages += len(t.shards[i].all)
		asides += len(t.shards[i].asides)
	}
	return pages, asides
}
