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

// options are what the flags say.
type options struct {
	only  []string
	short bool
	plot  string // directory of the figures; empty: none are drawn

	nodes   int
	delay   time.Duration
	timeout time.Duration // of a take
	length  time.Duration // of a run that tells how exact decisions are; 0: as long as the window asks for
	rate    float64       // takes per second of each of its trials
	pace    pace
	seed    uint64

	// What it has trials of.
	shapes   []shape
	policies []policy
	windows  []time.Duration
	loads    []float64
}

// everyPolicy are the policies of the trials that tell how exact decisions are.
func everyPolicy(overshoots []float64) (all []policy) {
	for kind := limiter.TokenBucket; kind <= limiter.FixedWindow; kind++ {
		for _, overshoot := range overshoots {
			all = append(all, policy{kind: kind, overshoot: overshoot})
		}
	}
	return append(all, strict)
}

func parseOptions(args []string) (*options, error) {
	o := &options{
		shapes:  shapes,
		windows: []time.Duration{time.Second, time.Minute, time.Hour},
		loads:   []float64{0.5, 0.9, 0.99, 1.5, 10},
		pace:    poisson,
	}
	kinds, overshoots := []limiter.Kind(nil), []float64{0, 0.01, 0.05}
	strictOnly := false
	f := flag.NewFlagSet("fleet", flag.ContinueOnError)
	f.BoolVar(&o.short, "short", false, "only show that everything works: few short runs")
	f.StringVar(&o.plot, "plot", "", "draw the figures into this `directory`")
	f.IntVar(&o.nodes, "nodes", 15, "nodes of the runs that tell how exact decisions are")
	f.DurationVar(&o.delay, "delay", 1500*time.Microsecond, "how much longer a request to Redis and its answer take together")
	f.DurationVar(&o.timeout, "timeout", 50*time.Millisecond, "how long a take waits for Redis")
	f.DurationVar(&o.length, "length", 0, "duration of each of these runs (default 20 windows, from 20 s to 60 s)")
	f.Float64Var(&o.rate, "rate", 40, "takes per second of each of their trials, of all nodes together")
	f.Uint64Var(&o.seed, "seed", 1, "of the arrivals")
	f.Func("only", "make only these `measurements`: memory, hot, sizes, keys, share, latency, exact", list(&o.only, measurementNamed))
	f.Func("arrivals", "`poisson` or regular", func(s string) error { return parsePace(s, &o.pace) })
	f.Func("shape", "trials of these `shapes` only: uniform, pinned, zipf, bursts, moving", list(&o.shapes, shapeNamed))
	f.Func("algorithm", "trials of these `algorithms` only", list(&kinds, limiter.ParseKind))
	f.BoolVar(&strictOnly, "strict", false, "trials without leases only")
	f.Func("overshoot", "trials with these max_overshoots only, in `percent`", list(&overshoots, parsePercent))
	f.Func("window", "trials with these `windows` only, such as 1s,60s", list(&o.windows, time.ParseDuration))
	f.Func("load", "trials with these loads only, in `percent` of the limit", list(&o.loads, parsePercent))
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag: begin it with a hyphen", f.Arg(0))
	}
	if o.nodes < 1 || o.rate <= 0 || o.length < 0 || o.delay < 0 {
		return nil, fmt.Errorf("nodes %d, rate %g, length %v, delay %v: want more than none", o.nodes, o.rate, o.length, o.delay)
	}
	if strictOnly {
		overshoots = nil
	}
	o.policies = slices.DeleteFunc(everyPolicy(overshoots), func(p policy) bool {
		return kinds != nil && !slices.Contains(kinds, p.kind) && p != strict
	})
	if o.short {
		said := make(map[string]bool)
		f.Visit(func(f *flag.Flag) { said[f.Name] = true })
		o.shorten(said)
	}
	return o, nil
}

// shorten leaves what takes a few seconds, but for what flags have said.
func (o *options) shorten(said map[string]bool) {
	if !said["nodes"] {
		o.nodes = 5
	}
	if !said["length"] {
		o.length = time.Second
	}
	if !said["window"] {
		o.windows = []time.Duration{time.Second, time.Minute}
	}
	if !said["load"] {
		o.loads = []float64{0.9, 1.5}
	}
	if !said["overshoot"] {
		o.policies = slices.DeleteFunc(o.policies, func(p policy) bool { return !p.strict && p.overshoot != 0.01 })
	}
}

// lengthFor returns how long a run with this window lasts.
func (o *options) lengthFor(window time.Duration) time.Duration {
	if o.length > 0 {
		return o.length
	}
	return min(max(20*window, 20*time.Second), time.Minute)
}

// wants reports whether a measurement is to be made.
func (o *options) wants(name string) bool { return o.only == nil || slices.Contains(o.only, name) }

// list returns a function that sets to to what a list with commas says.
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
		err = fmt.Errorf("%q is below 0", s)
	}
	return v / 100, err
}

func parsePace(s string, to *pace) error {
	switch s {
	case "poisson":
		*to = poisson
	case "regular":
		*to = regular
	default:
		return fmt.Errorf("%q is no kind of arrivals: want poisson or regular", s)
	}
	return nil
}

func shapeNamed(name string) (shape, error) {
	for _, h := range shapes {
		if h.name == name {
			return h, nil
		}
	}
	return shape{}, fmt.Errorf("there is no shape %q", name)
}

func measurementNamed(name string) (string, error) {
	for _, m := range measurements {
		if m.name == name {
			return name, nil
		}
	}
	return "", fmt.Errorf("there is no measurement %q", name)
}
