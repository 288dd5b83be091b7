package adaptive

import (
	"io"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
)

// A Permit is held by a request in flight. The request must release it.
type Permit struct {
	limiter *Limiter
	key     uint64

	mu       sync.Mutex
	since    time.Time              // the instant from which the latency counts; zero while nothing is measured
	sample   adaptivelimiter.Permit // for the learned limit; nil if this request is no sample for it
	started  bool                   // the response has started, so nothing is measured any more
	released bool

	idle      int  // number of reads and writes that wait for the client
	uncounted bool // the request is not counted among those in flight
}

// Begin begins to measure the latency, as the request goes to the upstream.
func (p *Permit) Begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.measureLocked(now)
}

func (p *Permit) measureLocked(now time.Time) {
	p.since = now
	p.sample, _ = p.limiter.learned.TryAcquirePermit() // nil if the limit has fallen below the requests in flight
}

// stopLocked ends the measurement. counts says that the latency is a sample for the learned limit.
func (p *Permit) stopLocked(counts bool) {
	p.since = time.Time{}
	if sample := p.sample; sample != nil {
		p.sample = nil
		if counts {
			sample.Record()
		} else {
			sample.Drop()
		}
	}
}

// Started notes that the response starts, or that the request ends without one. isWork says that
// the upstream has done what it was asked to do. answered says that the client gets a response.
// Only the first call has an effect.
func (p *Permit) Started(now time.Time, isWork, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = true
	if p.since.IsZero() {
		return
	}
	l, latency := p.limiter, now.Sub(p.since)
	slow := latency >= l.settings.MaxLatency
	p.stopLocked(isWork && !slow)
	if !isWork && !slow {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.guard.add(now, latency, answered, l.shares.inFlight)
}

// Release ends the request. Only the first call has an effect.
func (p *Permit) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released {
		return
	}
	p.stopLocked(false)
	p.countLocked(false)
	p.released = true
}

// Idle notes that a read or write of the request begins to wait for the client, or that it has
// stopped waiting. Meanwhile the upstream does not work, so the request is not counted among those
// in flight. Idle(false) may be called before Idle(true).
func (p *Permit) Idle(idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if idle {
		p.idle++
	} else {
		p.idle--
	}
	p.countLocked(p.idle <= 0)
}

// countLocked counts the request among those in flight if counts is true, and takes it out
// otherwise.
func (p *Permit) countLocked(counts bool) {
	if p.released || counts == !p.uncounted {
		return
	}
	p.uncounted = !counts
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if counts {
		l.shares.begin(p.key)
	} else {
		l.shares.end(p.key)
	}
}

// Body returns a body that replaces b. The latency counts from the end of the body. If the response
// starts before that end, the latency is not measured.
func (p *Permit) Body(b io.ReadCloser) io.ReadCloser {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopLocked(false)
	return &body{ReadCloser: b, permit: p}
}

// A body begins to measure the latency of its request at the end of the body.
type body struct {
	io.ReadCloser
	permit *Permit
	ended  bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !b.ended {
		b.ended = true
		b.permit.uploaded(time.Now(), err == io.EOF)
	}
	return n, err
}

// uploaded notes that the body has ended. whole is false if an error has ended it.
func (p *Permit) uploaded(now time.Time, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if whole && !p.started && !p.released {
		p.measureLocked(now)
	}
}
