package fleetlimit

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/spelling"
	"github.com/fleetlimit/fleetlimit/internal/subdirective"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// This file holds the subdirectives that zones, endpoints, tiers and the global defaults share.

const (
	rateUsage = "<events>/<window> [burst <n>] | unlimited | block"
	costUsage = "cost <n> | <placeholder> [trusted]"
)

func limitLine(d *caddyfile.Dispenser, limit **Limit) subdirective.Line {
	return subdirective.Line{Usage: "limit " + rateUsage, Min: 1, Max: subdirective.AnyNumber, Parse: func(args []string) (err error) {
		if *limit != nil {
			return d.Errf("the limit is already specified before this block: use it once")
		}
		if *limit, err = parseRate(args); err != nil {
			return d.WrapErr(err)
		}
		return nil
	}}
}

func algorithmLine(d *caddyfile.Dispenser, algorithm **Algorithm) subdirective.Line {
	return subdirective.Line{Usage: "algorithm <name> [<subwindows>]", Min: 1, Max: 2, Parse: func(args []string) (err error) {
		if *algorithm != nil {
			return d.Errf("the algorithm is already specified before this block: use it once")
		}
		if *algorithm, err = parseAlgorithm(args); err != nil {
			return d.WrapErr(err)
		}
		return nil
	}}
}

// parseAlgorithm parses an algorithm and the number of sub-windows that may follow it.
func parseAlgorithm(args []string) (*Algorithm, error) {
	a := &Algorithm{Name: args[0]}
	if _, err := parseKind(args[0]); err != nil && len(args) > 1 {
		_, err = parseKind(strings.Join(args, " "))
		return nil, err
	}
	if len(args) > 1 {
		n, err := parseEvents(args[1])
		if err != nil || n < 1 || n > limiter.MaxSubWindows {
			return nil, fmt.Errorf("%q is not a number of sub-windows: use 1 to %d", args[1], limiter.MaxSubWindows)
		}
		a.Subwindows = int(n)
	}
	if a.Subwindows > 0 && a.Name != "sliding_window" {
		return nil, fmt.Errorf("%s has no sub-windows: use it alone, or `sliding_window %d`", a.Name, a.Subwindows)
	}
	if _, err := a.compile(); err != nil {
		return nil, err
	}
	return a, nil
}

func costLine(d *caddyfile.Dispenser, cost **Cost) subdirective.Line {
	return subdirective.Line{Usage: costUsage, Min: 1, Max: 2, Parse: func(args []string) (err error) {
		if *cost, err = parseCost(args); err != nil {
			return d.WrapErr(err)
		}
		return nil
	}}
}

// parseCost parses a number, or a placeholder and the word that may follow it.
func parseCost(args []string) (*Cost, error) {
	c := new(Cost)
	if strings.HasPrefix(args[0], "{") {
		c.Placeholder = args[0]
		return c, parseTrusted(args, &c.Trusted)
	}
	n, err := parseEvents(args[0])
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%q is not a cost: use a number from 1, or a placeholder such as {http.vars.cost}", args[0])
	}
	if len(args) > 1 {
		return nil, fmt.Errorf("unexpected %q: use `%s`", args[1], costUsage)
	}
	c.Events = n
	return c, nil
}

// parseTrusted parses what may follow a placeholder that decides what a request may do: args are
// the placeholder and the rest of the line.
func parseTrusted(args []string, trusted *bool) error {
	if *trusted = len(args) > 1; *trusted && args[1] != "trusted" {
		return fmt.Errorf("unexpected %q after %s: use `trusted` or nothing", args[1], args[0])
	}
	_, err := keytemplate.ParsePlaceholder(args[0], *trusted)
	if err == nil || errors.Is(err, keytemplate.ErrUnset) {
		return nil
	}
	return err
}

// parseRate parses a rate:
//
//	<events>/<window> [burst <n>] | unlimited | block
//
// A window is a duration such as 10s, 1m, 24h or 7d, or a unit: 100/s.
func parseRate(args []string) (*Limit, error) {
	limit, rest, err := cutRate(args)
	if err == nil && len(rest) > 0 && limit.Events == 0 && spelling.Rate(rest[0]) == "" {
		return nil, fmt.Errorf("unexpected %q after %s: use %s alone", rest[0], args[0], args[0])
	}
	if err == nil && len(rest) > 0 {
		return nil, fmt.Errorf("unexpected %q after the rate: use %s", rest[0], afterRate(rest[0], limit))
	}
	return limit, err
}

// cutRate parses the rate at the start of args and returns the rest.
func cutRate(args []string) (limit *Limit, rest []string, err error) {
	if len(args) == 0 {
		return nil, nil, errors.New("the rate is missing: use <events>/<window>, such as 100/1m")
	}
	first, rest := args[0], args[1:]
	switch first {
	case "unlimited":
		limit = &Limit{Unlimited: true}
	case "block":
		limit = &Limit{Block: true}
	default:
		if limit, err = parseEventsPerWindow(first); err != nil {
			return nil, nil, cmp.Or(rateMistake(args), err)
		}
	}
	if len(rest) == 0 || rest[0] != "burst" {
		return limit, rest, nil
	}
	if limit.Events == 0 {
		return nil, nil, fmt.Errorf("%s has no burst: use it without `burst`", first)
	}
	if len(rest) == 1 {
		return nil, nil, errors.New("burst has no number: use the number of events that may happen at once, such as burst 200")
	}
	if limit.Burst, err = parseEvents(rest[1]); err != nil {
		return nil, nil, fmt.Errorf("burst: %w", err)
	}
	if limit.Burst == 0 {
		return nil, nil, errors.New("a burst of 0 admits nothing: use 1 or more, or no burst")
	}
	return limit, rest[2:], nil
}

