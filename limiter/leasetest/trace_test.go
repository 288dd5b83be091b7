package leasetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A traceLine says what happened to a key, or to all of them. It is formatted when it is read.
type traceLine struct {
	at     limiter.Instant
	key    int
	format string
	args   []any
}

const allKeys = -1

func (l *traceLine) String() string { return fmt.Sprintf(l.format, l.args...) }

// tracef notes what happens, if the simulation is traced. Its arguments must not change.
func (s *simulation) tracef(key int, format string, args ...any) {
	if s.tracing {
		s.trace = append(s.trace, traceLine{s.now(), key, format, args})
	}
}

// story returns what led to what is wrong.
func (s *simulation) story() string {
	const most = 80
	var lines []string
	for i := range s.trace {
		if l := &s.trace[i]; (l.key == s.checker.wrongKey || l.key == allKeys) && l.at <= s.checker.wrongAt {
			lines = append(lines, fmt.Sprintf("%12v  %v", sinceEpoch(l.at), l))
		}
	}
	if n := len(lines) - most; n > 0 {
		lines = slices.Delete(lines, 1, n+1) // the first says what kind of fleet it is
	}
	return strings.Join(lines, "\n")
}

// sinceEpoch is an instant of the store's clock as traces show it.
type sinceEpoch limiter.Instant

func (t sinceEpoch) String() string {
	if limiter.Instant(t) == limiter.Never {
		return "never"
	}
	return strconv.FormatFloat(float64(limiter.Instant(t)-epoch)/sec, 'f', -1, 64) + "s"
}

// asRequest shows what a request says.
type asRequest limiter.LeaseRequest

func (l asRequest) String() string {
	var b strings.Builder
	add := func(format string, n int64, args ...any) {
		if n > 0 {
			fmt.Fprintf(&b, ", "+format, append([]any{n}, args...)...)
		}
	}
	fmt.Fprintf(&b, ": need %d, want %d", l.Need, l.Want)
	add("%d for others", l.More)
	for _, e := range l.Returns {
		add("returns %d of %v", e.N, sinceEpoch(e.At))
		add("with a share of %d", e.Share)
		add("%d spent", e.Spent)
	}
	add("cancels %d of %v", l.Cancel.N, sinceEpoch(l.Cancel.At))
	return b.String()
}

// asAnswer shows the answer to a request that returned events, of which the store has taken back
// some.
type asAnswer struct {
	l               limiter.LeaseRequest
	returned, taken int64
}

func (a asAnswer) String() string {
	var b strings.Builder
	switch l := &a.l; {
	case l.Need > 0 && l.Served == 0:
		fmt.Fprintf(&b, " denied until %v", sinceEpoch(l.Decision.RetryAt))
		if l.GrantedShare > 0 {
			fmt.Fprintf(&b, ", granted a share of %d until %v", l.GrantedShare, sinceEpoch(l.Expires))
		}
	case l.GrantedShare > 0:
		fmt.Fprintf(&b, " served %d, granted %d and a share of %d until %v", l.Served, l.Granted, l.GrantedShare, sinceEpoch(l.Expires))
	case l.Granted > 0:
		fmt.Fprintf(&b, " served %d, granted %d until %v", l.Served, l.Granted, sinceEpoch(l.Expires))
	default:
		fmt.Fprintf(&b, " served %d", l.Served)
	}
	switch {
	case a.returned > 0 && a.l.Rule.Algorithm.Kind == limiter.TokenBucket: // what has accrued too
		fmt.Fprintf(&b, ", took back %d", a.taken)
	case a.returned > 0:
		fmt.Fprintf(&b, ", took back %d of %d", a.taken, a.returned)
	}
	fmt.Fprintf(&b, "; %d left", a.l.Decision.Remaining)
	return b.String()
}

// asDecision shows a decision of a node by the simulation's clock.
type asDecision struct {
	limiter.Decision
	node *simNode
}

func (d asDecision) String() string {
	if d.OK {
		return "ok by " + d.Source.String()
	}
	until := d.RetryAt
	if until != limiter.Never && d.Source != limiter.FromStore {
		until = d.node.timeOf(until)
	}
	return fmt.Sprintf("denied by %v until %v", d.Source, sinceEpoch(until))
}
