package redisstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
)

// TestSameAsMemory runs the same random histories on this store and on the one in memory, which is
// the specification, and compares every decision.
func TestSameAsMemory(t *testing.T) {
	client := connect(t, standalone(t))
	histories, calls := 40, 150
	if testing.Short() {
		histories = 4
	}
	for seed := range histories {
		memory := memstore.New(memstore.Options{})
		t.Cleanup(memory.Close)
		h := newHistory(t, uint64(seed), withClock(client), memory)
		for call := range calls {
			if err := h.call(t); err != nil {
				t.Fatalf("seed %d, call %d at %d: %v", seed, call, h.now, err)
			}
		}
	}
}

// TestWaitingAsInMemory runs such histories on a bucket that mostly promises takes their turns.
func TestWaitingAsInMemory(t *testing.T) {
	client, back, lost := connect(t, standalone(t)), 0, 0
	for seed := range uint64(20) {
		memory := memstore.New(memstore.Options{})
		t.Cleanup(memory.Close)
		h := newHistory(t, seed, withClock(client), memory)
		h.rules = h.rules[len(h.rules)-1:]
		for call := range 150 {
			if err := h.call(t); err != nil {
				t.Fatalf("seed %d, call %d at %d: %v", seed, call, h.now, err)
			}
		}
		back, lost = back+h.promised[true], lost+h.promised[false]
	}
	if back < 10 || lost < 10 {
		t.Errorf("promises given back %d, lost %d, want 10 of each at least", back, lost)
	}
}

// A history is a random sequence of calls on both stores.
type history struct {
	*rand.Rand
	redis  *Store
	memory *memstore.Store
	zone   limiter.Counts // the zone in memory
	now    limiter.Instant
	rules  []*limiter.Rule
	last   limiter.Decision
	taken  [][]limiter.Take // takes that can be refunded

	promised map[bool]int // how many promises were given back (true), and how many were lost (false)
}

// algorithms are the algorithms of the rules of a history.
var algorithms = []limiter.Algorithm{
	{Kind: limiter.TokenBucket},
	{Kind: limiter.SlidingWindowLog},
	{Kind: limiter.FixedWindow},
	{Kind: limiter.SlidingWindow, SubWindows: 1},
	{Kind: limiter.SlidingWindow, SubWindows: 3},
	{Kind: limiter.SlidingWindow, SubWindows: 60},
}

func newHistory(t *testing.T, seed uint64, redis *Store, memory *memstore.Store) *history {
	h := &history{Rand: rand.New(rand.NewPCG(seed, 7)), redis: redis, memory: memory, zone: memory.Open("zone"),
		promised: make(map[bool]int)}
	h.now = limiter.Instant(1_770_000_000_000_000 + h.Int64N(1<<50))
	for id, a := range algorithms {
		h.rules = append(h.rules, h.randomRule(t, uint32(id), a))
	}
	for id := range uint32(2) { // buckets whose takes may wait
		r := h.randomRule(t, 100+id, limiter.Algorithm{Kind: limiter.TokenBucket})
		if id == 1 {
			r.Limit = limiter.Limit{Events: pick[int64](h, 3, 10, 999), Window: time.Second, Burst: pick[int64](h, 1, 5, 100)}
		}
		r.MaxWait = pick(h, time.Millisecond, 500*time.Millisecond, 20*time.Second, time.Minute)
		h.rules = append(h.rules, again(t, r))
	}
	return h
}

// pick returns one of choices.
func pick[T any](h *history, choices ...T) T { return choices[h.IntN(len(choices))] }

func (h *history) randomRule(t *testing.T, id uint32, a limiter.Algorithm) *limiter.Rule {
	r := mustRule(t, id, a, limiter.Limit{
		Events: pick[int64](h, 1, 2, 3, 10, 99, 1_000, 1_000_003, 999_999_999_989, limiter.MaxEvents),
		Window: pick(h, limiter.MinWindow, 997*time.Millisecond, time.Second, 1_000_003*time.Microsecond, time.Minute,
			time.Hour, 24*time.Hour, 200*24*time.Hour),
		Burst: pick[int64](h, 0, 0, 1, 7, 150, 1_000_000, limiter.MaxEvents),
	})
	r.Zone = h.zone
	return r
}

