package traffic

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/sim"
)

// made returns the requests of the options in text, and their keys.
func made(t *testing.T, text string) ([]sim.Arrival, *sim.Keys) {
	t.Helper()
	o, err := Parse(text, 1)
	if err != nil {
		t.Fatal(err)
	}
	var requests []sim.Arrival
	keys := new(sim.Keys)
	o.Make(keys, func(r sim.Arrival) { requests = append(requests, r) })
	if !slices.IsSortedFunc(requests, func(a, b sim.Arrival) int { return int(a.At - b.At) }) {
		t.Errorf("%s: the requests are out of order", text)
	}
	again, err := Parse(o.String(), 9)
	if err != nil || *again != *o {
		t.Errorf("%q is parsed as %v, %v: want the same options", o, again, err)
	}
	return requests, keys
}

// share returns the fraction of the requests that come between two fractions of the time.
func share(requests []sim.Arrival, seconds, from, to float64) float64 {
	n := 0
	for _, r := range requests {
		if part := float64(r.At-begin) / 1e6 / seconds; part >= from && part < to {
			n++
		}
	}
	return float64(n) / float64(len(requests))
}

func TestShapes(t *testing.T) {
	near := func(what string, got, want, within float64) {
		t.Helper()
		if got < want-within || got > want+within {
			t.Errorf("%s = %.4f, want %v within %v", what, got, want, within)
		}
	}
	r, keys := made(t, "poisson rate=20/s for=1000s keys=50 skew=1.2")
	near("requests of poisson", float64(len(r)), 20_000, 600)
	near("poisson, second half", share(r, 1000, 0.5, 1), 0.5, 0.02)
	first := 0
	for _, r := range r {
		if keys.Name(r.Key) == "key-0" {
			first++
		}
		if keys.Name(r.Key) == "key-50" {
			t.Fatal("there are 51 keys")
		}
	}
	near("part of the first key", float64(first)/float64(len(r)), 0.30, 0.03)

	r, _ = made(t, "daily rate=1/s for=24h")
	near("daily, around 16 o'clock", share(r, 86_400, 15.0/24, 17.0/24), 2.0/24*1.8, 0.01)
	near("daily, around 4 o'clock", share(r, 86_400, 3.0/24, 5.0/24), 2.0/24*0.2, 0.01)

	r, _ = made(t, "flash rate=20/s for=1000s")
	near("flash, first half", share(r, 1000, 0, 0.5), 0.394, 0.02) // 10000 of 10000 + 10000 + 9 * 0.03 * 20000
	near("flash, at its beginning", share(r, 1000, 0.5, 0.501), 0.0078, 0.002)

	r, keys = made(t, "attack rate=20/s for=1000s")
	of := 0
	for _, r := range r {
		if keys.Name(r.Key) == attacker {
			of++
		}
	}
	near("part of the attacker", float64(of)/float64(len(r)), 1.0/3, 0.02) // 5 * 0.1 of 1 + 5 * 0.1

	r, _ = made(t, "storm rate=20/s for=1000s")
	near("storm, in the outage", share(r, 1000, 0.5, 0.56), 0.3/1.24, 0.02)

	on, keys := made(t, "onoff rate=50/s for=100s keys=5")
	for k := range sim.Key(5) {
		var stretches []int
		for _, r := range on {
			if r.Key == k {
				stretches = append(stretches, int(r.At-begin)/10_000_000)
			}
		}
		if n := len(slices.Compact(stretches)); n > 9 {
			t.Errorf("%s sends in %d of 10 stretches, want fewer", keys.Name(k), n)
		}
	}
}

// Equal texts make equal requests. Another seed makes other requests.
func TestSeed(t *testing.T) {
	a, _ := made(t, "storm for=300s seed=3")
	b, _ := made(t, "storm for=300s seed=3")
	c, _ := made(t, "storm for=300s seed=4")
	if !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Errorf("equal seeds make %d and %d requests, another one %d: want the same, and others", len(a), len(b), len(c))
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "there is no shape: use one of poisson, onoff",
		"steady":                   `"steady" is no shape of traffic: use one of`,
		"poisson rate=0":           "rate=0 is not possible: use requests a second, such as 50/s",
		"poisson rate=NaN":         "rate=NaN is not possible",
		"poisson for=forever":      "for=forever is not possible: use a duration such as 24h",
		"poisson keys=0":           "keys=0 is not possible: use 1 to 10000000",
		"poisson skew=1":           "skew=1 is not possible: use a number above 1",
		"poisson seed=x":           "seed=x is not possible: use a whole number",
		"poisson speed=1":          `traffic has no "speed": use rate, for, keys, skew or seed`,
		"poisson rate=1e6 for=24h": "makes more than a billion requests: use a lower rate",
	} {
		if _, err := Parse(text, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %s", text, err, want)
		}
	}
}
