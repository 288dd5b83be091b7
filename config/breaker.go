package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
)

// Breaker decides when requests stop waiting for a primary of Redis that fails, and when they wait
// for it again.
//
// Each primary has a circuit breaker. It opens at once when the primary refuses connections, and
// soon when the primary answers nothing any more. It also opens after `failures` failures in a row,
// or after as many failures in the time `within` if at least a fifth of what was sent to the
// primary has failed. A failure is a broken connection, an answer that the primary is not ready, or
// a reply that takes longer than the `timeout` of `redis`. While the breaker is open, requests do
// not wait for the primary. Probes find out whether the primary is back, and `probes` good ones in
// a row close the breaker.
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
		return errors.New("breaker is about the primaries of Redis, and there is no Redis: use `redis`, or leave out `breaker`")
	}
	if _, err := b.check(); err != nil {
		return fmt.Errorf("breaker: %w", err)
	}
	return nil
}

// mostBreakerCount is the highest value of Breaker.Failures and Breaker.Probes. With a higher one,
// a breaker would never open or never close.
const mostBreakerCount = 1000

// check returns the name of the first setting that is out of bounds, and an error about it. A
// setting of 0 has its default.
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
