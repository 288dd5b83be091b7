package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/operate/replay"
	"github.com/fleetlimit/fleetlimit/sim"
)

// A zoneRun replays the requests that a zone of a configuration reads.
type zoneRun struct {
	name   string
	reader *replay.Reader
	limits []sim.ZoneLimit
	replay *sim.Decider
	passed []sim.Arrival // requests that the study has taken, and the fleets have not
}

// A zoneReport is what the limits of a zone do, and what became of other requests.
type zoneReport struct {
	*sim.ZoneReport
	Others replay.Summary `json:"other_requests"`
}

// zoneFlags are the flags that need --zone. withoutZone are the flags that --zone excludes: the
// zone has an algorithm, a key and a cost, and made-up traffic has nothing that a zone could read.
var (
	zoneFlags   = []string{"config", "endpoint", "tier", "recorded", "field"}
	withoutZone = []string{"algorithm", "key", "cost", "traffic"}
)

func checkZoneFlags(f *simulateFlags) error {
	for _, name := range zoneFlags {
		if f.Changed(name) {
			return fmt.Errorf("--%s is about a zone: use it with --zone and its name", name)
		}
	}
	return nil
}

// newZoneRun loads a zone. The study of run begins when the limit to study is known.
func newZoneRun(f *simulateFlags, run *simulationRun) (*zoneRun, error) {
	for _, other := range withoutZone {
		if f.Changed(other) {
			return nil, fmt.Errorf("--%s does not go with --zone: use it with --limit, and without --zone", other)
		}
	}
	options := replay.Options{Recorded: f.recorded, Fields: make(map[string]string)}
	for _, field := range f.fields {
		placeholder, path, ok := strings.Cut(field, "=")
		if !ok || path == "" {
			return nil, fmt.Errorf("--field: %q has no field: use one such as http.auth.user.tier=tier", field)
		}
		options.Fields[placeholder] = path
	}
	text, err := loadConfig(f.FlagSet)
	if err != nil {
		return nil, err
	}
	z := &zoneRun{name: f.zone}
	if z.reader, err = replay.Load(text, f.zone, options); err != nil {
		return nil, err
	}
	z.limits = z.reader.Limits()
	chosen, err := z.choose(f)
	if err != nil {
		return nil, err
	}
	z.replay = sim.NewZone(z.limits, chosen, func(limit int) (func(sim.Arrival), error) { return z.study(f, run, limit) })
	_, err = completeOptions(f, sim.Options{})
	return z, err
}

// choose returns the number of the limit that --endpoint and --tier choose, or -1 without these
// flags.
func (z *zoneRun) choose(f *simulateFlags) (int, error) {
	if !f.Changed("endpoint") && !f.Changed("tier") {
		return -1, nil
	}
	i := slices.IndexFunc(z.limits, func(l sim.ZoneLimit) bool { return l.Endpoint == f.endpoint && l.Tier == f.tier && !l.Missing })
	if i < 0 {
		var all []string
		for _, l := range z.limits {
			all = append(all, cmp.Or(whereFlags(&l), "neither of both"))
		}
		return 0, fmt.Errorf("zone %q has no limit of its own there: use %s", z.name, strings.Join(all, ", or "))
	}
	return i, nil
}

// whereFlags returns the flags that choose a limit.
func whereFlags(l *sim.ZoneLimit) string {
	var flags []string
	if l.Endpoint != "" {
		flags = append(flags, fmt.Sprintf("--endpoint %q", l.Endpoint))
	}
	if l.Tier != "" {
		flags = append(flags, "--tier "+l.Tier)
	}
	return strings.Join(flags, " ")
}

// study begins the study of a limit.
func (z *zoneRun) study(f *simulateFlags, run *simulationRun, limit int) (func(sim.Arrival), error) {
	l := &z.limits[limit]
	if l.Rule == nil {
		return nil, errors.New("a limit that blocks rejects all: use --endpoint or --tier of a limit with a rate")
	}
	o, err := completeOptions(f, sim.Options{
		InForce: true, Rule: *l.Rule, Candidates: run.limits.candidates(l.Rule.Limit, run.limits.rates),
	})
	if err != nil {
		return nil, err
	}
	if err := run.begin(f, o); err != nil {
		return nil, err
	}
	return func(r sim.Arrival) {
		run.study.Add(r)
		z.passed = append(z.passed, r)
	}, nil
}

// pass returns the requests that the study has taken since the last call. They are valid until more
// requests are added.
func (z *zoneRun) pass() []sim.Arrival {
	passed := z.passed
	z.passed = z.passed[:0]
	return passed
}

// shortest returns the shortest window of the limits of the zone.
func (z *zoneRun) shortest() time.Duration {
	shortest := time.Duration(1<<63 - 1)
	for _, l := range z.limits {
		if l.Rule != nil {
			shortest = min(shortest, l.Rule.Limit.Window)
		}
	}
	return shortest
}

func (z *zoneRun) keyName(keys *sim.Keys, k sim.Key) string { return z.reader.KeyName(keys.Name(k)) }

func (z *zoneRun) report(top int, keys *sim.Keys) *zoneReport {
	name := func(k sim.Key) string { return z.keyName(keys, k) }
	return &zoneReport{z.replay.Report(z.name, top, name), z.reader.Summary}
}

// print writes what the limits of the zone do.
func (r *zoneReport) print(t *table) {
	t.line("")
	t.line("zone %s, as it is configured", printable(r.Zone))
	t.row("ENDPOINT", "TIER", "LIMIT", "NOTE", "REQUESTS", "REJECTED", "KEYS", "REJECTED")
	for i := range r.Limits {
		l := &r.Limits[i]
		mark := ""
		if l.Studied {
			mark = "looked at below"
		}
		tier := l.Tier
		if l.Missing {
			tier = "(no key)"
		}
		t.row(printable(l.Endpoint), printable(tier), l.Limit, mark, l.Requests, l.RequestsRejected, l.Keys, l.KeysRejected)
	}
	for _, other := range []struct {
		n    int64
		what string
	}{
		{r.Others.Passed, "requests pass it, by the matchers of the zone or of the routes around it"},
		{r.Others.Skipped, "requests have no key and are not limited"},
		{r.Others.Allowed, "requests are allowed past it by their key or address"},
		{r.Others.Refused, "requests are refused with 403 or 400"},
		{r.Others.Unlimited, "requests are unlimited"},
		{r.Others.Uncounted, "requests have a status that does not count"},
		{r.Others.InvalidCosts, "requests have no valid cost and count as 1"},
		{r.Others.Several, "requests have a path of several endpoints: the first one counts here"},
	} {
		if other.n > 0 {
			t.line("%d %s", other.n, other.what)
		}
	}
	if a := r.Agrees; a != nil {
		t.line("%d of the %d decisions that the log has are repeated", a.Equal, a.Decisions)
	}
	if len(r.Limits) > 1 && len(r.Keys) > 0 {
		t.line("")
		t.row("KEY", "ENDPOINT", "TIER", "REQUESTS", "REJECTED", "FIRST", "LAST")
		for _, k := range r.Keys {
			t.row(printable(k.Key), printable(k.Endpoint), printable(k.Tier), k.Requests, k.Rejected, k.First, k.Last)
		}
	}
}