// move lets time pass.
func (h *history) move() {
	r := h.rules[h.IntN(len(h.rules))]
	window := r.Limit.Window.Microseconds()
	to := h.now
	switch h.IntN(8) {
	case 0, 1:
	case 2:
		to += limiter.Instant(h.Int64N(3))
	case 3:
		to += limiter.Instant(h.Int64N(1 + window/r.Limit.Events*2))
	case 4:
		to += limiter.Instant(h.Int64N(window))
	case 5:
		to += limiter.Instant(h.Int64N(3 * window))
	default: // to an instant of the last answer, or next to it
		to = pick(h, h.last.RetryAt, h.last.ResetAt) + limiter.Instant(h.Int64N(3)-1)
	}
	if to > h.now && to < 4_000_000_000_000_000 {
		h.now = to
	}
}

// call makes one random call on both stores.
func (h *history) call(t *testing.T) error {
	if n := len(h.taken); n > 0 && h.IntN(2) == 0 {
		if err := h.giveBack(t, h.taken[max(0, n-1-h.IntN(2))]); err != nil {
			return err
		}
	}
	h.move()
	if h.IntN(30) == 0 {
		if err := h.changeAndTake(t); err != nil {
			return err
		}
	}
	if len(h.taken) > 0 && h.IntN(6) == 0 {
		i := h.IntN(len(h.taken))
		refund := h.taken[i]
		h.taken = slices.Delete(h.taken, i, i+1)
		for _, s := range []limiter.Store{h.redis, h.memory} {
			if err := s.Refund(t.Context(), h.now, refund); err != nil {
				return err
			}
		}
	}
	if h.IntN(8) == 0 {
		if err := h.charge(t); err != nil {
			return err
		}
	}
	if h.IntN(5) == 0 {
		if err := h.operate(t); err != nil {
			return err
		}
	}
	return h.decide(t, h.randomTakes(), h.IntN(5) == 0)
}

// decide decides takes on both stores.
func (h *history) decide(t *testing.T, takes []limiter.Take, peek bool) error {
	var answers [2][]limiter.Take
	for i, s := range []limiter.Store{h.redis, h.memory} {
		answers[i] = slices.Clone(takes)
		decide := s.Take
		if peek {
			decide = s.Peek
		}
		if err := decide(t.Context(), h.now, answers[i]); err != nil {
			return err
		}
	}
	allowed := true
	for i, k := range takes {
		got, want := answers[0][i].Decision, answers[1][i].Decision
		got.Breach, want.Breach = false, false // the store in memory expires breaches in whole seconds
		if got != want {
			return fmt.Errorf("take %d of %d, %d of %q under %v with %+v, peek %v:\n got %+v\nwant %+v as in memory",
				i+1, len(takes), k.Cost, k.Key, k.Rule.Algorithm, k.Rule.Limit, peek, got, want)
		}
		h.last = got
		allowed = allowed && got.OK
	}
	if allowed && !peek {
		h.taken = append(h.taken, answers[0])
	}
	return nil
}

// giveBack gives back what takes were promised on both stores.
func (h *history) giveBack(t *testing.T, takes []limiter.Take) error {
	for i := range takes {
		k := &takes[i]
		if k.Decision.Turn == 0 {
			continue
		}
		inRedis, err := h.redis.GiveBack(t.Context(), h.now, k)
		if err != nil {
			return err
		}
		if inMemory, _ := h.memory.GiveBack(t.Context(), h.now, k); inRedis != inMemory {
			return fmt.Errorf("%d of %q under %v, promised for %d: given back %t, want %t as in memory",
				k.Cost, k.Key, k.Rule.Limit, k.Decision.Turn, inRedis, inMemory)
		}
		h.promised[inRedis]++
		k.Decision.Turn = h.now // so that it is not given back again
	}
	return nil
}

// charge charges a key on both stores: one event, or up to three times its limit.
func (h *history) charge(t *testing.T) error {
	r := h.rules[h.IntN(len(h.rules))]
	charges := []limiter.Take{{Rule: r, Key: []byte(h.randomKey()), Cost: pick(h, 1, 1+h.Int64N(3*r.Capacity()))}}
	for _, s := range []limiter.Store{h.redis, h.memory} {
		if err := s.Charge(t.Context(), h.now, charges); err != nil {
			return err
		}
	}
	return nil
}

