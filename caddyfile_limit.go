package fleetlimit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/subdirective"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// This file holds the subdirectives that zones, endpoints and the global defaults have in common.

const (
	rateUsage = "<events>/<window> [burst <n>] | unlimited | block"
	costUsage = "cost <n> | <placeholder> [trusted]"
)

// limitLine is the subdirective that says a rate.
func limitLine(d *caddyfile.Dispenser, limit **Limit) subdirective.Line {
	return subdirective.Line{Usage: "limit " + rateUsage, Min: 1, Max: subdirective.AnyNumber, Parse: func(args []string) (err error) {
		if *limit != nil {
			return d.Errf("the limit is already specified before this block: remove one of the two")
		}
		if *limit, err = parseRate(args); err != nil {
			return d.WrapErr(err)
		}
		return nil
	}}
}

// algorithmLine is the subdirective that says an algorithm.
func algorithmLine(d *caddyfile.Dispenser, algorithm **Algorithm) subdirective.Line {
	return subdirective.Line{Usage: "algorithm <name> [<subwindows>]", Min: 1, Max: 2, Parse: func(args []string) (err error) {
		if *algorithm != nil {
			return d.Errf("the algorithm is already specified before this block: remove one of the two")
		}
		*algorithm, err = parseAlgorithm(d, args)
		return err
	}}
}

// parseAlgorithm parses the name of an algorithm and the number of sub-windows that may follow it.
func parseAlgorithm(d *caddyfile.Dispenser, args []string) (*Algorithm, error) {
	a := &Algorithm{Name: args[0]}
	if len(args) > 1 {
		n, err := parseEvents(args[1])
		if err != nil || n < 1 || n > limiter.MaxSubWindows {
			return nil, d.Errf("%q is not a number of sub-windows: say 1 to %d", args[1], limiter.MaxSubWindows)
		}
		a.Subwindows = int(n)
	}
	if _, err := a.compile(); err != nil {
		return nil, d.WrapErr(err)
	}
	return a, nil
}

// costLine is the subdirective that says how many events a request counts for.
func costLine(d *caddyfile.Dispenser, cost **Cost) subdirective.Line {
	return subdirective.Line{Usage: costUsage, Min: 1, Max: 2, Parse: func(args []string) (err error) {
		*cost, err = parseCost(d, args)
		return err
	}}
}

func parseCost(d *caddyfile.Dispenser, args []string) (*Cost, error) {
	if isPlaceholder(args[0]) {
		trusted, err := parseTrusted(d, args[0], args[1:])
		if err != nil {
			return nil, err
		}
		return &Cost{Placeholder: args[0], Trusted: trusted}, nil
	}
	n, err := parseEvents(args[0])
	if err != nil || n < 1 {
		return nil, d.Errf("%q is not a cost: say a number from 1, or a placeholder such as {http.vars.cost}", args[0])
	}
	if len(args) > 1 {
		return nil, d.Errf("unexpected %q: say `%s`", args[1], costUsage)
	}
	return &Cost{Events: n}, nil
}

// parseTrusted parses what may follow a placeholder that decides how much a request may do. Clients must not write its
// value, unless it is said to be trusted.
func parseTrusted(d *caddyfile.Dispenser, placeholder string, args []string) (trusted bool, err error) {
	switch {
	case len(args) == 1 && args[0] == "trusted":
		return true, nil
	case len(args) > 0:
		return false, d.Errf("unexpected %q after %s: only `trusted` may follow it", args[0], placeholder)
	case clientControlled(placeholder):
		return false, d.Errf("clients write the value of %s: add `trusted` if something in front of this handler "+
			"guarantees it", placeholder)
	}
	return false, nil
}

// isPlaceholder reports whether s is one placeholder and nothing else.
func isPlaceholder(s string) bool {
	return len(s) > 2 && s[0] == '{' && s[len(s)-1] == '}' && !strings.ContainsAny(s[1:len(s)-1], "{}")
}

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

// modeLine is the subdirective that says how a fleet enforces a limit.
func modeLine(d *caddyfile.Dispenser, mode *string) subdirective.Line {
	return subdirective.Line{Usage: "mode strict | lease", Min: 1, Max: 1, Parse: func(args []string) error {
		if err := checkMode(args[0]); err != nil {
			return d.WrapErr(err)
		}
		*mode = args[0]
		return nil
	}}
}

// maxOvershootLine is the subdirective that says by how much a fleet may exceed a limit.
func maxOvershootLine(d *caddyfile.Dispenser, fraction **float64) subdirective.Line {
	return subdirective.Line{Usage: "max_overshoot <percent>", Min: 1, Max: 1, Parse: func(args []string) error {
		number, percent := strings.CutSuffix(args[0], "%")
		f, err := parsePercent(number)
		switch {
		case err == nil && percent:
			*fraction = &f
			return nil
		case err == nil:
			return d.Errf("max_overshoot %s has no unit: say %s%%", number, number)
		}
		return d.Errf("max_overshoot %q is not a percentage of the limit: say 0%% to 100%%, such as 1%%", args[0])
	}}
}

// parsePercent returns the fraction that a number of percent from 0 to 100 is, in decimal digits without the sign. It is
// rounded once, so 0.7 is what a program reads in 0.007.
func parsePercent(number string) (float64, error) {
	f, err := strconv.ParseFloat(number+"e-2", 64)
	if err != nil || strings.Trim(number, "0123456789.") != "" || f > 1 {
		return 0, errors.New("not a number from 0 to 100")
	}
	return f, nil
}
