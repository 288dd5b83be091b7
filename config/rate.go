package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// ParseLimit parses a rate:
//
//	<events>/<window> [burst <n>] | unlimited | block
//
// A window is a duration such as 10s, 1m, 24h or 7d, or a unit: 100/s.
func ParseLimit(rate string) (*Limit, error) { return parseRate(strings.Fields(rate)) }

// parseRate parses the words of a rate.
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
	if limit.Burst, err = ParseEvents(rest[1]); err != nil {
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
	n, err := ParseEvents(events)
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

// ParseEvents parses a number of events from 0 to limiter.MaxEvents, in decimal digits.
func ParseEvents(s string) (int64, error) {
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

// parseWindow parses a duration within the bounds of a limiter.Limit. A unit alone, such as m,
// stands for 1m.
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

// rateMistake returns an error that says how to spell args, if they are a rate as other programs
// spell it. Otherwise it returns nil.
func rateMistake(args []string) error {
	text := strings.Join(args, " ")
	if m := environment.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%q is no rate when the configuration loads: use {$%s}, which is replaced when the Caddyfile is read",
			text, m[1]+m[2])
	}
	if strings.Contains(args[0], "{") {
		return fmt.Errorf("%q has a placeholder, and a rate cannot have one: use `tier` for limits that differ between keys", text)
	}
	if word := spelling.Nearest(args[0], []string{"unlimited", "block"}); word != "" {
		return fmt.Errorf("%q is not a rate: use %s", args[0], word)
	}
	if word := remedies["rate"][strings.ToLower(args[0])]; word != "" {
		return fmt.Errorf("%q is not a rate: use %s", args[0], word)
	}
	for n := min(len(args), mostRateWords); n > 0; n-- {
		text := strings.Join(args[:n], " ")
		if spelled := spelling.Rate(text); spelled != "" && spelled != text {
			if _, err := parseEventsPerWindow(spelled); err == nil {
				return fmt.Errorf("%q is not a rate: use %s", text, spelled)
			}
		}
	}
	return nil
}

// mostRateWords is how many words a rate has at most in other programs: "rate = 100 requests per 5
// minutes" has 7.
const mostRateWords = 8

// environment matches a variable of the environment, as other settings and programs spell it.
var environment = regexp.MustCompile(`\{env\.(\w+)\}|^\$\{?(\w+)\}?`)

// afterRate returns what to use instead of a word after the rate of limit.
func afterRate(word string, limit *Limit) string {
	lower := strings.ToLower(word)
	number := strings.TrimLeft(lower, "burst=:")
	switch {
	case strings.HasPrefix(lower, "burst") && number != lower && number != "":
		return "`burst " + number + "`"
	case limit.Burst == 0 && strings.Trim(word, "0123456789") == "":
		return "`burst " + word + "` for events at once, or nothing there"
	case lower == "nodelay", strings.HasPrefix(lower, "delay"):
		return "no such word, because requests are never delayed"
	case spelling.Nearest(word, []string{"burst"}) != "":
		return "`burst <n>`"
	case spelling.Rate(word) != "":
		return "another zone for a second limit"
	}
	return "only `burst <n>` there"
}
