package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// carried is how many takes per second a processor carries beside its part of Redis, when most of them ask the store: those of all
// trials that run at the same time are no more.
const carried = 4000

// measureExactness prints how far a fleet is from the exact algorithm, in trials of all combinations that were asked for.
func measureExactness(l *lab) error {
	text := fmt.Sprintf("%d nodes, %g takes per second in each trial. Many trials run at the same time, on keys of their own.\n"+
		"The load is what is asked for as a fraction of what the limit allows the busiest key within the run.", l.nodes, l.rate)
	t := newTable("How exact a fleet decides", text,
		"algorithm", "window", "run", "shape", "load", "takes", "admitted", "exact", "over-admission", "false rejections", "local",
		"store requests per 1000 takes", "p50", "p99", "max")
	var (
		reports  []*report
		outcomes []*outcome
	)
	for _, window := range l.windows {
		r := run{nodes: l.nodes, length: l.lengthFor(window), pace: l.pace, seed: l.seed}
		for _, r.trials = range batches(l.trials(window), l.rate, float64(carried*runtime.NumCPU())) {
			rep, err := r.on(l.cluster)
			if err != nil {
				return err
			}
			for _, o := range rep.outcomes {
				t.row(o.policy.String(), seconds(o.window), seconds(r.length), o.shape.name, percent(o.load, 0), count(o.takes),
					count(o.admitted), count(o.exact), percent(o.overAdmission(), 3), percent(o.falseRejections(), 3),
					percent(o.localShare(), 1), fmt.Sprintf("%.0f", o.perThousand()), milliseconds(o.latency(0.5)),
					milliseconds(o.latency(0.99)), milliseconds(o.latency(1)))
			}
			reports = append(reports, rep)
			outcomes = append(outcomes, rep.outcomes...)
		}
	}
	t.noteTrouble(reports...)
	l.printWorst(outcomes)
	return nil
}

// batches returns trials with so many takes per second each in parts of about the same size, which together have no more than
// most takes per second.
func batches(trials []*trial, rate, most float64) [][]*trial {
	n := math.Ceil(rate * float64(len(trials)) / most)
	return slices.Collect(slices.Chunk(trials, int(math.Ceil(float64(len(trials))/n))))
}

// trials returns a trial of each combination with this window.
func (l *lab) trials(window time.Duration) (all []*trial) {
	for _, p := range l.policies {
		for _, h := range l.shapes {
			for _, load := range l.loads {
				all = append(all, &trial{policy: p, shape: h, rate: l.rate, window: window, load: load})
			}
		}
	}
	return all
}

// A worst is the worst that was found of a policy and a window.
type worst struct {
	over  float64 // at any load
	false float64 // at up to 90 % of the limit, all of these together: a trial alone has too few takes to tell
	local float64 // at up to 90 % of the limit
}

// printWorst prints the worst of all shapes and loads.
func (l *lab) printWorst(outcomes []*outcome) {
	text := "Over-admission is that of the worst trial, at any load. False rejections are those of all trials with up to 90 % of\n" +
		"the limit together, but for traffic that moves, and the local share is the least of them."
	t := newTable("The worst of all shapes and loads", text,
		"algorithm", "window", "over-admission", "bound", "", "false rejections", "goal", "", "local, least")
	for _, p := range l.policies {
		for _, window := range l.windows {
			w := worstOf(outcomes, p, window)
			t.row(p.String(), seconds(window), percent(w.over, 3), percent(p.bound(), 0), met(w.over <= p.bound()),
				percent(w.false, 3), "< 0.1 %", met(w.false < 0.001), percent(w.local, 1))
		}
	}
}

// worstOf returns the worst of the outcomes of p and a window.
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
