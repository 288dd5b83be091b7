package attack

import (
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// Keys are attacked while configurations are loaded one after the other, in memory and in Redis. No key gets
// more than its limit, though each configuration has the limit in another place.
func TestReloadUnderAttack(t *testing.T) {
	redis := redistest.NewServer(t)
	for name, options := range map[string]string{
		"memory":        "",
		"redis, leases": onRedis("lease", "", patience, redis.Addr),
		"redis, strict": onRedis("strict", "", patience, redis.Addr),
	} {
		t.Run(name, func(t *testing.T) {
			const reloads, keys, most = 8, 20, 50
			u := newUpstream(keyHeaders)
			up := httptest.NewServer(u)
			defer up.Close()
			plain := redistest.FreeAddr()
			g := &gateway{plain: plain, logFile: t.TempDir() + "/log"}
			load := func(n int) {
				t.Helper()
				g.load(t, fmt.Sprintf(`{
					%s
					admin off
					persist_config off
					auto_https off
					default_bind 127.0.0.1
					log {
						output file %s
					}
				}
				http://:%s {
					header X-Configuration %d
					rate_limit {
						zone other%d {
							key static
							limit 1000000/1h
						}
						zone key {
							key {http.request.header.X-Api-Key}
							limit %d/24h
							algorithm sliding_window_log
						}
					}
					reverse_proxy %s
				}`, options, g.logFile, redistest.Port(plain), n, n, most, up.Listener.Addr()))
			}
			load(0)
			t.Cleanup(func() { g.stop(t) })
			var attackers sync.WaitGroup
			var ended atomic.Bool
			for i := range 8 {
				attackers.Go(func() {
					do := http1(g)
					for n := i; !ended.Load(); n++ {
						do(keyHeader(fmt.Sprint(name, "-", n%keys), n))
					}
				})
			}
			for n := range reloads {
				load(n + 1)
			}
			redistest.Eventually(t, "exhausted keys", func() bool {
				for i := range keys {
					if u.count(fmt.Sprint(name, "-", i)) < most*9/10 { // a reload may end a charged request
						return false
					}
				}
				return true
			})
			load(reloads + 1)
			ended.Store(true)
			attackers.Wait()
			for i := range keys {
				if seen := u.count(fmt.Sprint(name, "-", i)); seen > most {
					t.Errorf("requests of key %d at the upstream = %d, want at most %d", i, seen, most)
				}
			}
		})
	}
}
