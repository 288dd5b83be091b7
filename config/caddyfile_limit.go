package config

import (
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/subdirective"
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

func costLine(d *caddyfile.Dispenser, cost **Cost) subdirective.Line {
	return subdirective.Line{Usage: costUsage, Min: 1, Max: 2, Parse: func(args []string) (err error) {
		if *cost, err = parseCost(args); err != nil {
			return d.WrapErr(err)
		}
		return nil
	}}
}

func countStatusLine(d *caddyfile.Dispenser, statuses *Statuses) subdirective.Line {
	return subdirective.Line{Usage: countStatusUsage, Min: 1, Max: subdirective.AnyNumber, Parse: func(args []string) (err error) {
		if *statuses, err = parseStatuses(args); err != nil {
			return d.WrapErr(err)
		}
		return nil
	}}
}

func onOutageLine(d *caddyfile.Dispenser, name *string) subdirective.Line {
	return subdirective.Word(d, "on_outage local | open | closed", func(name string) error {
		_, err := parseOnOutage(name)
		return err
	}, name)
}

// dryRunLine is a subdirective with a percentage of keys. Default: all.
func dryRunLine(d *caddyfile.Dispenser, fraction *Fraction) subdirective.Line {
	return subdirective.Line{Usage: "dry_run [<percent>]", Max: 1, Parse: func(args []string) error {
		*fraction = 1
		if len(args) == 0 {
			return nil
		}
		f, err := percentOfKeys(d, "dry_run", args[0])
		if err == nil && f == 0 {
			return d.Errf("dry_run 0%% enforces the zone for all keys: use no dry_run")
		}
		*fraction = f
		return err
	}}
}

// jitterLine is a subdirective with a percentage, or a fraction as in caddy-ratelimit.
func jitterLine(d *caddyfile.Dispenser, jitter *Fraction) subdirective.Line {
	return subdirective.Line{Usage: "jitter <percent>", Min: 1, Max: 1, Parse: func(args []string) (err error) {
		text, percent := strings.CutSuffix(args[0], "%")
		fraction, notNumber := strconv.ParseFloat(text, 64)
		if !percent && notNumber == nil && fraction >= 0 && fraction <= 1 {
			*jitter = Fraction(fraction)
			return nil
		}
		factor := !percent && notNumber == nil && fraction > 1
		if fraction, err = ParsePercent(args[0]); err != nil {
			remedy := percentLike(args[0], "0% to 100%, such as 20%")
			if factor {
				remedy += ", because in caddy-ratelimit it is a factor: up to " + args[0] + " times the wait is added"
			}
			return d.Errf("jitter %q is not a percentage: use %s", args[0], remedy)
		}
		*jitter = Fraction(fraction)
		return nil
	}}
}

// percentOfKeys parses the argument of a subdirective that applies to a part of the keys.
func percentOfKeys(d *caddyfile.Dispenser, name, text string) (Fraction, error) {
	f, err := ParsePercent(text)
	if err != nil {
		other := "`" + name + "` without it for all keys, or a percentage above 0%, such as 10%"
		return 0, d.Errf("%s %q is not a percentage of keys: use %s", name, text, percentLike(text, other))
	}
	return Fraction(f), nil
}
