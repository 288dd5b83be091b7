package fleetlimit

import (
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// This file holds the subdirectives that zones, endpoints and the global defaults have in common.

const (
	rateUsage = "<events>/<window> [burst <n>] | unlimited | block"
	costUsage = "cost <n> | <placeholder> [trusted]"
)

// limitLine is the subdirective that says a rate.
func limitLine(d *caddyfile.Dispenser, limit **Limit) line {
	return line{usage: "limit " + rateUsage, min: 1, max: anyNumber, parse: func(args []string) (err error) {
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
func algorithmLine(d *caddyfile.Dispenser, algorithm **Algorithm) line {
	return line{usage: "algorithm <name> [<subwindows>]", min: 1, max: 2, parse: func(args []string) (err error) {
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
func costLine(d *caddyfile.Dispenser, cost **Cost) line {
	return line{usage: costUsage, min: 1, max: 2, parse: func(args []string) (err error) {
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
	case clientWritten(placeholder):
		return false, d.Errf("clients write the value of %s: add `trusted` if something in front of this handler "+
			"guarantees it", placeholder)
	}
	return false, nil
}

// isPlaceholder reports whether s is one placeholder and nothing else.
func isPlaceholder(s string) bool {
	return len(s) > 2 && s[0] == '{' && s[len(s)-1] == '}' && !strings.ContainsAny(s[1:len(s)-1], "{}")
}
