package sim

import (
	"cmp"
	"fmt"
	"slices"

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
	if c := slices.Index(clientNames[:], cmp.Or(name, "open")); c >= 0 {
		return Clients(c), nil
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
	waiting RequestQueue[int] // to be sent again, with how often they were sent again before
	sum     Retries
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
	if c.waiting.Len() == maxWaiting {
		c.sum.GaveUp++
		return
	}
	c.sum.Sent++
	c.waiting.Push(r, tries+1)
	c.sum.Most = max(c.sum.Most, c.waiting.Len())
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
	for c := p.clients; c.waiting.Len() > 0 && c.waiting.First() <= until; {
		r, tries := c.waiting.Pop()
		d := p.Take(r)
		seen(r, d)
		if d.OK {
			c.sum.Served++
		} else {
			c.again(r, tries, &d)
		}
	}
}
