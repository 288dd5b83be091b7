package subdirective

import (
	"fmt"
	"strconv"

	"github.com/caddyserver/caddy/v2"
)

// Value returns a line with least to most arguments. The line stores in v the value that parse makes of
// them.
func Value[T any](usage string, least, most int, v *T, parse func(args []string) (T, error)) Line {
	return Line{Usage: usage, Min: least, Max: most, Parse: func(args []string) (err error) {
		*v, err = parse(args)
		return err
	}}
}

// InWords returns l with Words set.
func (l Line) InWords() Line {
	l.Words = true
	return l
}

// Text returns a line with one argument, which the line stores in s.
func Text(usage string, s *string) Line {
	return Value(usage, 1, 1, s, func(args []string) (string, error) { return args[0], nil })
}

// Word returns a line with one argument, which the line stores in word. check returns an error for a
// wrong argument.
func Word(usage string, check func(string) error, word *string) Line {
	return Value(usage, 1, 1, word, func(args []string) (string, error) { return args[0], check(args[0]) })
}

// List returns a function for Line.Parse that appends the arguments to l.
func List(l *[]string) func([]string) error {
	return func(args []string) error {
		*l = append(*l, args...)
		return nil
	}
}

// Flag returns a line without arguments that sets on.
func Flag(name string, on *bool) Line {
	return Value(name, 0, 0, on, func([]string) (bool, error) { return true, nil })
}

// Number returns a line with one argument, a whole number from least to most.
func Number(name string, least, most int, number *int) Line {
	return Value(name+" <n>", 1, 1, number, func(args []string) (int, error) {
		n, err := strconv.Atoi(args[0])
		switch {
		case err == nil && n >= least && n <= most:
			return n, nil
		case most == AnyNumber:
			return 0, fmt.Errorf("%s is %q: use a whole number, %d or more", name, args[0], least)
		}
		return 0, fmt.Errorf("%s is %q: use a whole number from %d to %d", name, args[0], least, most)
	})
}

// Duration returns a line with one argument, a duration above 0. It may be 0 if zero is true.
func Duration(name string, zero bool, duration *caddy.Duration) Line {
	return Value(name+" <duration>", 1, 1, duration, func(args []string) (caddy.Duration, error) {
		v, err := caddy.ParseDuration(args[0])
		if err != nil || v < 0 || v == 0 && !zero {
			return 0, fmt.Errorf("%s is %q: use a duration above 0 with its unit, such as 50ms", name, args[0])
		}
		return caddy.Duration(v), nil
	})
}
