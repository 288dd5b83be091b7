package fault

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A client uses up its limits of a short window, without a denial that nodes would remember. Then it floods a
// zone of a long window with keys that it makes up, until the memory of Redis is full. If Redis evicts
// nothing, the flood gives the client no more than on_outage admits. If Redis evicts keys, the client gets
// its limits again and again.
func TestFloodAtMaxMemory(t *testing.T) {
	const logins, rounds = 5, 2
	site := fmt.Sprintf(`
	rate_limit /flood {
		zone flood {
			key {header.X-Api-Key}
			limit 1000/24h
			algorithm fixed_window
		}
	}
	rate_limit /closed {
		zone closed {
			key {client_ip}
			limit %[1]d/15m
			algorithm fixed_window
			on_outage closed
		}
	}
	rate_limit /local {
		zone local {
			key {client_ip}
			limit %[1]d/15m
			algorithm fixed_window
		}
	}`, logins)
	for policy, evicts := range map[string]bool{"noeviction": false, "volatile-ttl": true, "allkeys-lru": true} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			redis := redistest.NewServer(t, "maxmemory-policy "+policy)
			nodes := nodetest.StartAll(t, 2, nodetest.InRedis(redis.Addr, "timeout 1s")+"\nnodes 2\ndefaults {\n\tmode strict\n}", site)
			admitted := make(map[string]int)
			login := func() {
				for path := range map[string]int{"/closed": logins, "/local": logins} {
					for i := range logins {
						if status, _, err := nodes[i%2].Get(path); err != nil {
							t.Error(err)
						} else if status == 200 {
							admitted[path]++
						}
					}
				}
			}
			login()
			info := redis.Client().InfoMap(t.Context(), "memory").Val()["Memory"]
			used, err := strconv.Atoi(strings.TrimSpace(info["used_memory"]))
			if err != nil {
				t.Fatal(err)
			}
			if err := redis.Client().ConfigSet(t.Context(), "maxmemory", fmt.Sprint(used+300<<10)).Err(); err != nil {
				t.Fatal(err)
			}
			for round := range rounds {
				var clients sync.WaitGroup
				for c := range 8 {
					clients.Go(func() {
						for i := range 400 {
							_, _, _ = nodes[c%2].Get("/flood", fmt.Sprintf("X-Api-Key: %050d-%d-%d", round, c, i))
						}
					})
				}
				clients.Wait()
				login()
			}
			switch most := 2 * logins; {
			case !evicts && (admitted["/closed"] != logins || admitted["/local"] > most):
				t.Errorf("admitted = %v, want %d and %d at most", admitted, logins, most)
			case evicts && admitted["/closed"] == logins:
				t.Errorf("admitted = %v: the documents say that the flood resets limits", admitted)
			}
		})
	}
}
