package subdirective

import (
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// Text returns a line with one argument, which it stores in s.
func Text(usage string, s *string) Line {
	return Line{Usage: usage, Min: 1, Max: 1, Parse: func(args []string) error {
		*s = args[0]
		return nil
	}}
}

// Word returns a line with one of several words, which it stores in word. check refuses other
// words.
func Word(d *caddyfile.Dispenser, usage string, check func(string) error, word *string) Line {
	return Line{Usage: usage, Min: 1, Max: 1, Parse: func(args []string) error {
		if err := check(args[0]); err != nil {
			return d.WrapErr(err)
		}
		*word = args[0]
		return nil
	}}
}

// List returns a Line.Parse that appends the arguments to l.
func List(l *[]string) func([]string) error {
	return func(args []string) error {
		*l = append(*l, args...)
		return nil
	}
}

// Flag returns a line without arguments that turns on a setting.
func Flag(name string, on *bool) Line {
	return Line{Usage: name, Parse: func([]string) error {
		*on = true
		return nil
	}}
}

// Number returns a line with a whole number from least to most.
func Number(d *caddyfile.Dispenser, name string, least, most int, number *int) Line {
	return Line{Usage: name + " <n>", Min: 1, Max: 1, Parse: func(args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < least || n > most {
			if most == AnyNumber {
				return d.Errf("%s is %q: use a whole number, %d or more", name, args[0], least)
			}
			return d.Errf("%s is %q: use a whole number from %d to %d", name, args[0], least, most)
		}
		*number = n
		return nil
	}}
}

// Duration returns a line with a duration of 0 or more. It may be 0 only if zero is set.
func Duration(d *caddyfile.Dispenser, name string, zero bool, duration *caddy.Duration) Line {
	return Line{Usage: name + " <duration>", Min: 1, Max: 1, Parse: func(args []string) error {
		v, err := caddy.ParseDuration(args[0])
		if err != nil || v < 0 || v == 0 && !zero {
			return d.Errf("%s is %q: use a duration above 0 with its unit, such as 50ms", name, args[0])
		}
		*duration = caddy.Duration(v)
		return nil
	}}
}