// operate inspects, resets or adds quota to a count on both stores.
func (h *history) operate(t *testing.T) error {
	r, key, n := h.rules[h.IntN(len(h.rules))], []byte(h.randomKey()), h.IntN(8)
	events := pick(h, 1, 2, 1+h.Int64N(r.Capacity()), r.Capacity(), 1<<50)
	var counts [2]limiter.CountState
	for i, s := range []limiter.Operator{h.redis, h.memory} {
		var err error
		if n == 0 {
			err = s.Reset(t.Context(), h.now, r, key)
		} else if n < 4 {
			counts[i], err = s.AddQuota(t.Context(), h.now, r, key, events)
		} else {
			var inspection limiter.Inspection
			inspection, err = s.Inspect(t.Context(), h.now, r, key)
			counts[i] = inspection.Count
		}
		if err != nil {
			return err
		}
	}
	if n == 0 { // after a reset, memory refunds no earlier take of the zone, and Redis none of the key
		h.taken = slices.DeleteFunc(h.taken, func(takes []limiter.Take) bool {
			return slices.ContainsFunc(takes, func(k limiter.Take) bool { return string(k.Key) != string(key) })
		})
		h.now++ // a take at the same instant may have come before the reset
	}
	if counts[0] != counts[1] {
		return fmt.Errorf("count of %q under %v with %+v, inspected or after %d were added:\n got %+v\nwant %+v as in memory",
			key, r.Algorithm, r.Limit, events, counts[0], counts[1])
	}
	return nil
}

// changeAndTake changes a limit, and takes at once: until the first take under the new limit, Redis
// keeps a count only for as long as the old limit needs it.
func (h *history) changeAndTake(t *testing.T) error {
	r := h.changeLimit(t, func(r *limiter.Rule, key string) bool {
		i, err := h.memory.Inspect(t.Context(), h.now, r, []byte(key))
		return err == nil && i.Count.Consumed > 0
	})
	for _, key := range keys {
		if err := h.decide(t, []limiter.Take{{Rule: r, Key: []byte(key), Cost: 1}}, false); err != nil {
			return err
		}
	}
	return nil
}

// changeLimit gives one rule another limit, and returns the rule. If all its counts are in use, it
// often changes the rate and the length of the windows too. Otherwise it does not, because Redis
// may have dropped a count that is not in use.
func (h *history) changeLimit(t *testing.T, inUse func(*limiter.Rule, string) bool) *limiter.Rule {
	i := h.IntN(len(h.rules))
	r := h.rules[i]
	l := r.Limit
	kept := !slices.ContainsFunc(keys, func(key string) bool { return !inUse(r, key) })
	if r.Algorithm.Kind == limiter.TokenBucket {
		l.Burst = 1 + h.Int64N(200)
	}
	if r.Algorithm.Kind != limiter.TokenBucket || kept && h.IntN(2) == 0 {
		l.Events = 1 + h.Int64N(2*l.Events)
	}
	if kept && h.IntN(2) == 0 {
		window := int64(l.Window / time.Microsecond)
		window = pick(h, max(window/2, 1000), window+1, window*3, 1000+h.Int64N(2*window), 3_600_000_000)
		l.Window = time.Duration(min(window, 200*86_400_000_000)) * time.Microsecond
	}
	l.Events = min(l.Events, limiter.MaxEvents)
	h.rules[i] = mustRule(t, r.ID, r.Algorithm, l)
	h.rules[i].Zone, h.rules[i].MaxWait = h.zone, r.MaxWait
	h.rules[i] = again(t, h.rules[i])
	return h.rules[i]
}

// again makes a rule anew after the fields of r were changed.
func again(t *testing.T, r *limiter.Rule) *limiter.Rule {
	t.Helper()
	changed, err := limiter.NewRule(*r)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// keys are the keys of a history.
var keys = []string{"alice", "bob"}

func (h *history) randomKey() string { return pick(h, keys...) }

// randomTakes returns takes under some of the rules, with random keys.
func (h *history) randomTakes() []limiter.Take {
	var takes []limiter.Take
	for _, i := range h.Perm(len(h.rules))[:1+h.IntN(min(3, len(h.rules)))] {
		r := h.rules[i]
		limit := r.Capacity()
		takes = append(takes, limiter.Take{
			Rule: r,
			Key:  []byte(h.randomKey()),
			Cost: pick(h, 1, 1, 2, 1+h.Int64N(limit), max(1, h.last.Remaining), limit, limit+1),
			Wait: pick(h, 0, r.MaxWait.Microseconds(), h.Int64N(2*r.MaxWait.Microseconds()+1)),
		})
	}
	return takes
}
