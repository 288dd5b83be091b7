package evaluate

import (
	"context"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// addPermit adds a permit that the request holds.
func (s *requestState) addPermit(p heldPermit) {
	s.held.Lock()
	defer s.held.Unlock()
	s.permits = append(s.permits, p)
	if p.zone != nil {
		p.zone.InFlight.Add(1)
	}
}

// releasePermits releases the permits of the request from the index first on.
func (s *requestState) releasePermits(first int) {
	if len(s.permits) == first {
		return
	}
	now := time.Now()
	s.held.Lock()
	defer s.held.Unlock()
	for i := range s.permits[first:] {
		s.permits[first+i].release(now)
	}
	clear(s.permits[first:])
	s.permits = s.permits[:first]
}

// boundPermits has the permits of this handler released when the response has ended, or when they have been
// held for the longest time that the zone allows. A stream keeps them until it ends, unless the operator has
// set that time.
func (e *Evaluation) boundPermits() {
	if e.previews || e.state == nil || len(e.state.permits) <= e.firstPermit {
		return
	}
	s, first, now := e.state, e.firstPermit, time.Now()
	s.held.Lock()
	for i := range s.permits[first:] {
		p := &s.permits[first+i]
		p.until = now.Add(p.hold.Longest())
	}
	s.nextReleaseLocked(now)
	s.held.Unlock()
	e.onStatus(func(status int) {
		if s.IsStream(status) {
			s.holdStreams()
		}
	})
	s.AtEnd(func(int) {
		s.releasePermits(0)
		s.longest.Stop()
	})
}

// nextReleaseLocked sets the timer for the next permit that will have been held for its longest time.
func (s *requestState) nextReleaseLocked(now time.Time) {
	var next time.Time
	for i := range s.permits {
		if p := &s.permits[i]; p.zone != nil && !p.until.IsZero() && (next.IsZero() || p.until.Before(next)) {
			next = p.until
		}
	}
	switch {
	case next.IsZero():
	case s.longest == nil:
		s.longest = time.AfterFunc(next.Sub(now), s.releaseLongest)
	default:
		s.longest.Reset(next.Sub(now))
	}
}

// releaseLongest releases the permits that have been held for their longest time.
func (s *requestState) releaseLongest() {
	s.held.Lock()
	defer s.held.Unlock()
	now := time.Now()
	for i := range s.permits {
		if p := &s.permits[i]; !p.until.IsZero() && !now.Before(p.until) {
			p.release(now)
		}
	}
	s.nextReleaseLocked(now)
}

// holdStreams notes that the response is a stream: its permits are held until it ends, unless the operator
// has set a longest time.
func (s *requestState) holdStreams() {
	s.held.Lock()
	defer s.held.Unlock()
	s.streams.Store(true)
	for i := range s.permits {
		if p := &s.permits[i]; p.hold.Max == 0 {
			p.until = time.Time{}
		}
	}
}

// holdAfterCancel returns next, but its request goes on for a time after the client has hung up. Were it
// cancelled at once, the upstream would work on anyway, and nobody would know when to release the permit. A
// stream is cancelled at once.
func (e *Evaluation) holdAfterCancel(next caddyhttp.Handler) caddyhttp.Handler {
	var after time.Duration
	s := e.state
	for _, p := range s.permits[e.firstPermit:] {
		after = max(after, p.hold.AfterCancel)
	}
	if after == 0 {
		return next
	}
	return caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		client := r.Context()
		ctx, cancel := context.WithCancel(context.WithoutCancel(client))
		defer cancel()
		defer context.AfterFunc(client, func() {
			timer := time.NewTimer(after)
			defer timer.Stop()
			if !s.streams.Load() {
				select {
				case <-timer.C:
				case <-ctx.Done():
				}
			}
			cancel()
		})()
		*r = *r.WithContext(ctx) // in place, because the replacer refers to this request
		defer func() { *r = *r.WithContext(client) }()
		return next.ServeHTTP(w, r)
	})
}
