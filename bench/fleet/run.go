package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A run is several trials on one fleet at the same time. A take is made when it is due, even if others
// have not returned: the load does not wait for the fleet.
type run struct {
	trials []*trial
	nodes  int
	length time.Duration
	warm   time.Duration // duration of the warm-up, in which takes count only in the comparison
}

// A result is the result of a run.
type result struct {
	outcomes []*outcome
	late     time.Duration // quantile 0.99 of the delays of takes after their due instants
}

// lead is the time before the start of a run in which the run is prepared.
const lead = 100 * time.Millisecond

// runOn measures r with a fleet of new nodes on c.
func (r *run) runOn(c *cluster) (*result, error) {
	results, err := together(c, []*run{r})
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// together empties c, and measures runs on it at the same time. Each run must have another number of
// nodes.
func together(c *cluster, runs []*run) ([]*result, error) {
	if err := c.flush(); err != nil {
		return nil, err
	}
	results := make([]*result, len(runs))
	var running errgroup.Group
	for i, r := range runs {
		running.Go(func() (err error) {
			results[i], err = r.beside(c)
			return err
		})
	}
	return results, running.Wait()
}

// beside measures r with a fleet of new nodes on c. Other runs may use c at the same time.
func (r *run) beside(c *cluster) (*result, error) {
	of := make([][]arrival, len(r.trials))
	for i, t := range r.trials {
		of[i] = t.arrivals(i, r.nodes, r.length)
	}
	arrivals := merge(of...)
	f, err := newFleet(c, r.nodes, len(r.trials))
	if err != nil {
		return nil, err
	}
	defer f.close()
	start := time.Now().Add(lead)
	windows := make(map[time.Duration]time.Duration)
	for i, t := range r.trials {
		if windows[t.window] == 0 {
			windows[t.window] = windowAt(limiter.At(start), t.window)
		}
		window := windows[t.window]
		if t.limit > 0 { // t.limit is for this window exactly
			window = t.window
		}
		if err := t.prepare(i, window, r.length); err != nil {
			return nil, err
		}
	}
	answers, requests := r.drive(f, arrivals, start)
	res := &result{outcomes: outcomes(r.trials, arrivals, answers, r.warm), late: lateness(answers)}
	for i, o := range res.outcomes {
		o.requests = requests[ruleOf(i)]
	}
	return res, nil
}

// drive makes the takes when they are due. It returns their answers, and the number of requests to the
// store after the warm-up, by rule ID.
func (r *run) drive(f *fleet, arrivals []arrival, start time.Time) (answers []answer, requests []int64) {
	answers = make([]answer, len(arrivals))
	var before []int64
	var takes sync.WaitGroup
	for i := range arrivals {
		a := &arrivals[i]
		due := start.Add(a.due)
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		if before == nil && a.due >= r.warm {
			before = f.requests.read()
		}
		takes.Go(func() { f.nodes[a.node].take(r.trials[a.trial], a, due, &answers[i]) })
	}
	takes.Wait()
	requests = f.requests.read()
	for i := range before {
		requests[i] -= before[i]
	}
	return answers, requests
}

// take makes the take a of the trial t, and stores the answer in to. due is the instant at which the
// take was due.
func (n *node) take(t *trial, a *arrival, due time.Time, to *answer) {
	begin := time.Now()
	takes := []limiter.Take{{Rule: n.ruleIn(t.rule), Key: t.keys[a.key], Cost: 1}}
	ctx := &observed{Context: context.Background()}
	err := n.store.Take(ctx, n.store.At(begin), takes)
	d := &takes[0].Decision
	*to = answer{at: d.At, late: begin.Sub(due), took: time.Since(begin), waited: ctx.waited.Load(), source: d.Source}
	switch {
	case err != nil: // the store did not answer in time, so the verdict is failed
	case d.OK:
		to.verdict = admitted
	default:
		to.verdict = rejected
	}
}

// An observed context notes whether its take waits. A take calls Done only if it waits.
type observed struct {
	context.Context
	waited atomic.Bool
}

func (c *observed) Done() <-chan struct{} {
	c.waited.Store(true)
	return c.Context.Done()
}

// lateness returns the quantile 0.99 of the delays of takes after their due instants.
func lateness(answers []answer) time.Duration {
	late := make([]time.Duration, len(answers))
	for i := range answers {
		late[i] = answers[i].late
	}
	slices.Sort(late)
	return report.Quantile(0.99, late)
}
