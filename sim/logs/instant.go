package logs

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A clock reads the instants of a log. The first instant determines the form, and all further instants
// must have that form.
type clock struct {
	layout string  // of a text; "" until a text is read
	unit   float64 // unit of a number, in µs; 0 until a number is read

	recorded bool // some line records the instant of a decision, which is used instead of the other instant
}

// layouts are the forms of instants as texts. Those with a time zone come first.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "02/Jan/2006:15:04:05 -0700", time.RFC1123Z, time.RFC1123,
	"2006-01-02 15:04:05.999999999 -0700", "2006/01/02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
}

// units are the units of numbers since the Unix epoch. below is a number that is too large for the
// unit, because it is in the year 5138.
var units = []struct {
	name  string
	below float64
	µs    float64
}{
	{"seconds", 1e11, 1e6}, {"milliseconds", 1e14, 1e3}, {"microseconds", 1e17, 1}, {"nanoseconds", math.Inf(1), 1e-3},
}

// read returns the instant in text.
func (c *clock) read(text []byte) (limiter.Instant, error) {
	if c.layout == "" {
		if n, err := strconv.ParseFloat(string(text), 64); err == nil {
			return c.number(n)
		}
	}
	if c.layout == "" && c.unit == 0 {
		for _, layout := range layouts {
			if _, err := time.Parse(layout, string(text)); err == nil {
				c.layout = layout
				break
			}
		}
	}
	if c.layout == "" {
		return 0, fmt.Errorf("%.40q is not an instant", text)
	}
	t, err := time.Parse(c.layout, string(text))
	if err != nil {
		return 0, fmt.Errorf("%.40q is not an instant as the first one is: %s", text, c.layout)
	}
	return limiter.At(t), nil
}

func (c *clock) number(n float64) (limiter.Instant, error) {
	if !(n > 0) || math.IsInf(n, 1) {
		return 0, fmt.Errorf("%v is not an instant since the Unix epoch", n)
	}
	if c.unit == 0 {
		for _, u := range units {
			if n < u.below {
				c.unit = u.µs
				break
			}
		}
	}
	µs := math.Round(n * c.unit)
	if µs >= 1<<53 {
		return 0, fmt.Errorf("%v is not an instant in the unit of the first one", n)
	}
	return limiter.Instant(µs), nil
}

// String describes the form of the instants that were read.
func (c *clock) String() string {
	const decisions = "those of the recorded decisions"
	switch text := c.written(); {
	case !c.recorded:
		return text
	case text == unknown:
		return decisions
	default:
		return decisions + ", else " + text
	}
}

const unknown = "not known"

func (c *clock) written() string {
	for _, u := range units {
		if c.unit == u.µs {
			return u.name + " since the Unix epoch"
		}
	}
	switch c.layout {
	case "":
		return unknown
	case layouts[6], layouts[7], layouts[8]:
		return c.layout + ", taken as UTC"
	}
	return c.layout
}

// duration returns the duration in text, in µs. text is a number of seconds, or has a unit, as 1.5ms
// has.
func duration(text []byte) (limiter.Instant, error) {
	if n, err := strconv.ParseFloat(string(text), 64); err == nil && n >= 0 && n < 1e9 {
		return limiter.Instant(math.Round(n * 1e6)), nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%.40q is not a duration", text)
	}
	return limiter.Instant(d.Microseconds()), nil
}
