package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// mostDrift is by how much the clock of a node may be faster or slower than the store's, in ppm, so
// that nothing is exceeded: both may be wrong by 200 ppm.
const mostDrift = 400

const million = 1_000_000

// clockAt returns what the clock of the node reads at the instant at of the simulation.
func (n *simNode) clockAt(at limiter.Instant) limiter.Instant {
	since := int64(at - epoch)
	return at + n.offset + limiter.Instant(since*n.drift/million)
}

// timeOf returns when the clock of the node reads reading. A slow clock reads the same in two µs at
// times: then it returns the later one, but none that is still to come.
func (n *simNode) timeOf(reading limiter.Instant) limiter.Instant {
	if n.drift == 0 {
		return reading - n.offset
	}
	if now := n.now(); n.clockAt(now) == reading {
		return now
	}
	since := int64(reading - n.offset - epoch)
	at := epoch + limiter.Instant(since-since*n.drift/(million+n.drift))
	for n.clockAt(at) > reading {
		at--
	}
	for n.clockAt(at+1) <= reading {
		at++
	}
	return at
}
