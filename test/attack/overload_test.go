//go:build !race && unix

// With the race detector, a gateway under load is too slow.

package attack

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// Thousands of connections use one key on a healthy Redis. Requests wait longer than their timeout, because
// Caddy is overloaded, and the limit holds. On a machine that is also busy with something else, the process
// may be late by more than another timeout. Requests are late then: on_outage admits the limit once more at
// most, and what Redis has counted for them is cancelled. The test tries again, with more time if other
// programs had most of the machine.
func TestLoadIsNoOutage(t *testing.T) {
	const most, requests = 20, 4
	for _, test := range []struct {
		mode        string
		connections int
		timeout     time.Duration
	}{
		{"strict", 1000, 50 * time.Millisecond},
		{"strict", 3000, 150 * time.Millisecond},
		{"lease", 1000, 50 * time.Millisecond},
		{"lease", 3000, 150 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%s/%d connections", test.mode, test.connections), func(t *testing.T) {
			redis := redistest.Shared(t)
			serve := func() *gateway {
				return serveWith(t, onRedis(test.mode, "", test.timeout, redis.Addr), fmt.Sprintf(`rate_limit {
					zone key {
						key {http.request.header.X-Api-Key}
						limit %d/24h
					}
				}`, most), hello)
			}
			g := serve()
			want := outcomes{admitted: most, rejected: test.connections*requests - most}
			for try := range 8 {
				other := field{"X-Api-Key", fmt.Sprint("another", try)} // an outage of the try before may go on
				redistest.Eventually(t, "decisions by Redis", func() bool { return g.one(t, other).degraded == 0 })
				key := field{"X-Api-Key", fmt.Sprint("hot", try)}
				began, used := time.Now(), processorTime(t)
				load := g.hammer(t, test.connections, requests, func(int, int) request { return get("/", key) })
				had := float64(processorTime(t)-used) / float64(time.Since(began)) / float64(runtime.NumCPU())
				switch {
				case load == want:
					return
				case load.admitted > most || load.degraded > most || load.failed > 0:
					t.Fatalf("%+v, want %+v", load, want)
				}
				t.Logf("try %d, timeout %v, with %.0f %% of the machine: %+v, want %+v", try, test.timeout, 100*had, load, want)
				if had < 0.5 {
					test.timeout *= 2
					g = serve()
				}
			}
			t.Error("no try has admitted the limit, and no more")
		})
	}
}

// processorTime returns how long processors have worked for this process.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Clients at the limit of their own zone, which admits one request every 200 ms, use a key that all clients
// share. Only their admitted requests count for that key. The keys of the four addresses are on several
// primaries, and leases of the common key are returned meanwhile.
func TestLoadOfRejectedClientsDrainsNoSharedKey(t *testing.T) {
	const addresses, connections, requests, common = 4, 64, 80, 600
	cluster := redistest.SharedCluster(t)
	g := serveWith(t, onRedis("lease", "cluster", 5*time.Second, cluster.Addrs...), fmt.Sprintf(`rate_limit {
		zone address {
			key {client_ip}
			limit 5/1s
		}
		zone common {
			key all
			limit %d/24h
		}
	}`, common), hello)
	others := 0
	other := func() outcomes {
		others++
		return g.one(t, from(fmt.Sprintf("10.0.%d.%d", others/200, others%200)))
	}
	admitted := 0
	redistest.Eventually(t, "decisions by Redis", func() bool {
		admitted = other().admitted
		return admitted == 1
	})
	load := g.hammer(t, addresses*connections, requests, func(conn, _ int) request {
		return get("/", from(fmt.Sprint("192.0.2.", conn%addresses)))
	})
	t.Logf("%+v", load)
	admitted += load.admitted
	if most := common / 2; load.admitted < 5*addresses || load.admitted > most || load.degraded+load.failed > 0 {
		t.Fatalf("%+v, want %d to %d admitted, and the rest rejected", load, 5*addresses, most)
	}
	// A lease that comes back too late is lost, so that an overloaded gateway admits a little less.
	const least = common - common/50
	redistest.Eventually(t, "the other events of the common key", func() bool {
		admitted += other().admitted
		return admitted >= least
	})
	redistest.Eventually(t, "a rejection by the common key", func() bool {
		last := other()
		admitted += last.admitted
		return last.rejected == 1
	})
	if admitted > common {
		t.Errorf("%d requests were admitted by the common key, want at most %d", admitted, common)
	}
}
