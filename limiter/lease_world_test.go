package limiter

import (
	"container/heap"
	"math/rand/v2"
)

// A world is a fleet of nodes and the store that lends to them, in virtual time and on one goroutine, so that its random
// numbers tell all that happens. Its clock is the store's; those of the nodes are set to something else.
type world struct {
	*rand.Rand
	now     Instant
	rule    *Rule
	most    *Rule // the highest limit there was
	members int
	fleet   int // how many nodes there are at least, also those that are not played
	fewest  int // how many there were at least
	events  eventQueue
	nodes   []*member
	vault   *vault
	audit   *audit
	net     network
	lonely  bool   // nodes believe to be alone when they ask for leases
	alone   bool   // nodes ask again without jitter
	greed   int64  // nodes want so many times as much as they expect to spend; 0: as much
	plant   plant  // a bug to be found; see lease_plants_test.go
	trace   []line // nil: none is kept
}

// newTune returns a world in which nothing goes wrong, with the store 1.5 ms away.
func newTune(r Rule, nodes, keys int) *world {
	w := &world{Rand: rand.New(rand.NewPCG(1, 2)), now: begins, rule: mustNew(r)}
	w.most = w.rule
	w.net = network{delay: 700, jitter: 100}
	for range nodes {
		w.nodes = append(w.nodes, w.newMember(0))
	}
	w.count()
	w.audit, w.vault = w.newAudit(keys), w.newVault(keys)
	return w
}

// An event is something that will happen.
type event struct {
	at    Instant
	order int // among those of the same instant
	do    func()
}

type eventQueue struct {
	heap  []event
	count int
}

func (q *eventQueue) Len() int           { return len(q.heap) }
func (q *eventQueue) Swap(i, j int)      { q.heap[i], q.heap[j] = q.heap[j], q.heap[i] }
func (q *eventQueue) Push(e any)         { q.heap = append(q.heap, e.(event)) }
func (q *eventQueue) Less(i, j int) bool { return q.heap[i].before(&q.heap[j]) }

func (q *eventQueue) Pop() any {
	e := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	return e
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.order < o.order }

// after has do happen in so many µs.
func (w *world) after(us int64, do func()) {
	w.events.count++
	heap.Push(&w.events, event{w.now + Instant(us), w.events.count, do})
}

// run lets all happen that is due before the instant end.
func (w *world) run(end Instant) {
	for w.events.Len() > 0 && w.events.heap[0].at < end && w.audit.err == nil {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
	}
	w.now = end
}

// A network is what happens to requests on their way.
type network struct {
	delay, jitter     int64   // of each way, in µs
	loseAsk, loseTell float64 // how likely a request, or a reply, is lost
	late              float64 // how likely either takes up to a second
	regret            float64 // how likely a take that a lease has admitted is undone
}

const (
	callTime  = 1_000_000 // after which a node takes the outcome of a request for unknown, in µs
	patience  = 50_000    // after which a take waits no longer
	heartbeat = 5_000_000
)

// way returns how long a message takes.
func (w *world) way() int64 {
	n := &w.net
	switch {
	case n.late > 0 && w.Float64() < n.late:
		return w.Int64N(callTime * 5 / 4)
	case n.jitter > 0:
		return n.delay + w.Int64N(n.jitter)
	}
	return n.delay
}

// happens reports whether something of this likelihood happens.
func (w *world) happens(likely float64) bool { return likely > 0 && w.Float64() < likely }
