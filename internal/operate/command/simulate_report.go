package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/sim"
)

// print writes the report for people: the sentence that most ask for comes last.
func (r *simulation) print(t *table) {
	for _, log := range r.Logs {
		t.row(log.Name, fmt.Sprintf("%d requests in %d lines", log.Requests, log.Lines), "instants: "+log.Instants)
		if log.Keyless > 0 {
			hint := prefixed(": logs have names of headers as in --key ", headerHint(r.KeyIs))
			t.row("", fmt.Sprintf("%d lines without key are not limited", log.Keyless)+hint)
		}
		if log.Unreadable > 0 {
			t.row("", fmt.Sprintf("%d lines cannot be read", log.Unreadable), fmt.Sprintf("line %d: %s", log.FirstLine, log.First))
		}
		if log.Late > 0 {
			t.row("", fmt.Sprintf("%d requests are out of order by more than a minute", log.Late))
		}
	}
	t.rowIf("made up", r.Traffic)
	if r.Zone != nil {
		r.Zone.print(t)
	}
	t.line("")
	t.row("span", r.Trace.From, r.Trace.To)
	t.row("requests", r.Trace.Requests)
	t.row("keys", r.Trace.Keys, "by "+r.KeyIs)
	t.line("")
	if r.Clients != sim.OpenClients.String() {
		t.line("clients that are rejected: %s", r.Clients)
	}
	t.row("LIMIT", "NOTE", "KEYS REJECTED", "OF ALL", "REQUESTS REJECTED", "OF ALL")
	for _, o := range untilNone(r.Report) {
		mark := ""
		switch {
		case o.InForce:
			mark = "in force"
		case o.Limit == r.Limit:
			mark = "looked at"
		}
		t.row(rate(o.Limit), mark, o.KeysRejected, percent(o.KeysShare), o.RequestsRejected, percent(o.RequestsShare))
	}
	r.printRetries(t)
	if r.Worst != nil {
		t.line("")
		t.line("rejected by minute, at most %d: %s", r.Worst.Rejected, sparkline(r.Minutes))
		t.line("worst minute: %s, %d of %d requests rejected",
			r.Worst.At.Format(time.RFC3339), r.Worst.Rejected, r.Worst.Rejected+r.Worst.Admitted)
	}
	if len(r.Keys) > 0 {
		t.line("")
		t.row("KEY", "REQUESTS", "REJECTED", "FIRST", "LAST", "LONGEST", "LEAST LIMIT")
		for _, k := range r.Keys {
			longest := time.Duration(k.Longest * float64(time.Second)).Round(time.Millisecond)
			t.row(k.Key, k.Requests, k.Rejected, k.First, k.Last, longest, counted("%d", k.Least))
		}
		if n := r.keysRejected(); n > len(r.Keys) {
			t.line("%d of %d rejected keys: use --top for more", len(r.Keys), n)
		}
	}
	if len(r.Algorithms) > 0 {
		t.line("")
		t.row("ALGORITHM", "ADMITTED", "REJECTED", "NOT AS THE LOG", "WORST EXCESS", "BYTES A KEY")
		for _, a := range r.Algorithms {
			t.row(strings.TrimSuffix(fmt.Sprintf("%s %d", a.Name, a.SubWindows), " 0"), a.Admitted, a.Rejected, a.Differs, a.Excess,
				math.Ceil(a.BytesPerKey))
		}
	}
	if r.Fleet != nil {
		r.Fleet.print(t)
	}
	t.line("")
	for _, touch := range r.Touches {
		t.line("%s", touchSentence(touch))
	}
	if r.Recommends != nil {
		t.line("")
		t.line("Recommended, as it rejects %s; for the Caddyfile:", r.rejects())
		t.line("%s", r.Line)
	}
	if r.Recommends == nil && r.Trace.Keys < sim.FewKeys {
		t.line("")
		t.line("No limit is recommended. Of few keys, it would reject the one that needs most: there is none here.")
	}
	if r.Burst != nil {
		t.line("")
		t.line("Keys exceed %s in bursts. At the same rate, this rejects %s:", rate(r.Limit), r.rejects())
		t.line("%s", r.caddyfileLine(*r.Burst))
	}
}

// rejects says how many keys the recommended limit rejects.
func (r *simulation) rejects() string {
	if r.Trace.Keys < sim.FewKeys {
		return fmt.Sprintf("one of %d keys, which needs most", r.Trace.Keys)
	}
	return "at most 0.1 % of the keys"
}

// keysRejected returns how many keys the studied limit rejects.
func (r *simulation) keysRejected() int {
	return r.Studied().KeysRejected
}

// caddyfileLine returns the line of a Caddyfile that puts l in place of the limit in force.
func (r *simulation) caddyfileLine(l sim.Limit) string {
	limit := rate(l)
	if r.Zone == nil {
		return "limit " + limit
	}
	i := slices.IndexFunc(r.Zone.Limits, func(l sim.ZoneLimitOutcome) bool { return l.Studied })
	switch l := &r.Zone.Limits[i]; {
	case l.Missing:
		return "on_missing_key with " + limit
	case l.Endpoint != "" && l.Tier != "":
		return fmt.Sprintf("tier %s %s, in endpoint %s", l.Tier, limit, l.Endpoint)
	case l.Endpoint != "":
		return fmt.Sprintf("endpoint %s %s", l.Endpoint, limit)
	case l.Tier != "":
		return fmt.Sprintf("%s %s, in the tiers of the zone", l.Tier, limit)
	}
	return "limit " + limit
}

// printRetries says what clients that react to rejections have sent again under the studied limit.
func (r *simulation) printRetries(t *table) {
	if o := r.Studied(); o.Retries != nil {
		t.line("sent again under %s: %d requests, %d are served, %d give up", rate(o.Limit), o.Retries.Sent, o.Retries.Served,
			o.Retries.GaveUp)
	}
}

// untilNone returns the curve of r up to the first limit that rejects nothing, or up to r.Limit if
// that is higher.
func untilNone(r *sim.Report) []sim.Outcome {
	for i, o := range r.Curve {
		if o.RequestsRejected == 0 && !slices.ContainsFunc(r.Curve[i+1:], func(o sim.Outcome) bool { return o.Limit == r.Limit }) {
			return r.Curve[:i+1]
		}
	}
	return r.Curve
}

func touchSentence(t sim.Touch) string {
	who := "at most " + percent(t.KeysShare) + " of the keys"
	if t.KeysShare == 0 {
		who = "no key"
	}
	if t.Exact {
		return rate(t.Limit) + " is the least limit that rejects " + who
	}
	return rate(t.Limit) + " is the least of these limits that rejects " + who
}

// rate returns a limit as it is written in a Caddyfile.
func rate(l sim.Limit) string {
	window := time.Duration(math.Round(l.WindowSeconds * float64(time.Second)))
	limit := config.Limit{Events: l.Events, Window: caddy.Duration(window), Burst: l.Burst}
	return limit.String()
}

func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}

// sparkline draws the rejections over time with characters of eight heights.
func sparkline(minutes []sim.Minute) string {
	const width = 60
	columns := make([]int64, min(width, len(minutes)))
	for i, m := range minutes {
		columns[i*len(columns)/len(minutes)] += m.Rejected
	}
	most := max(1, slices.Max(columns))
	heights := []rune(" ▁▂▃▄▅▆▇█")
	var line strings.Builder
	for _, n := range columns {
		line.WriteRune(heights[(n*int64(len(heights)-1)+most-1)/most])
	}
	return line.String()
}
