package fault

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A result is what was observed while a fault lasted, and after it.
type result struct {
	*fault
	timeline
	primaries   []string // the addresses that shards had when the fault was injected
	keys        []tightKey
	samples     []sample // of requests since the injection and, for the keys, before it
	late        time.Duration
	transitions []transition
	before      resources
	after       resources

	// awaited reports that after is what is left when everything that the fault has caused had time to end.
	// Connections that slow replies have made necessary stay open for ten seconds and more, so only the
	// matrix waits after each fault. Otherwise fleet.suffer waits, once.
	awaited bool
}

// resources are the goroutines and connections of all nodes together.
type resources struct{ goroutines, connections int }

// leaks reports whether there are more goroutines or connections than before. The number of goroutines varies
// a little, with the requests for the metrics that tell it. The number of connections varies, too: a node
// opens some more while replies are slow, and replies also are slow when the machine is late.
func (r resources) leaks(before resources) bool {
	return r.goroutines > before.goroutines+2*size || r.connections > before.connections+2*size
}

// A timeline has the instants of a fault.
type timeline struct {
	injected time.Time // an instant just before the injection
	healed   time.Time // the fault has ended, or a replica was promoted
}

// affects reports whether requests to a node about a shard may notice the fault.
func (r *result) affects(node, shard int) bool {
	return r.degrades && (shard == 0 || r.everywhere) && (node == 0 || !r.oneNode)
}

// opened returns when a node opened the breaker of the primary of a shard, or the zero time.
func (r *result) opened(node, shard int) time.Time {
	for _, t := range r.transitions {
		if t.node == node && t.state == "open" && t.primary == r.primaries[shard] {
			return t.at
		}
	}
	return time.Time{}
}

// figures are what the samples of a fault show.
type figures struct {
	requests     int
	failed       int           // requests with neither 200 nor, on the path tight, 429
	slowest      time.Duration // slowest request while no breaker was open
	slowestOpen  time.Duration // slowest request while the breaker was open
	medianOpen   time.Duration // median of the requests that need Redis, while the breaker was open
	opened       [2]time.Duration
	unopened     []string // breakers that have not opened
	others       int      // requests that the fault must not affect
	othersHarmed int      // requests of others that were decided without Redis
	slowestOther time.Duration
	exact        time.Duration  // from the end of the fault to the last request that was not decided exactly
	admitted     map[string]int // events of the keys at their limits
	early        map[string]int // events of admitted whose requests waited in vain before the breaker opened
	local        map[string]int // events of admitted that were admitted without Redis, as the response says
}

// outages returns how many outages of one primary a node may have seen: the fault, and any that a late
// machine took for another one.
func (r *result) outages() (n int) {
	opened := make(map[string]int)
	for _, t := range r.transitions {
		if t.state == "open" {
			name := fmt.Sprint(t.node, t.primary)
			opened[name]++
			n = max(n, opened[name])
		}
	}
	return 1 + n
}

func (r *result) figures() figures {
	f := figures{admitted: make(map[string]int), early: make(map[string]int), local: make(map[string]int)}
	r.readTransitions(&f)
	var whileOpen []time.Duration
	slices.SortFunc(r.samples, func(a, b sample) int { return a.end().Compare(b.end()) })
	for _, s := range r.samples {
		if s.path == tight && s.status == 200 {
			f.admitted[s.key]++
			switch {
			case s.degraded:
				f.local[s.key]++
			case s.took >= timeout:
				f.early[s.key]++
			}
			if s.end().After(r.healed) && f.admitted[s.key] > limit {
				f.exact = s.end().Sub(r.healed)
			}
		}
		if s.begin.Before(r.injected) || r.suspends && s.node == 0 && s.begin.Before(r.healed) {
			continue
		}
		f.requests++
		if s.status != 200 && (s.status != 429 || s.path != tight) {
			f.failed++
		}
		if s.degraded {
			f.exact = max(f.exact, s.end().Sub(r.healed))
		}
		opened := r.opened(s.node, s.shard)
		switch {
		case s.path == control: // the path control shows how busy the machine is
			r.late = max(r.late, s.took)
		case !r.affects(s.node, s.shard):
			f.others++
			f.slowestOther = max(f.slowestOther, s.took)
			if s.degraded {
				f.othersHarmed++
			}
		case !opened.IsZero() && s.begin.After(opened) && s.end().Before(r.healed):
			f.slowestOpen = max(f.slowestOpen, s.took)
			if s.path == strict {
				whileOpen = append(whileOpen, s.took)
			}
		default:
			f.slowest = max(f.slowest, s.took)
		}
	}
	if slices.Sort(whileOpen); len(whileOpen) > 0 {
		f.medianOpen = whileOpen[len(whileOpen)/2]
	}
	return f
}

