package memstore

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Whatever keys come and go, memory is not lost: what one leaves behind, the next one takes.
func TestRoomIsUsedAgain(t *testing.T) {
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
			s := open(t)
			limited := newRule(t, limiter.Rule{
				ID: 9, Zone: s.Open("other"), Limit: limiter.Limit{Events: 1, Window: time.Hour},
			})
			take(t, s, start, limited, "")
			var rules []*limiter.Rule
			for i, a := range everyForm {
				rules = append(rules, newRule(t, limiter.Rule{
					ID: uint32(i), Zone: s.Open("z"), MaxKeys: 100, Algorithm: a, Limit: limiter.Limit{Events: 9, Window: time.Hour},
				}))
			}
			rng := rand.New(rand.NewPCG(3, 4))
			for i := range uint64(10_000) {
				key := make([]byte, 8+rng.IntN(300))
				binary.BigEndian.PutUint64(key, i)
				tt.ask(t, s, rules[i%uint64(len(rules))], limited, key)
			}
			s.sweep(start)
			room, counts := memory(s)
			if most := 7 << shardBits; room > most {
				t.Errorf("room for 100 keys at most = %d, want at most the least there can be in each shard, %d", room, most)
			}
			if keys := s.Open("z").Stats().Keys; keys > 100 || counts > keys {
				t.Errorf("keys = %d and counts aside = %d, want at most 100 and no more counts", keys, counts)
			}
		})
	}
}

func TestSweepGivesMemoryBack(t *testing.T) {
	const keys = 100_000
	s := open(t)
	r := hourly(t, s, 60, keys)
	for i := range keys {
		at := start
		if i%20 == 0 {
			at += 600 * second
		}
		key := binary.BigEndian.AppendUint32(nil, uint32(i))
		_ = s.Take(t.Context(), at, []limiter.Take{{Rule: r, Key: key, Cost: 1}})
	}
	if room, _ := memory(s); room > keys*3/2 {
		t.Errorf("room for %d keys = %d, want at most half as much more", keys, room)
	}
	s.sweep(start + 120*second)
	if got := s.Open("z").Stats().Keys; got != keys/20 {
		t.Errorf("keys after most have reset = %d, want %d", got, keys/20)
	}
	if room, _ := memory(s); room > 4*keys/20 {
		t.Errorf("room for %d keys = %d, want at most four times as much", keys/20, room)
	}
	for i := 0; i < keys; i += 20 {
		key := string(binary.BigEndian.AppendUint32(nil, uint32(i)))
		if got := used(t, s, start+600*second, r, key); got != 1 {
			t.Fatalf("key %d has used %d after the sweep, want 1", i, got)
		}
	}
	s.sweep(start + 3600*second)
	if room, _ := memory(s); room != 0 {
		t.Errorf("room without keys = %d, want none", room)
	}
}

// memory returns how many entries zone "z" has room for, and how many counts it keeps aside.
func memory(s *Store) (room, counts int) {
	z := s.Open("z")
	for i := range z.shards {
		room += z.shards[i].entries.Cap()
		counts += z.shards[i].counts.Len()
	}
	return room, counts
}
