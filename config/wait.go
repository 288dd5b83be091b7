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

// minWait is the shortest wait, except for none.
const minWait = time.Millisecond

// DefaultStatusWait is how long requests wait if `wait` does not say so, where their status decides
// whether they count. Elsewhere they do not wait.
const DefaultStatusWait = time.Second

// CheckWait refuses a wait that is out of bounds. nil is none.
func CheckWait(w *caddy.Duration) error {
	if w == nil || *w == 0 || *w >= caddy.Duration(minWait) && *w <= caddy.Duration(MaxWait) {
		return nil
	}
	return fmt.Errorf("wait is %v: use 1ms to 1m, such as 500ms, because clients and what is in front of them give up", time.Duration(*w))
}

// waitLine is a subdirective with how long requests wait.
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