func (r *result) readTransitions(f *figures) {
	for node := range size {
		for shard := range r.primaries {
			if !r.affects(node, shard) {
				continue
			}
			at := r.opened(node, shard)
			if at.IsZero() && !r.opens {
				continue
			}
			if at.IsZero() {
				f.unopened = append(f.unopened, fmt.Sprintf("node %d to %s", node, r.primaries[shard]))
				continue
			}
			took := at.Sub(r.injected)
			if f.opened[1] == 0 {
				f.opened[0] = took
			}
			f.opened = [2]time.Duration{min(f.opened[0], took), max(f.opened[1], took)}
		}
	}
}

const (
	opensWithin = 200 * time.Millisecond
	exactWithin = 5 * time.Second
	endedWithin = 2 * exactWithin // a fault that lasts longer does not end at all

	// slack is how much later than due something may be seen on a machine that is not busy.
	slack = 25 * time.Millisecond
)

// endsWithin is how long after a fault connections may stay open. A node keeps connections that it does not
// need any more for ten to twenty seconds. It keeps connections to a server that is no longer a primary for
// ten seconds, until it next looks up the primaries.
const endsWithin = 30 * time.Second

// violations returns what a fault has done that it must not do. late are the violations that a late machine
// may cause, because Redis then looks slow or silent to a node.
func (r *result) violations() (wrong, late []string) {
	f := r.figures()
	refuse := func(to *[]string, violated bool, format string, args ...any) {
		if violated {
			*to = append(*to, fmt.Sprintf(format, args...))
		}
	}
	refuse(&wrong, f.failed > 0, "%d requests failed, want none", f.failed)
	refuse(&wrong, f.exact > endedWithin && r.late < timeout, // otherwise Redis looks silent for as long as the machine is late
		"requests were not decided exactly for %v after the end, and longer", f.exact)
	refuse(&wrong, r.awaited && r.after.leaks(r.before), "%+v are left, want %+v", r.after, r.before)

	// What this process notices too late looks slow, and so does what Caddy does too late.
	busy := slack + 3*r.late
	refuse(&late, f.requests < 100, "there were only %d requests: the test is void", f.requests)
	refuse(&late, f.slowest > 2*timeout+busy, // a take waits for two calls at most
		"a request took %v, want at most two timeouts, %v, and %v for a busy machine", f.slowest, 2*timeout, busy)
	refuse(&late, f.slowestOpen > busy,
		"a request took %v while the breaker was open, want at most %v", f.slowestOpen, busy)
	refuse(&late, f.exact > exactWithin,
		"the last request that was not decided exactly came %v after the end, want at most %v", f.exact, exactWithin)
	refuse(&late, f.medianOpen > timeout/2,
		"half of the requests took %v or more while the breaker was open, want that they do not wait", f.medianOpen)
	refuse(&late, f.slowestOther > timeout+busy,
		"a request to another primary took %v, want at most %v", f.slowestOther, timeout+busy)
	refuse(&late, f.othersHarmed > 0, "%d requests to other primaries were degraded, want none", f.othersHarmed)
	refuse(&late, len(f.unopened) > 0, "these breakers did not open: %s", strings.Join(f.unopened, ", "))
	refuse(&late, !r.mayOpen && f.opened[1] > opensWithin+busy,
		"a breaker opened after %v, want at most %v", f.opened[1], opensWithin)

	for _, k := range r.keys {
		local, all := f.local[k.name], f.admitted[k.name]
		most, inOutages := 0, r.outages()*max(outage, r.fault.local())
		if r.affects(0, k.shard) {
			most = r.fault.local()
		}
		refuse(&late, local > most,
			"%d events of %s were admitted without Redis, want at most %d", local, k.name, most)
		refuse(&wrong, local > inOutages,
			"%d events of %s were admitted without Redis, want at most %d in %d outages", local, k.name, inOutages, r.outages())
		shared := limit + f.early[k.name]
		refuse(&late, all > shared+most,
			"%d events of %s were admitted, want at most %d", all, k.name, shared+most)
		refuse(&wrong, all > shared+inOutages,
			"%d events of %s were admitted, want at most %d in %d outages", all, k.name, shared+inOutages, r.outages())
		refuse(&wrong, all < limit,
			"%d events of %s were admitted, want at least the limit, %d", all, k.name, limit)
	}
	return wrong, late
}

