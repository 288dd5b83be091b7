package fleetlimit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// The words that stand for a whole rate.
const (
	rateUnlimited = "unlimited"
	rateBlock     = "block"
)

// parseRate returns the limit that args say, the RATE of the grammar:
//
//	<events>/<window> [burst <n>] | unlimited | block
//
// A window is a duration such as 10s, 1m, 24h or 7d, or a bare unit for one of it: 100/s.
func parseRate(args []string) (*Limit, error) {
	limit, rest, err := cutRate(args)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%q after the rate means nothing: only `burst <n>` may follow <events>/<window>", rest[0])
	}
	return limit, nil
}

// cutRate is parseRate for args that go on after the rate; it also returns what does.
func cutRate(args []string) (limit *Limit, rest []string, err error) {
	if len(args) == 0 {
		return nil, nil, errors.New("the rate is missing: say <events>/<window>, such as 100/1m")
	}
	first, rest := args[0], args[1:]
	switch first {
	case rateUnlimited:
		limit = &Limit{Unlimited: true}
	case rateBlock:
		limit = &Limit{Block: true}
	default:
		if limit, err = parseEventsPerWindow(first); err != nil {
			return nil, nil, err
		}
	}
	if len(rest) == 0 || rest[0] != "burst" {
		return limit, rest, nil
	}
	if limit.Events == 0 {
		return nil, nil, fmt.Errorf("%s has no burst: remove `burst`", first)
	}
	if len(rest) == 1 {
		return nil, nil, fmt.Errorf("the number after burst is missing: say how many events may happen at once, " +
			"such as burst 200")
	}
	if limit.Burst, err = parseEvents(rest[1]); err != nil {
		return nil, nil, fmt.Errorf("burst: %w", err)
	}
	if limit.Burst == 0 {
		return nil, nil, errors.New("a burst of 0 would admit nothing: say 1 or more, or leave it out for that of <events>")
	}
	return limit, rest[2:], nil
}

func parseEventsPerWindow(s string) (*Limit, error) {
	events, window, found := strings.Cut(s, "/")
	if !found {
		return nil, fmt.Errorf("%q is not a rate: say <events>/<window> without spaces, such as 100/1m, or "+
			"unlimited, or block", s)
	}
	n, err := parseEvents(events)
	if err != nil {
		return nil, fmt.Errorf("rate %q: %w", s, err)
	}
	if n == 0 {
		return nil, fmt.Errorf("rate %q admits nothing: say block to reject every request", s)
	}
	w, err := parseWindow(window)
	if err != nil {
		return nil, fmt.Errorf("rate %q: %w", s, err)
	}
	return &Limit{Events: n, Window: caddy.Duration(w)}, nil
}

// parseEvents parses a number of events from 0 to limiter.MaxEvents, in decimal digits.
func parseEvents(s string) (int64, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number of events: say a whole number such as 100; "+
			"for less than one event per window, lengthen the window", s)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > limiter.MaxEvents {
		return 0, fmt.Errorf("%s events are too many: say %d or less", s, int64(limiter.MaxEvents))
	}
	return n, nil
}

// parseWindow parses a duration, or a bare unit for one of it, within the bounds of a limiter.Limit.
func parseWindow(s string) (time.Duration, error) {
	if s == "" {
		return 0, errors.New("the window is missing: say a duration, such as 1m")
	}
	text := s
	if strings.Trim(s[:1], "0123456789.+-") != "" {
		text = "1" + s
	}
	w, err := caddy.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("window %q is not a duration: say a number with its unit (ms, s, m, h or d), such "+
			"as 10s or 1m", s)
	case w < limiter.MinWindow:
		return 0, fmt.Errorf("window %s is too short: say %v or more", s, limiter.MinWindow)
	case w > limiter.MaxWindow:
		return 0, fmt.Errorf("window %s is too long: say %dd or less", s, limiter.MaxWindow/(24*time.Hour))
	case w%time.Microsecond != 0:
		return 0, fmt.Errorf("window %s is too fine: say whole microseconds", s)
	}
	return w, nil
}

// String returns l as parseRate reads it.
func (l *Limit) String() string {
	switch {
	case l.Unlimited:
		return rateUnlimited
	case l.Block:
		return rateBlock
	}
	s := strconv.FormatInt(l.Events, 10) + "/" + formatWindow(time.Duration(l.Window))
	if l.Burst > 0 {
		s += " burst " + strconv.FormatInt(l.Burst, 10)
	}
	return s
}

// formatWindow returns w, a whole number of microseconds, in the largest unit that it is a multiple of.
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
