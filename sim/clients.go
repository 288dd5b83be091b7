package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Clients say what clients do when a request is rejected. A trace tells what they did under the limits
// of its day, but not what they would do under other limits.
type Clients uint8

const (
	// OpenClients send the requests of the trace, whether the requests are rejected or not.
	OpenClients Clients = iota

	// RetryAfterClients send a rejected request again at the instant that Retry-After gives in whole
	// seconds. They do so at most maxRetries times.
	RetryAfterClients

	// HammeringClients send a rejected request again every hammerEvery, at most maxHammer times.
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

// ParseClients parses the name of a behaviour. "" is OpenClients.
func ParseClients(name string) (Clients, error) {
	if c := slices.Index(clientNames[:], cmp.Or(name, "open")); c >= 0 {
		return Clients(c), nil
	}
	return 0, fmt.Errorf("%q is nothing that clients do: use open, retry-after or hammer", name)
}

// Retries count the requests that clients send again after rejections.
type Retries struct {
	Sent   int64 `json:"sent"`
	Served int64 `json:"served"`    // requests of the trace that were admitted after a rejection
	GaveUp int64 `json:"gave_up"`   // requests of the trace that were never admitted
	Most   int   `json:"most_open"` // highest number of requests that waited to be sent again
}

// A reacting has the rejected requests that clients send again.
type reacting struct {
	clients Clients
	waiting RequestQueue[int] // to be sent again; with each, how often it was sent again before
	sum     Retries
}

// maxWaiting is the highest number of requests that wait to be sent again. Further rejected requests
// give up.
const maxWaiting = 1 << 20

// again has a rejected request sent again later, or gives it up. tries is how often it was sent again
// before.
func (c *reacting) again(r Arrival, tries int, d *limiter.Decision) {
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

// react decides r, after the requests that clients send again before it. It calls seen for each
// decision.
func (p *Replay) react(r Arrival, seen func(Arrival, limiter.Decision)) {
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

// sendAgain decides the requests that clients send again up to an instant.
func (p *Replay) sendAgain(until limiter.Instant, seen func(Arrival, limiter.Decision)) {
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
