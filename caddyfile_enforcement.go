package fleetlimit

import (
	"errors"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// modeLine is the subdirective that says how a fleet enforces a limit.
func modeLine(d *caddyfile.Dispenser, mode *string) line {
	return line{usage: "mode strict | lease", min: 1, max: 1, parse: func(args []string) error {
		if err := checkMode(args[0]); err != nil {
			return d.WrapErr(err)
		}
		*mode = args[0]
		return nil
	}}
}

// maxOvershootLine is the subdirective that says by how much a fleet may exceed a limit.
func maxOvershootLine(d *caddyfile.Dispenser, fraction **float64) line {
	return line{usage: "max_overshoot <percent>", min: 1, max: 1, parse: func(args []string) error {
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
