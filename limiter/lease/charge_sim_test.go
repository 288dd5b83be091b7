package lease

import (
	queues "container/heap"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A chargedTraffic is requests that reserve events and are charged when their responses have ended.
type chargedTraffic struct {
	nodes    int
	algo     limiter.Kind
	limit    limiter.Limit
	reserve  int64
	charge   func(*rand.Rand) int64
	every    time.Duration // between two requests, on average
	response time.Duration
	lasts    time.Duration
}

// An openResponse is a response that ends later.
type openResponse struct {
	ends time.Time
	node int
	take limiter.Take
	cost int64
}

type openResponses []openResponse

func (o openResponses) Len() int           { return len(o) }
func (o openResponses) Less(i, j int) bool { return o[i].ends.Before(o[j].ends) }
func (o openResponses) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }
func (o *openResponses) Push(x any)        { *o = append(*o, x.(openResponse)) }
func (o *openResponses) Pop() any {
	last := (*o)[len(*o)-1]
	*o = (*o)[:len(*o)-1]
	return last
}

// run returns the sum of the charges, and the share of requests that were rejected.
func (c chargedTraffic) run(t *testing.T) (charged int64, rejected float64) {
	synctest.Test(t, func(t *testing.T) {
		lender := newLender(rtt)
		var nodes []node
		for range c.nodes {
			n := node{t, New(lender, Options{Nodes: func() int { return c.nodes }}), lender}
			defer n.Close()
			nodes, lender.stores = append(nodes, n), append(lender.stores, n.Store)
		}
		rules := make([]*limiter.Rule, c.nodes)
		for i, n := range nodes {
			rules[i] = n.rule(limiter.Rule{Algorithm: limiter.Algorithm{Kind: c.algo}, Limit: c.limit})
		}
		rng, open := rand.New(rand.NewPCG(1, 2)), new(openResponses)
		requests, denials := 0, 0
		for end := time.Now().Add(c.lasts); time.Now().Before(end); {
			next := time.Now().Add(time.Duration(rng.ExpFloat64() * float64(c.every)))
			for open.Len() > 0 && (*open)[0].ends.Before(next) {
				r := queues.Pop(open).(openResponse)
				time.Sleep(time.Until(r.ends))
				rest := r.take
				n := nodes[r.node]
				switch {
				case r.cost < c.reserve:
					rest.Cost = c.reserve - r.cost
					_ = n.Refund(t.Context(), n.options.Clock(), []limiter.Take{rest})
				case r.cost > c.reserve:
					rest.Cost = r.cost - c.reserve
					_ = n.Charge(t.Context(), n.options.Clock(), []limiter.Take{rest})
				}
				charged += r.cost
			}
			time.Sleep(time.Until(next))
			i := rng.IntN(c.nodes)
			takes := []limiter.Take{takeOf(rules[i], "key", c.reserve)}
			takes[0].Origin = new(limiter.Origin)
			_ = nodes[i].Take(t.Context(), nodes[i].options.Clock(), takes)
			requests++
			if !takes[0].Decision.OK {
				denials++
				continue
			}
			queues.Push(open, openResponse{time.Now().Add(c.response), i, takes[0], c.charge(rng)})
		}
		rejected = float64(denials) / float64(requests)
	})
	return charged, rejected
}

// ofModels returns the cost of one of five requests to a language model.
func ofModels(rng *rand.Rand) int64 { return []int64{58, 80, 175, 175, 175}[rng.IntN(5)] }

// TestLoadOfCharges charges more than requests reserve, for an hour. No more than the limit is
// consumed.
func TestLoadOfCharges(t *testing.T) {
	for _, nodes := range []int{1, 4} {
		for _, tc := range []struct {
			name   string
			charge func(*rand.Rand) int64
		}{
			{"ten times the limit", func(*rand.Rand) int64 { return 1000 }},
			{"models", ofModels},
		} {
			got, _ := chargedTraffic{
				nodes: nodes, limit: limiter.Limit{Events: 100, Window: time.Second}, reserve: 10, charge: tc.charge,
				every: time.Second, response: 5 * time.Second, lasts: time.Hour,
			}.run(t)
			share := float64(got) / (100 * 3600)
			t.Logf("%d nodes, %s: %.3f of the limit", nodes, tc.name, share)
			if share > 1.05 || share < 0.6 {
				t.Errorf("%d nodes, %s: %.3f of the limit, want 0.6 to 1.05", nodes, tc.name, share)
			}
		}
	}
}

// TestLoadOfLateRefunds reserves twice what is charged, at 80 % of the limit. The rest is refunded,
// although responses take long. Some of it is lost if the bucket has lacked little since, apart
// from what its parts hold, because nobody knows how much the bucket has refilled then. If a bucket
// of a burst refills in the time of a response, these losses empty it now and then.
func TestLoadOfLateRefunds(t *testing.T) {
	for _, nodes := range []int{1, 4} {
		for _, tc := range []struct {
			burst    int64
			response time.Duration
			most     float64 // the most that may be rejected, as a share
		}{
			{1000, time.Second, 0.001}, {1000, 10 * time.Second, 0.04}, // about 0.025, deviation 0.003
			{6000, 10 * time.Second, 0.001}, {6000, 30 * time.Second, 0.001},
		} {
			_, rejected := chargedTraffic{
				nodes: nodes, limit: limiter.Limit{Events: 6000, Window: time.Minute, Burst: tc.burst}, reserve: 20,
				charge: func(rng *rand.Rand) int64 { return 1 + rng.Int64N(19) }, every: time.Second / 8, response: tc.response,
				lasts: 15 * time.Minute,
			}.run(t)
			t.Logf("%d nodes, burst %d, responses of %v: %.4f rejected", nodes, tc.burst, tc.response, rejected)
			if rejected > tc.most {
				t.Errorf("%d nodes, burst %d, responses of %v: %.4f rejected, want %v at most",
					nodes, tc.burst, tc.response, rejected, tc.most)
			}
		}
	}
}
