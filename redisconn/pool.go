package redisconn

import "time"

const (
	// mostConnections is how many connections to a primary there are at most, unless
	// Options.PoolSize is larger.
	mostConnections = 16

	// leastPace is the least time between two pipelines while PoolSize of them are under way. So
	// pipelines stay large where replies come at once.
	leastPace = time.Millisecond

	// spareEvery is how long a reply takes for one connection more to stay open than are kept. It takes
	// several round trips to make one, which is too long for a call that comes while the others wait.
	spareEvery = 5 * time.Millisecond

	// surplusFor is how long a connection that is not wanted stays open although it is not needed.
	surplusFor = 10 * time.Second

	// refusedPool is the time after which another connection is tried when the server has refused
	// one although others are open. Until it takes one, they are tried one at a time.
	refusedPool = time.Second
)

// A pool counts the connections to one primary, each with its worker. It says when the next
// pipeline starts and when one more connection is needed. It does no I/O, and the lock of the queue
// guards it.
//
// A connection carries one pipeline at a time. While fewer than kept pipelines are under way, the
// next one starts at once. After that they start at a pace: at least a millisecond apart, and so
// far apart that one connection is free when the next one is due. So a call waits for a millisecond
// or for a fraction of the time that replies take, however many calls there are. The later replies
// come, the more connections stay open. When none is free nevertheless, another one is made.
type pool struct {
	kept, most int // connections that stay open wherever replies come at once, and that there are at most

	workers int // each has a connection or makes one
	linked  int // connections
	free    int // connections that wait for something to send
	out     int // pipelines and probes under way
	excess  int // connections that are not needed and to be closed

	started   time.Time     // when the newest pipeline started
	roundTrip time.Duration // from write to reply, smoothed; 0 if it is unknown
	refused   time.Time     // when the server refused one more connection; zero if it has taken one since

	renewed   time.Time // connections that were made before it are to be closed
	leastFree int       // since checked
	checked   time.Time // when surplus connections were closed last
}

func newPool(kept int, now time.Time) pool {
	return pool{kept: kept, most: max(kept, mostConnections), checked: now}
}

// pace returns the time between two pipelines.
func (p *pool) pace() time.Duration {
	return max(leastPace, p.roundTrip/time.Duration(max(1, p.most-p.kept)))
}

// due reports whether a pipeline may start at now.
func (p *pool) due(now time.Time) bool { return p.out < p.kept || now.Sub(p.started) >= p.pace() }

// untilDue returns how long after now a call that waits is looked at again.
func (p *pool) untilDue(now time.Time) time.Duration {
	if d := p.pace() - now.Sub(p.started); d > 0 {
		return d
	}
	return p.pace()
}

// wanted returns how many connections stay open, so that calls which come at once need not wait for
// each other's replies.
func (p *pool) wanted() int { return min(p.most, p.kept+int(p.roundTrip/spareEvery)) }

// grows reports whether one more connection is to be made, given that something is to be sent.
// There are never more in the making than there are connections, so that a server that is slow for
// a moment is not asked for many.
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

// end notes that one ends whose reply took so long, or 0 if there was no reply.
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

// dismisses reports whether a free connection that was made at that time is to be closed.
func (p *pool) dismisses(made time.Time) bool {
	surplus := p.excess > 0 && p.linked > p.wanted()
	if surplus {
		p.excess--
	}
	return surplus || made.Before(p.renewed)
}

// shrink finds out from time to time how many connections were not needed, and returns how many.
func (p *pool) shrink(now time.Time) (excess int) {
	if now.Sub(p.checked) < surplusFor {
		return 0
	}
	p.excess = max(0, min(p.leastFree, p.linked-p.wanted()))
	p.checked, p.leastFree = now, p.free
	return p.excess
}
