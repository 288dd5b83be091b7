package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// A simulateLimits has the limits of --limit.
type simulateLimits struct {
	rates []limiter.Limit
	auto  bool // also limits around the one in force
}

// simulatedLimits parses --limit.
func simulatedLimits(f *simulateFlags) (l simulateLimits, err error) {
	if f.limit == "" {
		return l, nil
	}
	for _, rate := range strings.Split(f.limit, ",") {
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

// candidates returns the limits to try beside the one in force. It returns nil, with which a study
// tries limits around the one in force, if there are no others.
func (l *simulateLimits) candidates(inForce limiter.Limit, others []limiter.Limit) []limiter.Limit {
	switch {
	case len(others) == 0:
		return nil
	case l.auto:
		return append(slices.Clone(others), sim.Ladder(inForce)...)
	}
	return others
}

// shortest returns the shortest window of the limits.
func (l *simulateLimits) shortest() time.Duration {
	return slices.MinFunc(l.rates, func(a, b limiter.Limit) int { return cmp.Compare(a.Window, b.Window) }).Window
}

// simulateOptions returns the options of a study without a zone.
func simulateOptions(f *simulateFlags, l *simulateLimits) (sim.Options, error) {
	switch {
	case len(l.rates) == 0 && l.auto:
		return sim.Options{}, errors.New("--limit: auto is around another limit: use one before it, such as 100/1m,auto")
	case len(l.rates) == 0:
		return sim.Options{}, errors.New("there is no limit: use --limit, such as --limit 100/1m, or --config with --zone")
	}
	algorithm, err := simulatedAlgorithm(f.algorithm)
	if err != nil {
		return sim.Options{}, fmt.Errorf("--algorithm: %w", err)
	}
	rule := limiter.Rule{Algorithm: algorithm, Limit: l.rates[0]}
	return completeOptions(f, sim.Options{Rule: rule, Candidates: l.candidates(rule.Limit, l.rates[1:])})
}

// completeOptions adds the options that do not depend on limits.
func completeOptions(f *simulateFlags, o sim.Options) (_ sim.Options, err error) {
	switch f.algorithms {
	case "":
	case "all":
		o.Algorithms = sim.AllAlgorithms()
	default:
		for _, name := range strings.Split(f.algorithms, ",") {
			a, err := simulatedAlgorithm(strings.TrimSpace(name))
			if err != nil {
				return o, fmt.Errorf("--algorithms: %w, or all", err)
			}
			o.Algorithms = append(o.Algorithms, a)
		}
	}
	o.SuggestBurst = true
	if o.Clients, err = sim.ParseClients(f.clients); err != nil {
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

// simulateSpan returns the instants of --from and --to. An instant is 0 if its flag is not used.
func simulateSpan(f *simulateFlags) (from, to limiter.Instant, err error) {
	if from, err = simulatedInstant("from", f.from); err == nil {
		to, err = simulatedInstant("to", f.to)
	}
	return from, to, err
}

// simulatedInstant parses the instant of a flag. It returns 0 if text is empty.
func simulatedInstant(flag, text string) (limiter.Instant, error) {
	if text == "" {
		return 0, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("--%s: %q is not an instant: use one such as 2026-01-31T12:00:00Z", flag, text)
	}
	return limiter.At(t), nil
}
