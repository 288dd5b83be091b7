package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
)

// Breaker is when requests stop waiting for a primary of Redis that fails, and when they go on.
//
// A circuit breaker opens at once when its primary refuses connections, and soon when the primary
// is silent. It also opens after `failures` in a row, or as many within `within` that are at least
// a fifth of what was sent to the primary: broken connections, and replies that took longer than
// the timeout of `redis`. While it is open, requests do not wait. The primary is probed, and the
// breaker closes after some good probes.
type Breaker struct {
	// Opens after this many failures, 1 to 1000. Default: 5.
	Failures int `json:"failures,omitempty"`

	// Counts failures over this time, 10ms to 1h. Default: 10s.
	Within caddy.Duration `json:"within,omitempty"`

	// Probes a primary whose breaker is open this often, 10ms to 1m. Default: 1s.
	ProbeEvery caddy.Duration `json:"probe_every,omitempty"`

	// Closes after this many good probes in a row, 1 to 1000. Default: 3.
	Probes int `json:"probes,omitempty"`
}

func (a *App) checkBreaker() error {
	b := a.Breaker
	switch {
	case b == nil:
		return nil
	case a.Redis == nil:
		return errors.New("there are no primaries to break off from: use `redis`, or leave out `breaker`")
	}
	if _, err := b.check(); err != nil {
		return fmt.Errorf("breaker: %w", err)
	}
	return nil
}

// mostBreakerCount is the most failures and probes of a breaker. With more, it would never open, or
// never close.
const mostBreakerCount = 1000

// check returns the first setting that is out of bounds, and the error. 0 is the default.
func (b *Breaker) check() (setting string, err error) {
	for _, n := range []struct {
		setting string
		value   int
	}{{"failures", b.Failures}, {"probes", b.Probes}} {
		if n.value < 0 || n.value > mostBreakerCount {
			return n.setting, fmt.Errorf("%s is %d: use 1 to %d", n.setting, n.value, mostBreakerCount)
		}
	}
	const least = 10 * time.Millisecond
	for _, d := range []struct {
		setting string
		value   caddy.Duration
		most    time.Duration
		such    string
	}{{"within", b.Within, time.Hour, "10ms to 1h, such as 10s"}, {"probe_every", b.ProbeEvery, time.Minute, "10ms to 1m, such as 1s"}} {
		if v := time.Duration(d.value); v != 0 && (v < least || v > d.most) {
			return d.setting, fmt.Errorf("%s is %v: use %s", d.setting, v, d.such)
		}
	}
	return "", nil
}
