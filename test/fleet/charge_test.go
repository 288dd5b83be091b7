package fleet

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// A tokenModel answers requests after a while, so that those that come at once are all under way. It says in
// a header what each response costs, and counts what it has served.
type tokenModel struct{ served, tokens atomic.Int64 }

func (m *tokenModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	<-time.After(100 * time.Millisecond) // the other requests arrive meanwhile
	tokens, _ := strconv.ParseInt(r.Header.Get("X-Cost"), 10, 64)
	m.served.Add(1)
	m.tokens.Add(tokens)
	w.Header().Set("X-Tokens", r.Header.Get("X-Cost"))
	_, _ = io.WriteString(w, "done")
}

// Requests of 58, 80, 175, 175 and 175 tokens come at once, with a limit of 100. If each reserves what it
// costs, no more than the limit passes, or one request. If each reserves 10, all pass, and no further request
// passes before the limit has made up for what they cost.
func TestFleetChargesTokens(t *testing.T) {
	costs := []string{"58", "80", "175", "175", "175"}
	for _, tc := range []struct {
		name  string
		nodes int
	}{
		{"one node", 1},
		{"four nodes", 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			model := new(tokenModel)
			upstream := httptest.NewServer(model)
			defer upstream.Close()
			nodes := nodetest.StartAll(t, tc.nodes, nodetest.InRedis(redistest.NewServer(t).Addr, "timeout 5s"), `
			rate_limit {
				zone known {
					key {path}
					endpoint /known 100/24h {
						charge {rp.header.X-Tokens} reserve {header.X-Cost} trusted
					}
					endpoint /reserved 100/24h {
						charge {rp.header.X-Tokens} reserve 10
					}
				}
			}
			route {
				reverse_proxy `+upstream.Listener.Addr().String()+`
			}`)
			atOnce := func(path string) (admitted, tokens int64) {
				var wg sync.WaitGroup
				served, before := model.served.Load(), model.tokens.Load()
				for i, cost := range costs {
					wg.Go(func() {
						if _, _, err := nodes[i%len(nodes)].Get(path, "X-Cost: "+cost); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				return model.served.Load() - served, model.tokens.Load() - before
			}
			if n, tokens := atOnce("/known"); n != 1 || tokens > 175 {
				t.Errorf("%d requests with %d tokens passed, want one", n, tokens)
			}
			n, tokens := atOnce("/reserved")
			if most := 100 + tokens - 10*n; n == 0 || tokens > most {
				t.Errorf("%d requests with %d tokens passed, want %d at most", n, tokens, most)
			}
			nodes[0].Await("the charges are settled", func() bool {
				open := 0.0
				for _, n := range nodes {
					open += n.Metric(`caddy_rate_limit_charges_open{zone="known"}`)
				}
				return open == 0
			})
			for i := range 3 * len(nodes) {
				if status, _, err := nodes[i%len(nodes)].Get("/reserved", "X-Cost: 1"); err == nil && status == http.StatusOK && i >= len(nodes) {
					t.Errorf("request %d after the charges: %d, want 429", i, status)
				}
			}
		})
	}
}
