// Package baseline has benchmarks that compare limiters with the least that any limiter must do: to
// find a key's counter in a map that is safe for concurrent use, and to add to it.
package baseline

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// keyCounts are the numbers of keys: few enough to stay in the caches of the processor, and too
// many for them. The keys are known already, and counted in random order.
var keyCounts = []int{1_000, 100_000}

// A Counter counts one event of a key, and returns how many events there are or how many are left.
// It returns less than 0 if counting has failed. It is made for one goroutine.
type Counter func(key []byte) (n int64)

// A Contender is a way to count.
type Contender struct {
	Name string

	// Open prepares the contender for keys and returns a function that makes a Counter for each
	// goroutine.
	Open func(b *testing.B, keys [][]byte) (each func() Counter)
}

// Compare benchmarks the baselines, the second of which has 1<<shardBits maps, and then the others:
//
//   - latency: one goroutine counts, and which key is next depends on the answer. So the processor
//     cannot begin with the next key before it has the answer. That is as in a server, where a
//     request's other work lies between two counts.
//   - throughput: one goroutine counts in a loop. If counting is a few instructions, as in a map,
//     the processor works on several keys at a time and waits for the memory of all of them
//     together.
//   - parallel: as throughput, on as many goroutines as there are processors.
func Compare(b *testing.B, shardBits int, others ...Contender) {
	for _, n := range keyCounts {
		keys := make([][]byte, n)
		for i := range keys {
			keys[i] = fmt.Appendf(nil, "sk_live_%08d", i)
		}
		order := shuffled(keys)
		for _, c := range append([]Contender{
			{"map+atomic", openMap},
			{"shardedmap+atomic", func(_ *testing.B, keys [][]byte) func() Counter { return openMaps(keys, shardBits) }},
		}, others...) {
			b.Run(fmt.Sprintf("keys=%d/impl=%s", n, c.Name), func(b *testing.B) {
				each := c.Open(b, keys)
				b.Run("latency", func(b *testing.B) { one(b, each(), order, true) })
				b.Run("throughput", func(b *testing.B) { one(b, each(), order, false) })
				b.Run("parallel", func(b *testing.B) { parallel(b, each, order) })
			})
		}
	}
}

// one counts on one goroutine. If wait is set, it counts each key after the answer about the key
// before.
func one(b *testing.B, count Counter, order [][]byte, wait bool) {
	b.ReportAllocs()
	for i := 0; b.Loop(); {
		n := count(order[i])
		if n < 0 {
			b.Fatalf("counting %s did not go as it should", order[i])
		}
		if wait {
			i += int(n >> 62) // 0, but the processor does not know that before it knows n
		}
		if i++; i == len(order) {
			i = 0
		}
	}
}

// parallel counts on several goroutines, each of which begins with another key.
func parallel(b *testing.B, each func() Counter, order [][]byte) {
	b.ReportAllocs()
	var goroutines atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		count, i := each(), int(goroutines.Add(1))*12345%len(order)
		for pb.Next() {
			if count(order[i]) < 0 {
				b.Errorf("counting %s did not go as it should", order[i])
				return
			}
			if i++; i == len(order) {
				i = 0
			}
		}
	})
}

// shuffled returns keys in a random order, copied one behind the other: to read the next one costs
// as little as to read it out of a request that has just arrived.
func shuffled(keys [][]byte) [][]byte {
	var room []byte
	for _, key := range keys {
		room = append(room, key...)
	}
	order := make([][]byte, 0, len(keys))
	next := 0
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(keys)) {
		n := copy(room[next:], keys[i])
		order = append(order, room[next:next+n:next+n])
		next += n
	}
	return order
}
