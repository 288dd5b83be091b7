package redisconn

import "time"

const (
	// mostConnections is how many connections to a primary there are at most, unless
	// Options.PoolSize is larger.
	mostConnections = 16

	// leastPace is the least time between the starts of two pipelines while PoolSize pipelines are
	// under way. So pipelines stay large if replies come at once.
	leastPace = time.Millisecond

	// For each spareEvery that a reply takes, one more connection than pool.kept stays open. Making a
	// new connection takes several round trips, which is too long for a call that comes while all
	// connections wait for replies.
	spareEvery = 5 * time.Millisecond

	// surplusFor is how long a connection beyond pool.wanted stays open while it is not needed.
	surplusFor = 10 * time.Second

	// refusedPool is the time after which another connection is tried when the server has refused one
	// while others are open. Until the server accepts one, connections are tried one at a time.
	refusedPool = time.Second
)

// A pool counts the connections to one primary, each with its worker. It says when the next
// pipeline starts and when one more connection is needed. It does no I/O, and the lock of the queue
// guards it.
//
// A connection carries one pipeline at a time. While fewer than kept pipelines are under way, the next
// one starts at once. Else pipelines start at a pace: at least a millisecond apart, and so far apart
// that a connection is free when the next pipeline is due. So a call waits for a millisecond or for a
// fraction of the time that replies take, however many calls there are. The later replies come, the
// more connections stay open. When no connection is free nevertheless, another one is made.
type pool struct {
	kept, most int // how many connections stay open if replies come at once, and how many there are at most

	workers int // number of workers, each of which has a connection or makes one
	linked  int // number of connections
	free    int // number of connections that wait for something to send
	out     int // number of pipelines and probes under way
	excess  int // number of connections to be closed because they are not needed

	started   time.Time     // when the newest pipeline started
	roundTrip time.Duration // from write to reply, smoothed; 0 if it is unknown
	refused   time.Time     // when the server refused one more connection; zero if it has taken one since

	renewed   time.Time // connections that were made before it are to be closed
	leastFree int       // the smallest value of free since checked
	checked   time.Time // when shrink looked for surplus connections last
}

func newPool(kept int, now time.Time) pool {
	return pool{kept: kept, most: max(kept, mostConnections), checked: now}
}

// pace returns the time between the starts of two pipelines while kept or more are under way.
func (p *pool) pace() time.Duration {
	return max(leastPace, p.roundTrip/time.Duration(max(1, p.most-p.kept)))
}

// due reports whether a pipeline may start at now.
func (p *pool) due(now time.Time) bool { return p.out < p.kept || now.Sub(p.started) >= p.pace() }

// untilDue returns the time from now until the waiting calls are looked at again.
func (p *pool) untilDue(now time.Time) time.Duration {
	if d := p.pace() - now.Sub(p.started); d > 0 {
		return d
	}
	return p.pace()
}

// wanted returns how many connections stay open, so that calls that come at the same time need not wait
// for each other's replies.
func (p *pool) wanted() int { return min(p.most, p.kept+int(p.roundTrip/spareEvery)) }

// grows reports whether one more connection is to be made at now. It lets at most as many connections
// be in the making as are open, or one if none is open, so that a server that is slow for a moment does
// not get many.
func (p *pool) grows(now time.Time) bool {
	switch making := p.workers - p.linked; {
	case p.workers >= p.most || making > 0 && making >= p.linked:
		return false
	case p.linked > 0 && !p.refused.IsZero() && (making > 0 || now.Sub(p.refused) < refusedPool):
		return false
	default:
		return p.workers < p.wanted() || p.free == 0 && p.due(now)
	}
}

// start notes that a pipeline or a probe starts at now.
func (p *pool) start(now time.Time) {
	p.out++
	p.started = now
	p.leastFree = min(p.leastFree, p.free)
}

// end notes that a pipeline or a probe ends. Its reply took the time took, which is 0 if there was no
// reply.
func (p *pool) end(took time.Duration) {
	p.out--
	p.observe(took)
}

// observe notes how long a reply took.
func (p *pool) observe(took time.Duration) {
	if p.roundTrip == 0 {
		p.roundTrip = took
	} else if took > 0 {
		p.roundTrip += (took - p.roundTrip) / 8
	}
}

// dismisses reports whether a free connection that was made at the time made is to be closed. It counts
// the surplus connections down.
func (p *pool) dismisses(made time.Time) bool {
	surplus := p.excess > 0 && p.linked > p.wanted()
	if surplus {
		p.excess--
	}
	return surplus || made.Before(p.renewed)
}

// shrink returns how many connections are to be closed because they were not needed since it looked
// last. It returns 0 if it has looked less than surplusFor before now.
func (p *pool) shrink(now time.Time) (excess int) {
	if now.Sub(p.checked) < surplusFor {
		return 0
	}
	p.excess = max(0, min(p.leastFree, p.linked-p.wanted()))
	p.checked, p.leastFree = now, p.free
	return p.excess
}
