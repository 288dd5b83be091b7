package topkeys

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkAdd compares a loop over keys whose use follows Zipf's law with a loop that also adds
// each key to a list. The difference is the cost of Add. "apart" runs one goroutine per processor,
// and "crowd" 16.
func BenchmarkAdd(b *testing.B) {
	numbers := make([]uint64, 1<<16)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 1_000_000)
	for i := range numbers {
		numbers[i] = zipf.Uint64()
	}
	for name, parallelism := range map[string]int{"apart": 1, "crowd": 16} {
		for _, with := range []bool{false, true} {
			variant := "/without"
			if with {
				variant = "/with"
			}
			b.Run(name+variant, func(b *testing.B) {
				var l List
				began := time.Now()
				b.ReportAllocs()
				b.SetParallelism(parallelism)
				b.RunParallel(func(pb *testing.PB) {
					now, key, take, seen := began, keyOf(0), Take{Rule: 1, Limit: 1, Cost: 1}, uint64(0)
					for i := rand.IntN(len(numbers)); pb.Next(); i++ {
						binary.BigEndian.PutUint64(key[32:], numbers[i&(len(numbers)-1)])
						if i&1023 == 0 {
							now = time.Now()
						}
						if take.Key = key; with {
							l.Add(now, &take)
						}
						seen += uint64(len(take.Key))
					}
				})
			})
		}
	}
}
