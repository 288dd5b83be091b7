package traffic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parse parses options, such as "flash rate=50/s for=1h keys=1000 skew=1.1 seed=1". The defaults are
// 20/s for an hour, 1000 keys and a skew of 1.1. seed is the default of the seed.
func Parse(text string, seed uint64) (*Options, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, fmt.Errorf("there is no shape: use one of %s", strings.Join(shapes[:], ", "))
	}
	shape := slices.Index(shapes[:], words[0])
	if shape < 0 {
		return nil, fmt.Errorf("%q is no shape of traffic: use one of %s", words[0], strings.Join(shapes[:], ", "))
	}
	o := &Options{Shape: Shape(shape), Rate: 20, For: time.Hour, Keys: 1000, Skew: 1.1, Seed: seed}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		if err := o.set(name, value); err != nil {
			return nil, err
		}
	}
	if o.Rate*o.For.Seconds() > maxRequests {
		return nil, fmt.Errorf("%s makes more than a billion requests: use a lower rate, or a shorter time", o)
	}
	return o, nil
}

// set sets an option.
func (o *Options) set(name, value string) (err error) {
	ok := false
	switch name {
	case "rate":
		o.Rate, err = strconv.ParseFloat(strings.TrimSuffix(value, "/s"), 64)
		ok = o.Rate > 0 && o.Rate <= maxRate
	case "for":
		o.For, err = time.ParseDuration(value)
		ok = o.For >= time.Second && o.For <= maxFor
	case "keys":
		o.Keys, err = strconv.Atoi(value)
		ok = o.Keys >= 1 && o.Keys <= maxKeys
	case "skew":
		o.Skew, err = strconv.ParseFloat(value, 64)
		ok = o.Skew > 1 && o.Skew <= 10
	case "seed":
		o.Seed, err = strconv.ParseUint(value, 10, 64)
		ok = true
	default:
		return fmt.Errorf("traffic has no %q: use rate, for, keys, skew or seed, such as rate=50/s", name)
	}
	if err != nil || !ok {
		return fmt.Errorf("%s=%s is not possible: use %s", name, value, possible[name])
	}
	return nil
}

var possible = map[string]string{
	"rate": "requests a second, such as 50/s, up to 1000000", "for": "a duration such as 24h, from 1s to a year",
	"keys": "1 to 10000000", "skew": "a number above 1, up to 10, such as 1.1", "seed": "a whole number",
}
