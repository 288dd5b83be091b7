package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// A simulateLimits is what --limit says.
type simulateLimits struct {
	rates []limiter.Limit
	auto  bool // and limits around the one in force
}

// simulatedLimits parses --limit.
func simulatedLimits(f *pflag.FlagSet) (l simulateLimits, err error) {
	text, _ := f.GetString("limit")
	if text == "" {
		return l, nil
	}
	for _, rate := range strings.Split(text, ",") {
		if strings.TrimSpace(rate) == "auto" {
			l.auto = true
			continue
		}
		limit, err := config.ParseLimit(rate)
		switch {
		case err != nil:
			return l, fmt.Errorf("--limit: %w", err)
		case limit.Unlimited || limit.Block:
			return l, fmt.Errorf("--limit: %s rejects nobody or all: use a rate such as 100/1m", rate)
		}
		l.rates = append(l.rates, limit.Compile())
	}
	return l, nil
}

// candidates returns what to try beside the limit in force; nil: limits around it.
func (l *simulateLimits) candidates(inForce limiter.Limit, others []limiter.Limit) []limiter.Limit {
	switch {
	case len(others) == 0:
		return nil
	case l.auto:
		return append(slices.Clone(others), sim.Ladder(inForce)...)
	}
	return others
}

// shortest returns the shortest window.
func (l *simulateLimits) shortest() time.Duration {
	return slices.MinFunc(l.rates, func(a, b limiter.Limit) int { return cmp.Compare(a.Window, b.Window) }).Window
}

// simulateOptions returns what to try without a zone.
func simulateOptions(f *pflag.FlagSet, l *simulateLimits) (sim.Options, error) {
	switch {
	case len(l.rates) == 0 && l.auto:
		return sim.Options{}, errors.New("--limit: auto is around another limit: use one before it, such as 100/1m,auto")
	case len(l.rates) == 0:
		return sim.Options{}, errors.New("there is no limit: use --limit, such as --limit 100/1m, or --config with --zone")
	}
	name, _ := f.GetString("algorithm")
	algorithm, err := simulatedAlgorithm(name)
	if err != nil {
		return sim.Options{}, fmt.Errorf("--algorithm: %w", err)
	}
	rule := limiter.Rule{Algorithm: algorithm, Limit: l.rates[0]}
	return completeOptions(f, sim.Options{Rule: rule, Candidates: l.candidates(rule.Limit, l.rates[1:])})
}

// completeOptions adds what does not depend on limits.
func completeOptions(f *pflag.FlagSet, o sim.Options) (_ sim.Options, err error) {
	names, _ := f.GetString("algorithms")
	switch names {
	case "":
	case "all":
		o.Algorithms = sim.AllAlgorithms()
	default:
		for _, name := range strings.Split(names, ",") {
			a, err := simulatedAlgorithm(strings.TrimSpace(name))
			if err != nil {
				return o, fmt.Errorf("--algorithms: %w, or all", err)
			}
			o.Algorithms = append(o.Algorithms, a)
		}
	}
	o.SuggestBurst = true
	clients, _ := f.GetString("clients")
	if o.Clients, err = sim.ParseClients(clients); err != nil {
		return o, fmt.Errorf("--clients: %w", err)
	}
	return o, nil
}

func simulatedAlgorithm(name string) (limiter.Algorithm, error) {
	settings, err := config.ParseAlgorithm(name)
	if err != nil {
		return limiter.Algorithm{}, err
	}
	return settings.Compile()
}

// simulateSpan returns the instants of --from and --to, 0 for those that are not there.
func simulateSpan(f *pflag.FlagSet) (from, to limiter.Instant, err error) {
	for name, at := range map[string]*limiter.Instant{"from": &from, "to": &to} {
		text, _ := f.GetString(name)
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return 0, 0, fmt.Errorf("--%s: %q is not an instant: use one such as 2026-01-31T12:00:00Z", name, text)
		}
		*at = limiter.At(t)
	}
	return from, to, nil
}
