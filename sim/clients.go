package sim

import (
	"fmt"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Clients are what clients do when a request is rejected. A trace tells what they did under the limits
// of its day, and not what they would do under others.
type Clients uint8

const (
	// OpenClients send the requests of the trace, whatever is decided.
	OpenClients Clients = iota

	// RetryAfterClients send a rejected request again when the response says: after Retry-After, which
	// is in whole seconds, at most maxRetries times.
	RetryAfterClients

	// HammeringClients send it again every hammerEvery, at most maxHammer times.
	HammeringClients
)

const (
	maxRetries  = 5
	hammerEvery = 100_000 // µs
	maxHammer   = 20
)

var clientNames = [...]string{"open", "retry-after", "hammer"}

// String returns the name of the behaviour.
func (c Clients) String() string { return clientNames[c] }

// ParseClients parses the name of a behaviour; "" is open.
func ParseClients(name string) (Clients, error) {
	if name == "" {
		return OpenClients, nil
	}
	for c, n := range clientNames {
		if n == name {
			return Clients(c), nil
		}
	}
	return 0, fmt.Errorf("%q is nothing that clients do: use open, retry-after or hammer", name)
}

// Retries are the requests that clients send again after rejections.
type Retries struct {
	Sent   int64 `json:"sent"`
	Served int64 `json:"served"`    // requests that were admitted after a rejection
	GaveUp int64 `json:"gave_up"`   // requests that were never admitted
	Most   int   `json:"most_open"` // that waited at a time to be sent again
}

// A reacting replays requests of clients that react.
type reacting struct {
	clients Clients
	waiting retryHeap
	sum     Retries
}

// A retry is a request to be sent again.
type retry struct {
	Request
	tries int
	order int64 // of those at one instant
}

// A retryHeap is a binary heap: that of the standard library would allocate for each retry.
type retryHeap []retry

func (r *retry) before(other *retry) bool {
	return r.At < other.At || r.At == other.At && r.order < other.order
}

func (h *retryHeap) push(r retry) {
	*h = append(*h, r)
	all := *h
	for i := len(all) - 1; i > 0; {
		parent := (i - 1) / 2
		if !all[i].before(&all[parent]) {
			return
		}
		all[i], all[parent] = all[parent], all[i]
		i = parent
	}
}

func (h *retryHeap) pop() retry {
	all := *h
	first, last := all[0], len(all)-1
	all[0] = all[last]
	all = all[:last]
	*h = all
	for i := 0; ; {
		next := 2*i + 1
		if next >= last {
			return first
		}
		if next+1 < last && all[next+1].before(&all[next]) {
			next++
		}
		if !all[next].before(&all[i]) {
			return first
		}
		all[i], all[next] = all[next], all[i]
		i = next
	}
}

// maxWaiting bounds the requests that wait to be sent again. What comes beyond gives up.
const maxWaiting = 1 << 20

// again has a rejected request sent again, or given up.
func (c *reacting) again(r Request, tries int, d *limiter.Decision) {
	switch {
	case c.clients == RetryAfterClients && tries < maxRetries && d.RetryAt != limiter.Never:
		const second = 1_000_000
		wait := (d.RetryAt - r.At + second - 1) / second * second
		r.At += max(second, wait)
	case c.clients == HammeringClients && tries < maxHammer:
		r.At += hammerEvery
	default:
		c.sum.GaveUp++
		return
	}
	if len(c.waiting) == maxWaiting {
		c.sum.GaveUp++
		return
	}
	c.sum.Sent++
	c.waiting.push(retry{r, tries + 1, c.sum.Sent})
	c.sum.Most = max(c.sum.Most, len(c.waiting))
}

// react decides a request by p, after those that are sent again until then. seen is told of each
// decision.
func (p *Replay) react(r Request, seen func(Request, limiter.Decision)) {
	if p.clients == nil {
		seen(r, p.Take(r))
		return
	}
	p.sendAgain(r.At, seen)
	d := p.Take(r)
	seen(r, d)
	if !d.OK {
		p.clients.again(r, 0, &d)
	}
}

// sendAgain decides the requests that are sent again until an instant.
func (p *Replay) sendAgain(until limiter.Instant, seen func(Request, limiter.Decision)) {
	if p.clients == nil {
		return
	}
	for c := p.clients; len(c.waiting) > 0 && c.waiting[0].At <= until; {
		next := c.waiting.pop()
		d := p.Take(next.Request)
		seen(next.Request, d)
		if d.OK {
			c.sum.Served++
		} else {
			c.again(next.Request, next.tries, &d)
		}
	}
}
