package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// carried is the number of takes per second that one processor can make, beside its part of the work of
// Redis, if most takes need the store. All trials of a run together have at most that many per processor.
const carried = 4000

// measureExactness prints how far the decisions of a fleet are from those of the exact algorithm. It
// makes trials of all combinations of the options.
func measureExactness(l *lab) error {
	text := fmt.Sprintf("%d nodes, %g takes per second in each trial. Many trials run at the same time, on keys of their own.\n"+
		"The load is a fraction of what the limit allows the busiest key within the run.", l.nodes, trialRate)
	section("How exact a fleet decides", text,
		"algorithm", "window", "run", "shape", "load", "takes", "admitted", "exact", "over-admission", "false rejections", "local",
		"store requests per 1000 takes", "p50", "p99", "max")
	var (
		results  []*result
		outcomes []*outcome
	)
	for _, window := range l.windows {
		r := &run{nodes: l.nodes, length: l.lengthFor(window)}
		for _, r.trials = range batches(l.trials(window), trialRate, float64(carried*runtime.NumCPU())) {
			res, err := r.runOn(l.cluster)
			if err != nil {
				return err
			}
			for _, o := range res.outcomes {
				report.Row(o.policy, seconds(o.window), seconds(r.length), o.shape.name, percent(o.load, 0), o.takes, o.admitted,
					o.exact, percent(o.overAdmission(), 3), percent(o.falseRejections(), 3), percent(o.localShare(), 1),
					fmt.Sprintf("%.0f", o.perThousand()), o.took(0.5), o.took(0.99), o.took(1))
			}
			results = append(results, res)
			outcomes = append(outcomes, res.outcomes...)
		}
	}
	noteTrouble(results...)
	l.printWorst(outcomes)
	return nil
}

// exactnessOf prints and draws how exact fleets of several sizes decide above the limit.
func (l *lab) exactnessOf(sizes []int, length time.Duration) error {
	text := fmt.Sprintf("Uniform over all nodes, 150 %% of the limit, %s of a window of 60 s.", seconds(length))
	section("How exact fleets of several sizes decide", text,
		"nodes", "algorithm", "takes", "admitted", "exact", "over-admission", "goal", "", "false rejections",
		"store requests per 1000 takes")
	c := newCurves("Over-admission against nodes, at 150 % of the limit", "nodes", "% of what the exact algorithm admits")
	var results []*result
	for _, nodes := range sizes {
		r := &run{nodes: nodes, length: length}
		for _, p := range everyPolicy {
			r.trials = append(r.trials, &trial{policy: p, shape: shapes[0], rate: 500, window: time.Minute, load: 1.5})
		}
		res, err := r.runOn(l.cluster)
		if err != nil {
			return err
		}
		for _, o := range res.outcomes {
			report.Row(nodes, o.policy, o.takes, o.admitted, o.exact, percent(o.overAdmission(), 3), "0 %",
				report.Met(o.overAdmission() == 0), percent(o.falseRejections(), 3), fmt.Sprintf("%.0f", o.perThousand()))
			c.add(o.policy.String(), nodes, 100*o.overAdmission())
		}
		results = append(results, res)
	}
	noteTrouble(results...)
	return c.save(l.plot, "fleet-over-admission.svg")
}

// batches splits trials into batches of about equal size. Each trial makes rate takes per second. A
// batch makes at most as many as most says.
func batches(trials []*trial, rate, most float64) [][]*trial {
	n := math.Ceil(rate * float64(len(trials)) / most)
	return slices.Collect(slices.Chunk(trials, int(math.Ceil(float64(len(trials))/n))))
}

// trials returns a trial of each combination of the options that has this window.
func (l *lab) trials(window time.Duration) (all []*trial) {
	for _, p := range l.policies {
		for _, h := range l.shapes {
			for _, load := range l.loads {
				all = append(all, &trial{policy: p, shape: h, rate: trialRate, window: window, load: load})
			}
		}
	}
	return all
}

// A worst has the worst results of a policy with a window.
type worst struct {
	over  float64 // over-admission at any load
	false float64 // false rejections at up to 90 % of the limit, of all trials together, as one trial has too few takes
	local float64 // local share at up to 90 % of the limit
}

// printWorst prints the worst results of each policy and window.
func (l *lab) printWorst(outcomes []*outcome) {
	text := "Over-admission is that of the worst trial, at any load. False rejections are those of all trials with up to 90 % of\n" +
		"the limit together, without traffic that moves. The local share is the least of them."
	section("The worst of all shapes and loads", text,
		"algorithm", "window", "over-admission", "goal", "", "false rejections", "goal", "", "local, least")
	for _, p := range l.policies {
		for _, window := range l.windows {
			w := worstOf(outcomes, p, window)
			report.Row(p, seconds(window), percent(w.over, 3), "0 %", report.Met(w.over == 0),
				percent(w.false, 3), "< 0.1 %", report.Met(w.false < 0.001), percent(w.local, 1))
		}
	}
}

// worstOf returns the worst results among outcomes, for the policy p and a window.
func worstOf(outcomes []*outcome, p policy, window time.Duration) worst {
	w := worst{local: 1}
	short, takes := 0, 0
	for _, o := range outcomes {
		if o.policy != p || o.window != window {
			continue
		}
		w.over = max(w.over, o.overAdmission())
		if o.load <= 0.9 && o.shape.moves == 0 {
			short, takes = short+o.short, takes+o.takes
			w.local = min(w.local, o.localShare())
		}
	}
	w.false = fraction(short, takes)
	return w
}
