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
	// Opens after this many failures. Default: 5.
	Failures int `json:"failures,omitempty"`

	// Counts failures over this time. Default: 10s.
	Within caddy.Duration `json:"within,omitempty"`

	// Probes a primary whose breaker is open this often. Default: 1s.
	ProbeEvery caddy.Duration `json:"probe_every,omitempty"`

	// Closes after this many good probes in a row. Default: 3.
	Probes int `json:"probes,omitempty"`
}

func (a *App) checkBreaker() error {
	b := a.Breaker
	switch {
	case b == nil:
		return nil
	case a.Redis == nil:
		return errors.New("there are no primaries to break off from: use `redis`, or leave out `breaker`")
	case b.Failures < 0, b.Probes < 0:
		return fmt.Errorf("failures is %d and probes %d: use 1 or more", b.Failures, b.Probes)
	case b.Within < 0, b.ProbeEvery < 0:
		return fmt.Errorf("within is %v and probe_every %v: use durations above 0, such as 10s",
			time.Duration(b.Within), time.Duration(b.ProbeEvery))
	}
	return nil
}
