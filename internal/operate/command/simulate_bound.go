package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetlimit/fleetlimit/sim"
)

// failBounds are the bounds of --fail-if, where "or" joins them. Empty failBounds are never
// exceeded.
type failBounds []failBound

// A failBound is the highest value that a figure of the studied limit may have.
type failBound struct {
	text    string
	figure  failFigure
	percent bool
	most    float64
}

// A failFigure returns a count and the total of which the count is a share.
type failFigure func(r *sim.Report, studied *sim.Outcome) (n, of float64)

var failFigures = map[string]failFigure{
	"rejected_keys": func(r *sim.Report, o *sim.Outcome) (n, of float64) {
		return float64(o.KeysRejected), float64(r.Trace.Keys)
	},
	"rejected_requests": func(r *sim.Report, o *sim.Outcome) (n, of float64) {
		return float64(o.RequestsRejected), float64(r.Trace.Requests)
	},
	"worst_minute": func(r *sim.Report, _ *sim.Outcome) (n, of float64) {
		if r.Worst == nil {
			return 0, 0
		}
		return float64(r.Worst.Rejected), float64(r.Worst.Rejected + r.Worst.Admitted)
	},
}

// parseFailBounds parses bounds such as "rejected_keys > 0.1% or worst_minute > 100".
func parseFailBounds(text string) (failBounds, error) {
	if text == "" {
		return nil, nil
	}
	var all failBounds
	for _, part := range strings.Split(text, " or ") {
		b, err := parseFailBound(part)
		if err != nil {
			return nil, fmt.Errorf("--fail-if: %q: %w", strings.TrimSpace(part), err)
		}
		all = append(all, b)
	}
	return all, nil
}

func parseFailBound(text string) (failBound, error) {
	name, number, ok := strings.Cut(text, ">")
	if !ok {
		return failBound{}, errors.New("there is no >: use a bound such as rejected_keys > 0.1%")
	}
	figure := failFigures[strings.TrimSpace(name)]
	if figure == nil {
		names := strings.Join(slices.Sorted(maps.Keys(failFigures)), ", ")
		return failBound{}, fmt.Errorf("there is no figure %q: use one of %s", strings.TrimSpace(name), names)
	}
	b := failBound{text: strings.TrimSpace(text), figure: figure}
	digits, percent := strings.CutSuffix(strings.TrimSpace(number), "%")
	most, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	switch {
	case err != nil || !(most >= 0):
		return failBound{}, fmt.Errorf("%q is not a number: use one such as 100, or a percentage such as 0.1%%", strings.TrimSpace(number))
	case percent && most >= 100:
		return failBound{}, fmt.Errorf("%g %% is never exceeded: use less than 100%%", most)
	}
	b.percent, b.most = percent, most
	return b, nil
}

// check returns an error that names the bounds that the limit exceeds, and by what.
func (all failBounds) check(r *sim.Report) error {
	var exceeded []string
	for _, b := range all {
		n, of := b.figure(r, r.Studied())
		switch {
		case b.percent && 100*n > b.most*of:
			exceeded = append(exceeded, fmt.Sprintf("%s (it is %g of %g, %s)", b.text, n, of, percent(n/of)))
		case !b.percent && n > b.most:
			exceeded = append(exceeded, fmt.Sprintf("%s (it is %g)", b.text, n))
		}
	}
	if exceeded == nil {
		return nil
	}
	return fmt.Errorf("%s fails --fail-if: %s", rate(r.Limit), strings.Join(exceeded, " and "))
}
