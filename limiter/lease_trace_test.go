package limiter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A line of a trace says what happened to a key, or to all of them.
type line struct {
	at   Instant
	key  int
	text string
}

const allKeys = -1

// tracef notes what happens, if anyone wants to know.
func (w *world) tracef(key int, format string, args ...any) {
	if w.trace != nil {
		w.trace = append(w.trace, line{w.now, key, fmt.Sprintf(format, args...)})
	}
}

// story returns what led to what is wrong.
func (w *world) story() string {
	const most = 80
	var lines []string
	for _, l := range w.trace {
		if (l.key == w.audit.wrongKey || l.key == allKeys) && l.at <= w.audit.wrongAt {
			lines = append(lines, fmt.Sprintf("%12v  %s", told(l.at), l.text))
		}
	}
	if n := len(lines) - most; n > 0 {
		lines = slices.Delete(lines, 1, n+1) // what kind of world it is stays
	}
	return strings.Join(lines, "\n")
}

// told is an instant of the store's clock as traces tell it: since the world began.
type told Instant

func (t told) String() string {
	if Instant(t) == Never {
		return "never"
	}
	return strconv.FormatFloat(float64(Instant(t)-begins)/sec, 'f', -1, 64) + "s"
}

func (m *member) String() string { return fmt.Sprint("node ", m.id) }

// verdict tells a decision of an account.
func (h *holder) verdict(d *Decision) string {
	if d.OK {
		return "ok by " + d.Source.String()
	}
	until := d.RetryAt
	if until != Never {
		until -= Instant(h.offset)
	}
	return fmt.Sprintf("denied by %v until %v", d.Source, told(until))
}

// question tells what a loan asks for.
func question(l *LeaseRequest) string {
	var b strings.Builder
	add := func(format string, n int64, args ...any) {
		if n > 0 {
			fmt.Fprintf(&b, ", "+format, append([]any{n}, args...)...)
		}
	}
	fmt.Fprintf(&b, ": need %d, want %d", l.Need, l.Want)
	add("%d for others", l.More)
	for _, e := range l.Returns {
		add("gives back %d of %v", e.N, told(e.At))
	}
	add("undoes %d of %v", l.Cancel.N, told(l.Cancel.At))
	add("owes %d", l.CreditTotal-l.SettledTotal)
	return b.String()
}

// reply tells the answer to a loan that gave back so many events, of which the store has taken some, and has settled some debt.
func reply(l *LeaseRequest, back, taken, settled int64) string {
	var b strings.Builder
	switch {
	case l.Need > 0 && l.Served == 0:
		fmt.Fprintf(&b, " denied until %v", told(l.Decision.RetryAt))
	case l.Granted > 0:
		fmt.Fprintf(&b, " served %d, lent %d until %v", l.Served, l.Granted, told(l.Expires))
	default:
		fmt.Fprintf(&b, " served %d", l.Served)
	}
	if back > 0 {
		fmt.Fprintf(&b, ", took back %d of %d", taken, back)
	}
	if settled > 0 {
		fmt.Fprintf(&b, ", debited a debt of %d", settled)
	}
	fmt.Fprintf(&b, "; %d left", l.Decision.Remaining)
	return b.String()
}
