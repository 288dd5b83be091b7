package limiter

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	modelRuns = flag.Int("model.runs", 2000, "how many random fleets TestLeaseModel plays")
	modelSeed = flag.Uint64("model.seed", 0, "the first of their seeds")
)

// TestLeaseModel plays random fleets: nodes, keys, limits, arrivals, delays, losses, crashes and failovers. Of each it checks what
// an audit can tell: the bound of the algorithm in every span, and that each event that was debited was admitted, went back, or
// was lost by what the run did to it.
func TestLeaseModel(t *testing.T) {
	runs := *modelRuns
	if raceEnabled { // for which there is nothing to find: it is all one goroutine
		runs /= 10
	}
	for seed := *modelSeed; seed < *modelSeed+uint64(runs); seed++ {
		if err := playWorld(seed, plant{}, false).audit.err; err != nil {
			t.Fatalf("seed %d: %v; again with go test -run TestLeaseModel -model.seed %d -model.runs 1\n%s",
				seed, err, seed, playWorld(seed, plant{}, true).story())
		}
	}
}

// playWorld plays the random world of a seed to its end.
func playWorld(seed uint64, p plant, trace bool) *world {
	w := newWorld(seed, p, trace)
	w.stir()
	w.play()
	return w
}

// oneOf returns one of choices.
func oneOf[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// begins is when worlds begin.
const begins = Instant(1_800_000_000 * sec)

func newWorld(seed uint64, p plant, trace bool) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 4)), now: begins, plant: p}
	if trace {
		w.trace = []line{}
	}
	algorithm := oneOf(w.Rand, bucket, bucket, slidingWindowLog, fixed, sliding(1), sliding(oneOf(w.Rand, 2, 5, 60)))
	if p.algorithm != nil {
		algorithm = *p.algorithm
	}
	events := int64(math.Exp(w.Float64() * math.Log(400)))
	rule := Rule{
		Algorithm: algorithm,
		Limit: Limit{
			Events: events,
			Window: oneOf(w.Rand, 200*time.Millisecond, time.Second, 3*time.Second, 10*time.Second, time.Minute, time.Hour),
		},
		MaxOvershoot: oneOf(w.Rand, 0, 0.01, 0.05, 0.2, 1),
	}
	if algorithm.Kind == TokenBucket {
		rule.Limit.Burst = oneOf(w.Rand, 0, 0, 1+events/10, 3*events)
	}
	w.rule = mustNew(rule)
	w.most = w.rule
	w.net = network{delay: oneOf[int64](w.Rand, 0, 200, 1500, 5000), jitter: oneOf[int64](w.Rand, 0, 500, 10_000)}
	w.greed = oneOf[int64](w.Rand, 1, 1, 1, 20)
	w.lonely = w.IntN(2) == 0
	keys := oneOf(w.Rand, 1, 1, 3)
	for range 1 + w.IntN(20) {
		w.nodes = append(w.nodes, w.newMember(0))
	}
	w.count()
	w.audit = w.newAudit(keys)
	w.vault = w.newVault(keys)
	w.tracef(allKeys, "%d nodes, %d keys, %+v, overshoot %v, %+v",
		len(w.nodes), keys, w.rule.Limit, w.rule.MaxOvershoot, w.rule.Algorithm)
	return w
}

func mustNew(r Rule) *Rule {
	made, err := NewRule(r)
	if err != nil {
		panic(err)
	}
	return made
}

// stir makes the world one in which things go wrong, of which few do at a time.
func (w *world) stir() {
	if w.IntN(2) == 0 {
		w.net.loseAsk = oneOf(w.Rand, 0, 0.02, 0.3)
		w.net.loseTell = oneOf(w.Rand, 0, 0.02, 0.3)
		w.net.late = oneOf(w.Rand, 0, 0.05, 0.3)
	}
	w.net.regret = oneOf(w.Rand, 0, 0, 0.05)
	w.audit.calm = w.net.loseAsk+w.net.loseTell+w.net.late+w.net.regret == 0
	length := w.rule.window
	if w.IntN(4) == 0 {
		w.audit.calm = false
		for range 1 + w.IntN(3) {
			w.after(w.Int64N(4*length), func() { w.nodes[w.IntN(len(w.nodes))].crash() })
		}
	}
	if w.IntN(8) == 0 {
		w.audit.calm = false
		w.churn()
	}
	if w.IntN(4) == 0 {
		w.audit.calm = false
		lag := 1 + w.Int64N(min(length, 300*ms))
		for range 1 + w.IntN(2) {
			at := w.Int64N(4 * length)
			w.after(max(0, at-lag), w.vault.replicate)
			w.after(at, w.vault.failOver)
		}
	}
	if w.IntN(6) == 0 {
		w.audit.calm, w.audit.changes = false, true
		w.after(w.Int64N(3*length), func() { w.change(oneOf(w.Rand, 0.3, 0.9, 1.1, 3)) })
	}
}

// change makes the limit so many times what it is.
func (w *world) change(times float64) {
	r := Rule{Algorithm: w.rule.Algorithm, Limit: w.rule.Limit, MaxOvershoot: w.rule.MaxOvershoot}
	r.Limit.Events = max(1, int64(times*float64(r.Limit.Events)))
	if r.Limit.Burst > 0 {
		r.Limit.Burst = max(1, int64(times*float64(r.Limit.Burst)))
	}
	w.setRule(mustNew(r))
}

// setRule changes the limit.
func (w *world) setRule(r *Rule) {
	if w.rule = r; r.capacity > w.most.capacity || r.Limit.Events > w.most.Limit.Events {
		w.most = r
	}
	w.audit.changes = true
	w.tracef(allKeys, "the limit is %d per %v now, burst %d", r.Limit.Events, r.Limit.Window, r.Limit.Burst)
}

// play has takes arrive for some windows and lets it become quiet then.
func (w *world) play() {
	windows := oneOf[int64](w.Rand, 2, 4)
	end := w.now + Instant(windows*w.rule.window)
	load := oneOf(w.Rand, 0.3, 0.9, 1.1, 1.5, 4)
	for key := range w.audit.keys {
		w.arrivals(key, load, end)
	}
	w.run(end)
	w.net = network{}
	w.run(end + 4*maxLease)
	w.audit.close()
}