func parseEventsPerWindow(s string) (*Limit, error) {
	events, window, found := strings.Cut(s, "/")
	if !found {
		return nil, fmt.Errorf("%q is not a rate: use <events>/<window> without spaces, such as 100/1m, or "+
			"unlimited, or block", s)
	}
	n, err := parseEvents(events)
	if err == nil && n == 0 {
		err = errors.New("0 events admit nothing: use block to reject every request")
	}
	var w time.Duration
	if err == nil {
		w, err = parseWindow(window)
	}
	if err != nil {
		return nil, fmt.Errorf("rate %q: %w", s, err)
	}
	return &Limit{Events: n, Window: caddy.Duration(w)}, nil
}

// parseEvents parses a number of events from 0 to limiter.MaxEvents, in decimal digits.
func parseEvents(s string) (int64, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number of events: use a whole number such as 100; for a lower rate, "+
			"use a longer window", s)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > limiter.MaxEvents {
		return 0, fmt.Errorf("%s events are too many: use %d or less", s, int64(limiter.MaxEvents))
	}
	return n, nil
}

// parseWindow parses a duration within the bounds of a limiter.Limit. A unit alone is one of it.
func parseWindow(s string) (time.Duration, error) {
	if s == "" {
		return 0, errors.New("the window is missing: use a duration, such as 1m")
	}
	text := s
	if strings.Trim(s[:1], "0123456789.+-") != "" {
		text = "1" + s
	}
	w, err := caddy.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("window %q is not a duration: use a number with its unit (ms, s, m, h or d), such "+
			"as 10s or 1m", s)
	}
	return w, validateWindow(w, s)
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

// String returns l as parseRate reads it.
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

// formatWindow returns w, in whole microseconds, in the largest unit that divides it.
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

func modeLine(d *caddyfile.Dispenser, mode *string) subdirective.Line {
	return subdirective.Word(d, "mode strict | lease", parseMode, mode)
}

func onOutageLine(d *caddyfile.Dispenser, name *string) subdirective.Line {
	return subdirective.Word(d, "on_outage local | open | closed", parseOnOutage, name)
}

func maxOvershootLine(d *caddyfile.Dispenser, fraction **Fraction) subdirective.Line {
	return subdirective.Line{Usage: "max_overshoot <percent>", Min: 1, Max: 1, Parse: func(args []string) error {
		f, err := parsePercent(args[0])
		if err != nil {
			return d.Errf("max_overshoot %q is not a percentage of the limit: use %s", args[0], percentLike(args[0], "1%"))
		}
		*fraction = (*Fraction)(&f)
		return nil
	}}
}

// dryRunLine is a subdirective with a percentage of keys. Default: all.
func dryRunLine(d *caddyfile.Dispenser, fraction *Fraction) subdirective.Line {
	return subdirective.Line{Usage: "dry_run [<percent>]", Max: 1, Parse: func(args []string) error {
		*fraction = 1
		if len(args) == 0 {
			return nil
		}
		f, err := parsePercentOfKeys(d, "dry_run", args[0])
		if err == nil && f == 0 {
			return d.Errf("dry_run 0%% enforces the zone for all keys: use no dry_run")
		}
		*fraction = f
		return err
	}}
}

// parsePercentOfKeys parses the argument of a subdirective that applies to a part of the keys.
func parsePercentOfKeys(d *caddyfile.Dispenser, name, text string) (Fraction, error) {
	f, err := parsePercent(text)
	if err != nil {
		return 0, d.Errf("%s %q is not a percentage of keys: use %s", name, text, percentLike(text, "10%"))
	}
	return Fraction(f), nil
}

// percentLike returns a percentage that a text without % stands for, or else the range with an
// example.
func percentLike(text, example string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && strings.Contains(text, ".") && f <= 1 {
		f *= 100 // a fraction
	}
	if err != nil || !(f > 0 && f <= 100) {
		return "0% to 100%, such as " + example
	}
	return strconv.FormatFloat(f, 'g', 4, 64) + "%"
}

// formatPercent returns a fraction as a percentage.
func formatPercent(fraction float64) string {
	return strconv.FormatFloat(fraction*100, 'g', 10, 64) + "%"
}

// parsePercent parses a percentage from 0% to 100% as a fraction. It rounds once: 0.7% is equal to
// 0.007.
func parsePercent(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(number+"e-2", 64)
	if !percent || err != nil || strings.Trim(number, "0123456789.") != "" || f > 1 {
		return 0, fmt.Errorf("%q is not a percentage", s)
	}
	return f, nil
}
