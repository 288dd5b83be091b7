package response

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
)

// Settings are what a handler says about its responses. Each result of the handler has them.
type Settings struct {
	headers    headerSet
	style      string  // of rejections; "" to leave that to each zone
	jitter     float64 // the most that is added to a wait, as a fraction of the wait
	maxSeconds int64   // the longest wait that responses tell; 0 for any wait
}

// NewSettings compiles the settings of a handler.
func NewSettings(h *config.Handler, defaults config.Defaults) *Settings {
	return &Settings{
		headers:    headersNamed(cmp.Or(h.Headers, defaults.Headers)),
		style:      cmp.Or(h.Reject, defaults.Reject),
		jitter:     float64(h.Jitter),
		maxSeconds: int64(time.Duration(h.MaxRetryAfter) / time.Second),
	}
}

// has reports whether responses have all headers of a set. s may be nil if the set is empty.
func (s *Settings) has(set headerSet) bool { return set == noHeaders || s.headers&set == set }

// Style returns how to reject the requests that a zone denies. legacy says that the zone is in the syntax of
// caddy-ratelimit.
func (s *Settings) Style(legacy bool) string {
	switch {
	case s.style != "":
		return s.style
	case legacy:
		return config.RejectError
	}
	return config.RejectJSON
}

// Lengthen returns a wait with the jitter, which never shortens it.
func (s *Settings) Lengthen(wait time.Duration) time.Duration {
	if s.jitter > 0 {
		wait += time.Duration(float64(wait) * s.jitter * rand.Float64())
	}
	return wait
}

// retryAfter returns the seconds that a response tells a client to wait: the wait, rounded up to at
// least one second, and then bounded.
func (s *Settings) retryAfter(wait time.Duration) int64 {
	return s.bound(max(1, int64((wait+time.Second-1)/time.Second)))
}

// bound returns how many seconds a client is told to wait, given the seconds that it has to wait.
func (s *Settings) bound(seconds int64) int64 {
	if s.maxSeconds > 0 {
		return min(seconds, s.maxSeconds)
	}
	return seconds
}
