package adaptive

import (
	"io"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
)

// A Permit is held by a request in flight. It is to be released.
type Permit struct {
	limiter *Limiter
	key     uint64

	mu       sync.Mutex
	since    time.Time              // what is measured began; zero: nothing is measured
	sample   adaptivelimiter.Permit // for the learned limit; nil: none
	started  bool                   // nothing is measured any more
	released bool

	idle      int  // how many of its reads and writes wait for the client
	uncounted bool // it is not in flight meanwhile
}

// Begin begins to measure the latency: the request goes to the upstream.
func (p *Permit) Begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.measureLocked(now)
}

func (p *Permit) measureLocked(now time.Time) {
	p.since = now
	p.sample, _ = p.limiter.learned.TryAcquirePermit() // there is none while the limit falls
}

// stopLocked ends what is measured. counts says that it is a sample for the learned limit.
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

// Started notes that the response starts, or ends without having started. isWork says that the
// upstream has done what it was asked for, answered that the client gets a response. It has an effect
// once.
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

// Release ends the request. It has an effect once.
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

// Idle notes that a read or write of the request begins, or ceases, to wait for the client. Meanwhile
// the upstream does not work, and the request is not in flight. The two may come in another order.
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

// countLocked counts the request among those in flight, or does not.
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

// Body returns the body from which the request is read. The latency counts from its end. If the
// response starts before that, there is no latency.
func (p *Permit) Body(b io.ReadCloser) io.ReadCloser {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopLocked(false)
	return &body{ReadCloser: b, permit: p}
}

// A body has the latency of its request begin when it was read.
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

// uploaded notes that the body was read, whole or not.
func (p *Permit) uploaded(now time.Time, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if whole && !p.started && !p.released {
		p.measureLocked(now)
	}
}
