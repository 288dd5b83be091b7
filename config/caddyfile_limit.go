package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

// This file holds the subdirectives that zones, endpoints, tiers and the global defaults share.

const (
	rateUsage = "<events>/<window> [burst <n>] | unlimited | block"
	costUsage = "cost <n> | <placeholder> [trusted]"
)

func limitLine(limit **Limit) subdirective.Line {
	return subdirective.Value("limit "+rateUsage, 1, subdirective.AnyNumber, limit, func(args []string) (*Limit, error) {
		if *limit != nil {
			return nil, errors.New("the limit is already specified before this block: use it once")
		}
		return parseRate(args)
	}).InWords()
}

func algorithmLine(algorithm **Algorithm) subdirective.Line {
	return subdirective.Value("algorithm <name> [<subwindows>]", 1, 2, algorithm, func(args []string) (*Algorithm, error) {
		if *algorithm != nil {
			return nil, errors.New("the algorithm is already specified before this block: use it once")
		}
		return parseAlgorithm(args)
	}).InWords()
}

func costLine(cost **Cost) subdirective.Line {
	return subdirective.Value(costUsage, 1, 2, cost, parseCost).InWords()
}

func countStatusLine(statuses *Statuses) subdirective.Line {
	return subdirective.Value(countStatusUsage, 1, subdirective.AnyNumber, statuses, parseStatuses).InWords()
}

func onOutageLine(name *string) subdirective.Line {
	return subdirective.Word("on_outage local | open | closed", func(name string) error {
		_, err := parseOnOutage(name)
		return err
	}, name)
}

// dryRunLine returns the subdirective `dry_run` with a percentage of keys. Without a percentage,
// all keys are meant.
func dryRunLine(fraction *Fraction) subdirective.Line {
	return subdirective.Value("dry_run [<percent>]", 0, 1, fraction, func(args []string) (Fraction, error) {
		if len(args) == 0 {
			return 1, nil
		}
		f, err := percentOfKeys("dry_run", args[0])
		if err == nil && f == 0 {
			return 0, errors.New("dry_run 0% enforces the zone for all keys: use no dry_run")
		}
		return f, err
	})
}

// jitterLine returns a subdirective with a percentage, or a fraction as in caddy-ratelimit.
func jitterLine(jitter *Fraction) subdirective.Line {
	return subdirective.Value("jitter <percent>", 1, 1, jitter, func(args []string) (Fraction, error) {
		text, percent := strings.CutSuffix(args[0], "%")
		fraction, notNumber := strconv.ParseFloat(text, 64)
		if !percent && notNumber == nil && fraction >= 0 && fraction <= 1 {
			return Fraction(fraction), nil
		}
		factor := !percent && notNumber == nil && fraction > 1
		fraction, err := parsePercent(args[0])
		if err != nil {
			remedy := percentLike(args[0], "0% to 100%, such as 20%")
			if factor {
				remedy += ", because in caddy-ratelimit it is a factor: up to " + args[0] + " times the wait is added"
			}
			return 0, fmt.Errorf("jitter %q is not a percentage: use %s", args[0], remedy)
		}
		return Fraction(fraction), nil
	})
}

// percentOfKeys parses the argument of a subdirective that applies to a part of the keys.
func percentOfKeys(name, text string) (Fraction, error) {
	f, err := parsePercent(text)
	if err != nil {
		other := "`" + name + "` without it for all keys, or a percentage above 0%, such as 10%"
		return 0, fmt.Errorf("%s %q is not a percentage of keys: use %s", name, text, percentLike(text, other))
	}
	return Fraction(f), nil
}
