package redisconn

import (
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// BenchmarkHang measures what a hanging primary costs the callers of all primaries, in turns of a
// second each without and with one. It reports
//
//   - others-%: the rate of calls to the other primaries while one hangs, in percent of the rate
//     while none does; the median of the turns
//   - wait-ms: the longest wait of any caller, with a timeout of 50 ms to the write and of 50 ms to
//     the answer
//   - timer-ms: the longest that a bare timer of 50 ms took meanwhile, which is what the machine
//     adds to any timeout
//
// go test -run '^$' -bench Hang -benchtime 10x ./redisconn
func BenchmarkHang(b *testing.B) {
	cluster := redistest.NewCluster(b, "cluster-node-timeout 600000")
	c := open(b, Options{Mode: Cluster, Addresses: cluster.Addrs})
	keys := keysByPrimary(b, cluster)
	for _, key := range keys {
		ready(b, c, key)
	}
	victim := cluster.Primary(keys[0])
	others := startLoad(b, c, 8, func(i int) string { return keys[1+i%2] })
	defer others.end()

	var ratios []float64
	var wait, timer time.Duration
	for b.Loop() {
		before := others.rate(time.Second)
		victim.Pause()
		victims := startLoad(b, c, 32, func(int) string { return keys[0] })
		stopTimer := longestTimer(b, defaultTimeout)
		during := others.rate(time.Second)
		ratios = append(ratios, 100*during/before)
		timer = max(timer, stopTimer())
		victims.end()
		wait = max(wait, time.Duration(victims.longest.Load()))
		victim.Resume()
		until(b, "an answer of the primary that hung", func() bool { return do(b, c, count, keys[0], "x").Err == nil })
	}
	slices.Sort(ratios)
	wait = max(wait, time.Duration(others.longest.Load()))
	b.ReportMetric(ratios[len(ratios)/2], "others-%")
	b.ReportMetric(wait.Seconds()*1000, "wait-ms")
	b.ReportMetric(timer.Seconds()*1000, "timer-ms")
}
