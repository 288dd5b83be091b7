package config

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Limit is a rate: a text such as `100/1m`, `100/1m burst 20`, `unlimited` or `block`, or an object
// in which exactly one of `events` with `window`, `unlimited`, and `block` is set.
type Limit struct {
	// Admits this many events per window, 1 to 1000000000000.
	Events int64 `json:"events,omitempty"`

	// The length of the window, such as `1m`: 1ms to 87600h.
	Window caddy.Duration `json:"window,omitempty"`

	// Admits this many events at once after a pause. Only for `token_bucket`. Default: `events`.
	Burst int64 `json:"burst,omitempty"`

	// Admits every request.
	Unlimited bool `json:"unlimited,omitempty"`

	// Rejects every request.
	Block bool `json:"block,omitempty"`
}

// Tier is the limit of a tier: a rate such as `1000/1m`, or an object.
type Tier struct {
	Limit
	Enforcement

	// Admits this many requests of each key at once. Default: the number of the endpoint or the zone.
	Concurrent int `json:"concurrent,omitempty"`
}

// Check refuses a limit that sets nothing or too much, or that is out of bounds.
func (l *Limit) Check() error {
	counted := l.Events != 0 || l.Burst != 0 || l.Window != 0 && !l.Block
	switch {
	case l.Unlimited && l.Block, counted && (l.Unlimited || l.Block):
		return fmt.Errorf("limit: use only one of events with window, unlimited, and block")
	case l.Unlimited || l.Block:
		return nil
	case l.Events == 0:
		return fmt.Errorf("limit: events is 0: use block to reject every request")
	case l.Events < 0 || l.Events > limiter.MaxEvents:
		return fmt.Errorf("limit: events is %d: use 1 to %d", l.Events, int64(limiter.MaxEvents))
	case l.Burst < 0 || l.Burst > limiter.MaxEvents:
		return fmt.Errorf("limit: burst is %d: use 1 to %d, or leave it out", l.Burst, int64(limiter.MaxEvents))
	case l.Window == 0:
		return fmt.Errorf("limit: the window is missing: use a duration, such as \"1m\"")
	case l.Window > 0 && time.Duration(l.Window) < limiter.MinWindow:
		return fmt.Errorf("limit: window %v is too short, and a number is in nanoseconds: use a text with a unit, such as \"60s\"",
			time.Duration(l.Window))
	}
	if err := validateWindow(time.Duration(l.Window), time.Duration(l.Window).String()); err != nil {
		return fmt.Errorf("limit: %w", err)
	}
	return nil
}

// validateWindow checks that w, which was written as text, is within the bounds of a limiter.Limit.
func validateWindow(w time.Duration, text string) error {
	switch {
	case w < limiter.MinWindow:
		return fmt.Errorf("window %s is too short: use %v or more", text, limiter.MinWindow)
	case w > limiter.MaxWindow:
		return fmt.Errorf("window %s is too long: use %dd or less", text, limiter.MaxWindow/(24*time.Hour))
	case w%time.Microsecond != 0:
		return fmt.Errorf("window %s is too fine: use whole microseconds", text)
	}
	return nil
}

// Compile returns l for package limiter. l must be neither unlimited nor block.
func (l *Limit) Compile() limiter.Limit {
	return limiter.Limit{Events: l.Events, Window: time.Duration(l.Window), Burst: l.Burst}
}

// String returns l as ParseLimit reads it.
func (l *Limit) String() string {
	switch {
	case l.Unlimited:
		return "unlimited"
	case l.Block:
		return "block"
	}
	s := strconv.FormatInt(l.Events, 10) + "/" + formatWindow(time.Duration(l.Window))
	if l.Burst > 0 {
		s += " burst " + strconv.FormatInt(l.Burst, 10)
	}
	return s
}

// formatWindow returns w, which is a whole number of microseconds, in the largest unit that divides
// it.
func formatWindow(w time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if w%u.size == 0 {
			return strconv.FormatInt(int64(w/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(w.Microseconds(), 10) + "us"
}

// LowerThan reports whether l admits less than other in the long run, or as much with a smaller
// burst.
func (l *Limit) LowerThan(other *Limit) bool {
	switch {
	case l.Unlimited || other.Block:
		return false
	case l.Block || other.Unlimited:
		return true
	}
	rate := func(l *Limit) float64 { return float64(l.Events) / float64(l.Window) }
	burst := func(l *Limit) int64 { return cmp.Or(l.Burst, l.Events) }
	return cmp.Or(cmp.Compare(rate(l), rate(other)), cmp.Compare(burst(l), burst(other))) < 0
}

// Limited reports whether t has a limit.
func (t *Tier) Limited() bool { return t != nil && t.Limit != (Limit{}) }

// OwnLimit returns the limit of t, or nil if t has none.
func (t *Tier) OwnLimit() *Limit {
	if !t.Limited() {
		return nil
	}
	return &t.Limit
}

// WithLimitOf returns t, a tier of a zone. If t has no limit, it takes all settings that it does
// not have from shared, the app's tier of the same name. Both may be nil.
func (t *Tier) WithLimitOf(shared *Tier) *Tier {
	if t == nil || shared == nil || t.Limited() {
		return cmp.Or(t, shared)
	}
	return &Tier{
		Limit: shared.Limit, Enforcement: t.Enforcement.Or(shared.Enforcement), Concurrent: cmp.Or(t.Concurrent, shared.Concurrent),
	}
}
