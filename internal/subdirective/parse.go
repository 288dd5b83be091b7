package subdirective

import (
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// Text returns a Line.Parse that stores the argument in s.
func Text(s *string) func([]string) error {
	return func(args []string) error {
		*s = args[0]
		return nil
	}
}

// List returns a Line.Parse that appends the arguments to l.
func List(l *[]string) func([]string) error {
	return func(args []string) error {
		*l = append(*l, args...)
		return nil
	}
}

// Flag returns a Line.Parse that turns on a setting without arguments.
func Flag(on *bool) func([]string) error {
	return func([]string) error {
		*on = true
		return nil
	}
}

// Number returns a line with a whole number of at least least.
func Number(d *caddyfile.Dispenser, name string, least int, number *int) Line {
	return Line{Usage: name + " <n>", Min: 1, Max: 1, Parse: func(args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < least {
			return d.Errf("%s is %q: say a whole number, %d or more", name, args[0], least)
		}
		*number = n
		return nil
	}}
}

// Duration returns a line with a duration of 0 or more.
func Duration(d *caddyfile.Dispenser, name string, duration *caddy.Duration) Line {
	return durationLine(d, name, duration, func(v caddy.Duration) bool { return v >= 0 },
		"%s %q is not a duration: say one such as 30s")
}

// PositiveDuration returns a line with a duration above 0.
func PositiveDuration(d *caddyfile.Dispenser, name string, duration *caddy.Duration) Line {
	return durationLine(d, name, duration, func(v caddy.Duration) bool { return v > 0 },
		"%s %q is not a duration above 0: say one such as 50ms")
}

func durationLine(
	d *caddyfile.Dispenser, name string, duration *caddy.Duration, valid func(caddy.Duration) bool, problem string,
) Line {
	return Line{Usage: name + " <duration>", Min: 1, Max: 1, Parse: func(args []string) error {
		v, err := caddy.ParseDuration(args[0])
		if err != nil || !valid(caddy.Duration(v)) {
			return d.Errf(problem, name, args[0])
		}
		*duration = caddy.Duration(v)
		return nil
	}}
}
