package topkeys

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// keyOf returns a key of 40 bytes that ends with number.
func keyOf(number uint64) []byte {
	key := append(make([]byte, 0, 40), "key: 0123456789 0123456789 01234"...)
	return binary.BigEndian.AppendUint64(key, number)
}

// The twenty keys that are used most are found among a million keys whose use follows Zipf's law:
// by one node that has all takes, and by twenty nodes that share the takes and merge their lists.
func TestRecall(t *testing.T) {
	const keys, takes, nodes, top = 1_000_000, 3_000_000, 20, 20
	began := time.Unix(1_700_000_020, 0) // a generation begins 20 s later
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 1, keys-1)
	alone := List{began: began}
	alone.sketches.Store(newSketches(1))
	var fleet [nodes]List
	for i := range fleet {
		fleet[i].began = began
		fleet[i].sketches.Store(newSketches(uint64(i)))
	}
	used := make([]int32, keys)
	key := keyOf(0)
	for i := range takes {
		number := zipf.Uint64()
		used[number]++
		binary.BigEndian.PutUint64(key[32:], number)
		now, take := began.Add(time.Duration(i)*45*time.Second/takes), Take{Rule: 1, Limit: 2, Key: key, Cost: 1}
		alone.Add(now, &take)
		fleet[random.IntN(nodes)].Add(now, &take)
	}
	end := began.Add(45 * time.Second)
	most := make([]uint64, keys)
	for i := range most {
		most[i] = uint64(i)
	}
	slices.SortFunc(most, func(a, b uint64) int { return int(used[b] - used[a]) })
	var tops []Top
	for i := range fleet {
		tops = append(tops, fleet[i].Top(end))
	}
	for name, found := range map[string]Top{"one node": alone.Top(end), "20 nodes": Merge(tops...)} {
		recalled := 0
		for _, number := range most[:top] {
			i := slices.IndexFunc(found.Keys, func(k Key) bool { return k.Key == string(keyOf(number)) })
			if i >= 0 && i < top {
				recalled++
			}
			if i < 0 {
				t.Errorf("%s: the key %d is not listed", name, number)
				continue
			}
			// One take in eight is counted, so a rate is only about that of the takes.
			per, k := float64(used[number])/45, found.Keys[i]
			if k.Rule != 1 || k.Limit != 2 || k.PerSecond > per*1.25 || k.PerSecond+k.Error < per*0.8 {
				t.Errorf("%s: the key %d has %+v, want about %.0f/s", name, number, k, per)
			}
		}
		if recalled < top*95/100 {
			t.Errorf("%s: %d of the %d most used keys are the first ones, want 95%%", name, recalled, top)
		}
		if len(found.Keys) != Most {
			t.Errorf("%s: %d keys are listed, want %d", name, len(found.Keys), Most)
		}
		t.Logf("%s: %d of %d, unlisted at most %.1f/s, the last listed has %.1f/s",
			name, recalled, top, found.Unlisted, found.Keys[Most-1].PerSecond)
	}
}
