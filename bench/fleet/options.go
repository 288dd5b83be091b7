package main

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// options are the values of the flags.
type options struct {
	only  []string
	short bool
	plot  string // directory of the figures; "" if no figures are drawn

	caddy string // path of a Caddy with this module
	peer  string // path of the binary of ../peer; "" to leave out its rows

	nodes  int
	delay  time.Duration
	length time.Duration // of a run that measures exactness, ordinary limits or large fleets; 0 if it depends on the window

	// The trials that measure exactness are all combinations of these options.
	shapes   []shape
	policies []policy
	windows  []time.Duration
	loads    []float64
}

const (
	timeout   = 50 * time.Millisecond // for a take
	trialRate = 40.0                  // takes per second in each trial that measures exactness
)

func parseOptions(args []string) (*options, error) {
	o := &options{
		shapes:   shapes,
		policies: slices.Clone(everyPolicy),
		windows:  []time.Duration{time.Second, time.Minute, time.Hour},
		loads:    []float64{0.5, 0.9, 0.99, 1.5, 10},
	}
	nodes := 15
	if o.short = slices.Contains(args, "-short"); o.short {
		nodes, o.length, o.windows, o.loads = 5, time.Second, o.windows[:2], []float64{0.9, 1.5}
	}
	var kinds []limiter.Kind
	f := flag.NewFlagSet("fleet", flag.ContinueOnError)
	f.BoolVar(&o.short, "short", o.short, "only check that everything works: few short runs")
	f.StringVar(&o.plot, "plot", "", "draw the figures into this `directory`")
	f.StringVar(&o.caddy, "caddy", "../bin/caddy", "`path` of a Caddy with this module")
	f.StringVar(&o.peer, "peer", "", "`path` of the binary of ./peer, to measure it too")
	f.IntVar(&o.nodes, "nodes", nodes, "nodes of the runs that measure exactness")
	f.DurationVar(&o.delay, "delay", 1500*time.Microsecond, "how much longer a request to Redis and its reply take together")
	f.DurationVar(&o.length, "length", o.length, "duration of each of these runs, and of those of ordinary limits and of large fleets (default 20 windows, from 20 s to 60 s)")
	f.Func("only", "only these `measurements`: memory, hot, sizes, large, outage, keys, share, latency, typical, exact", list(&o.only, measurementNamed))
	f.Func("shape", "only trials of these `shapes`: uniform, pinned, zipf, bursts, moving", list(&o.shapes, shapeNamed))
	f.Func("algorithm", "only trials of these `algorithms`, and strict ones", list(&kinds, limiter.ParseKind))
	f.Func("window", "only trials with these `windows`, such as 1s,60s", list(&o.windows, time.ParseDuration))
	f.Func("load", "only trials with these loads, in `percent` of the limit", list(&o.loads, parsePercent))
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag: use flags that begin with a hyphen", f.Arg(0))
	}
	if o.nodes < 1 || o.length < 0 || o.delay < 0 {
		return nil, fmt.Errorf("nodes %d, length %v, delay %v: use positive values", o.nodes, o.length, o.delay)
	}
	o.policies = slices.DeleteFunc(o.policies, func(p policy) bool {
		return kinds != nil && !slices.Contains(kinds, p.kind) && p != strict
	})
	return o, nil
}

// lengthFor returns the duration of a run with this window.
func (o *options) lengthFor(window time.Duration) time.Duration {
	if o.length > 0 {
		return o.length
	}
	return min(max(20*window, 20*time.Second), time.Minute)
}

// wants reports whether the measurement called name is to be made.
func (o *options) wants(name string) bool { return o.only == nil || slices.Contains(o.only, name) }

// list returns a function that parses a list that is separated by commas, and stores it in to.
func list[T any](to *[]T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		*to = nil
		for word := range strings.SplitSeq(s, ",") {
			v, err := parse(strings.TrimSpace(word))
			if err != nil {
				return err
			}
			*to = append(*to, v)
		}
		return nil
	}
}

func parsePercent(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err == nil && v < 0 {
		err = fmt.Errorf("%q is below 0: use a percentage", s)
	}
	return v / 100, err
}

func shapeNamed(name string) (shape, error) {
	for _, h := range shapes {
		if h.name == name {
			return h, nil
		}
	}
	return shape{}, fmt.Errorf("there is no shape %q: use uniform, pinned, zipf, bursts or moving", name)
}

func measurementNamed(name string) (string, error) {
	for _, m := range measurements {
		if m.name == name {
			return name, nil
		}
	}
	return "", fmt.Errorf("there is no measurement %q: use memory, hot, sizes, large, outage, keys, share, latency, typical or exact", name)
}