// columns are the heads of the rows that results print.
var columns = []string{
	"fault", "failed", "slowest: waiting, breaker open, other primaries", "breaker open after", "exact after",
	"admitted of 24 (without Redis): fresh, half used, used, other", "goroutines", "connections", "machine late",
}

// row returns the figures of a fault.
func (r *result) row(where string) string {
	f := r.figures()
	opened := "-"
	if f.opened[1] > 0 {
		opened = ms(f.opened[0]) + " to " + ms(f.opened[1])
	}
	var admitted []string
	for _, k := range r.keys {
		admitted = append(admitted, fmt.Sprintf("%d (%d)", f.admitted[k.name], f.local[k.name]))
	}
	return "| " + strings.Join([]string{
		where + ": " + r.name, fmt.Sprintf("%d of %d", f.failed, f.requests),
		fmt.Sprintf("%s, %s, %s", ms(f.slowest), ms(f.slowestOpen), ms(f.slowestOther)),
		opened, ms(f.exact), strings.Join(admitted, ", "),
		fmt.Sprintf("%d, %d", r.before.goroutines, r.after.goroutines),
		fmt.Sprintf("%d, %d", r.before.connections, r.after.connections), ms(r.late),
	}, " | ") + " |"
}

func ms(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%d ms", cmp.Or(d.Round(time.Millisecond), time.Millisecond).Milliseconds())
}

// history returns what happened, in order.
func (r *result) history() string {
	type event struct {
		at   time.Time
		what string
	}
	events := []event{{r.injected, "the fault is injected"}, {r.healed, "it has ended"}}
	for _, t := range r.transitions {
		what := fmt.Sprintf("node %d: the breaker of %s is %s %s", t.node, t.primary, t.state, t.reason)
		events = append(events, event{t.at, what})
	}
	for _, s := range r.samples {
		failed := s.status != 200 && (s.status != 429 || s.path != tight)
		told := s.path == tight && (s.status == 200 || s.degraded)
		if s.begin.After(r.injected) && (failed || told || s.took >= timeout) {
			what := fmt.Sprintf("node %d: %s %s: %d, degraded: %v, after %v",
				s.node, s.path, s.key, s.status, s.degraded, s.took)
			if s.err != nil {
				what += ": " + s.err.Error()
			}
			events = append(events, event{s.begin, what})
		}
	}
	slices.SortFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%8.1f ms  %s\n", float64(e.at.Sub(r.injected).Microseconds())/1000, e.what)
	}
	return b.String()
}
