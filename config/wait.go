package config

import (
	"cmp"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

// MaxWait is the longest that a request may wait for its turn.
const MaxWait = time.Minute

// minWait is the shortest wait, apart from 0.
const minWait = time.Millisecond

// DefaultStatusWait is the default of `wait` where `count_status` is set. Elsewhere, requests do
// not wait by default.
const DefaultStatusWait = time.Second

// CheckWait refuses a wait that is out of bounds. It accepts nil.
func CheckWait(w *caddy.Duration) error {
	if w == nil || *w == 0 || *w >= caddy.Duration(minWait) && *w <= caddy.Duration(MaxWait) {
		return nil
	}
	return fmt.Errorf("wait is %v: use 1ms to 1m, such as 500ms, because clients and what is in front of them give up", time.Duration(*w))
}

// waitLine returns the subdirective with the time that requests may wait.
func waitLine(wait **caddy.Duration) subdirective.Line {
	w := new(caddy.Duration)
	l := subdirective.Duration("wait", true, w)
	parse := l.Parse
	l.Parse = func(args []string) error {
		*wait = w
		return cmp.Or(parse(args), CheckWait(w))
	}
	return l
}
