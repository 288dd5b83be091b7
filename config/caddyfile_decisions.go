package config

import (
	"fmt"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

// parseDecisions parses where decisions are recorded, and how many.
func (a *App) parseDecisions(d *caddyfile.Dispenser, args []string) error {
	l := &DecisionLog{To: args, Place: placeOf(d)}
	a.Decisions = l
	return subdirective.Block{Of: "decisions", Optional: true, Remedies: remedies["block decisions"], Lines: map[string]subdirective.Line{
		"admitted": shareLine("admitted", "1%", &l.Admitted),
		"rejected": shareLine("rejected", "100%", &l.Rejected),
		"keep":     subdirective.Duration("keep", false, &l.Keep),
	}}.Parse(d)
}

// shareLine returns a subdirective with a percentage of decisions.
func shareLine(name, example string, share **Fraction) subdirective.Line {
	return subdirective.Value(name+" <percent>", 1, 1, share, func(args []string) (*Fraction, error) {
		f, err := parsePercent(args[0])
		if err != nil {
			return nil, fmt.Errorf("%s %q is not a percentage of decisions: use %s", name, args[0],
				percentLike(args[0], "0% to 100%, such as "+example))
		}
		return (*Fraction)(&f), nil
	})
}
