package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/sim/logs"
)

func simulateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "simulate [<log...>]", Short: "Says whom a limit would have rejected, from access logs",
		Long: `Replays access logs through the code that limits in the gateway, and says whom
each limit would have rejected. No Caddy need run, and nothing is changed.

A log is Caddy's JSON, other JSON with an object per line, the combined format
of nginx and Apache, or a table (CSV, TSV) with a line of names; plain, gzip or
zstd. - is the standard input. Several logs are merged by time. Caddy writes a
line when a request has ended: it arrived "duration" before.

The first --limit is looked at most closely: who is rejected, and when. The
others are compared with it, and with auto, limits around it. Without others,
limits around it are tried. Keys are clients' addresses, or the field of --key.

With --config and --zone, the zone of the configuration reads the requests of
the log: its matchers, key, endpoints, tiers and costs. Its limit is in force,
that of --endpoint and --tier, or else the one with the most requests. A
placeholder that the log does not have is an error; --field names a field that
has its value, and --recorded takes what the gateway has written into the log.

With --traffic there is no log: requests are made up, such as
"flash rate=50/s for=1h keys=1000", by a shape of poisson, onoff, daily, flash,
attack or storm.

Lines that cannot be read are counted and shown. If they are more than 1 % of
a log, that is an error.

Recommended is the least limit that rejects at most 0.1 % of the keys. Of fewer
than 1000 keys, it rejects the one that needs most.

With --fail-if, the exit code is 1 and the error names the bound if the first limit rejects more. Bounds are
of rejected_keys, rejected_requests and worst_minute (requests rejected in it),
as a number or a percentage; several are joined by "or".`,
		Example: `  caddy rate-limit simulate access.log --limit 100/1m
  caddy rate-limit simulate access.log --config Caddyfile --zone user
  caddy rate-limit simulate access.log --key request.headers.X-Api-Key --limit 60/1m,100/1m,200/1m
  caddy rate-limit simulate access.log --limit 100/1m --algorithms all --html report.html
  caddy rate-limit simulate access.log --limit 100/1m --nodes 20 --spread sticky
  caddy rate-limit simulate --traffic "attack rate=5/s for=10m" --limit 60/1m --clients hammer
  caddy rate-limit simulate access.log --limit 100/1m --fail-if "rejected_keys > 0.1%"`,
		Args: argumentsBetween(0, -1),
	}
	f := &simulateFlags{FlagSet: cmd.Flags()}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runSimulate(cmd, f, args) }
	f.StringVar(&f.limit, "limit", "", "Limits to try, such as 60/1m,100/1m,auto; without a zone, the first is looked at most closely")
	f.StringVar(&f.zone, "zone", "", "Zone of the --config that reads the requests, and whose limit is in force")
	f.StringVar(&f.endpoint, "endpoint", "", "Endpoint of the zone whose limit is looked at most closely")
	f.StringVar(&f.tier, "tier", "", "Tier of the zone whose limit is looked at most closely")
	f.BoolVar(&f.recorded, "recorded", false, "Take the keys of the zone from the key_hash that the gateway has logged")
	f.StringArrayVar(&f.fields, "field", nil, "Field of the log with the value of a placeholder, such as http.auth.user.tier=tier")
	f.StringVar(&f.algorithm, "algorithm", "token_bucket", `How limits are counted without a zone, such as "sliding_window 10"`)
	f.StringVar(&f.algorithms, "algorithms", "", `Algorithms to compare under the first limit: all, or such as "fixed_window,sliding_window 5"`)
	f.StringVar(&f.clients, "clients", "open", "What clients do when they are rejected: open (as in the log), retry-after or hammer")
	f.IntVar(&f.nodes, "nodes", 0, "Also simulate a fleet of this many nodes, which share the first limit")
	f.DurationVar(&f.rtt, "rtt", time.Millisecond, "Round trip from these nodes to Redis")
	f.StringVar(&f.spread, "spread", "even", "How requests are spread over these nodes: even, sticky (by key) or zipf")
	f.StringVar(&f.traffic, "traffic", "", `Made-up requests in place of a log, such as "daily rate=50/s for=24h keys=5000"`)
	f.StringVar(&f.format, "format", "", "json, combined, csv or tsv; default: as the first line looks")
	f.StringVar(&f.key, "key", "", "Field of the key, such as request.headers.X-Api-Key; default: the client's address")
	f.StringVar(&f.cost, "cost", "", "Field of the cost of a request; default: 1")
	f.StringVar(&f.time, "time", "", "Field of the instant at which a request ended; default: ts")
	f.StringVar(&f.duration, "duration", "", "Field of how long a request took, 0 for none; default: duration")
	f.StringVar(&f.from, "from", "", "Leave out requests before, such as 2026-01-31T12:00:00Z")
	f.StringVar(&f.to, "to", "", "Leave out requests from then on")
	f.IntVar(&f.top, "top", 10, "How many of the rejected keys to list")
	f.Uint64Var(&f.seed, "seed", 1, "Seed of made-up requests, and of the spread of requests over a second in logs without fractions")
	f.StringVar(&f.html, "html", "", "Also write the report to this file, as a page with charts")
	f.StringVar(&f.failIf, "fail-if", "", `Bounds such as "rejected_keys > 0.1% or worst_minute > 100"`)
	return cmd
}

// simulateFlags are the flags of the command.
type simulateFlags struct {
	*pflag.FlagSet
	limit, zone, endpoint, tier, algorithm, algorithms, clients, spread, traffic string
	format, key, cost, time, duration, from, to, html, failIf                    string
	fields                                                                       []string
	recorded                                                                     bool
	nodes, top                                                                   int
	rtt                                                                          time.Duration
	seed                                                                         uint64
}

func runSimulate(cmd *cobra.Command, f *simulateFlags, args []string) error {
	bounds, err := parseFailBounds(f.failIf)
	if err != nil {
		return wrongUsage(cmd, err)
	}
	run, err := newSimulation(f)
	if err != nil {
		return wrongUsage(cmd, err)
	}
	report, err := run.report(cmd, f, args)
	if err != nil {
		return err
	}
	if err := writePage(f.html, report); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		out := json.NewEncoder(cmd.OutOrStdout())
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		t := newTable(cmd.OutOrStdout())
		report.print(t)
		err = t.Flush()
	}
	if err != nil {
		return err
	}
	return bounds.check(report.Report)
}

// A simulation is what the command answers.
type simulation struct {
	Logs    []logs.Summary `json:"logs,omitempty"`
	Traffic string         `json:"traffic,omitempty"` // how the requests were made up
	*sim.Report
	Line  string       `json:"caddyfile,omitempty"` // line of a Caddyfile with the recommended limit
	KeyIs string       `json:"key"`                 // what requests are counted by
	Zone  *zoneReport  `json:"zone,omitempty"`
	Fleet *fleetReport `json:"fleet,omitempty"`
}

// A simulationRun replays requests.
type simulationRun struct {
	study  *sim.Study
	fleets *fleets
	zone   *zoneRun // nil if there is none
	limits simulateLimits
}

// newSimulation returns the run that the flags describe.
func newSimulation(f *simulateFlags) (*simulationRun, error) {
	limits, err := simulatedLimits(f)
	if err != nil {
		return nil, err
	}
	run := &simulationRun{limits: limits, fleets: new(fleets)}
	if f.zone != "" {
		run.zone, err = newZoneRun(f, run)
		return run, err
	}
	if err := checkZoneFlags(f); err != nil {
		return nil, err
	}
	options, err := simulateOptions(f, &limits)
	if err != nil {
		return nil, err
	}
	return run, run.begin(f, options)
}

// begin makes the study and the fleets.
func (s *simulationRun) begin(f *simulateFlags, o sim.Options) (err error) {
	if s.study, err = sim.New(o); err != nil {
		return err
	}
	s.fleets, err = newFleets(f, o.Rule)
	return err
}

// report replays the logs, or traffic that is made up.
func (s *simulationRun) report(cmd *cobra.Command, f *simulateFlags, names []string) (*simulation, error) {
	made, err := madeUpTraffic(f, names)
	if err != nil {
		return nil, wrongUsage(cmd, err)
	}
	from, to, err := simulateSpan(f)
	if err != nil {
		return nil, wrongUsage(cmd, err)
	}
	r := new(simulation)
	keys := new(sim.Keys)
	if made != nil {
		r.Traffic = made.String()
		err = s.replay(newProgress(cmd.ErrOrStderr(), new(meter)), func(add func(sim.Arrival)) error {
			made.Make(keys, add)
			return nil
		})
	} else {
		sources, size, closeAll, openErr := s.open(cmd, f, names)
		if openErr != nil {
			return nil, openErr
		}
		defer closeAll()
		err = s.replay(newProgress(cmd.ErrOrStderr(), size), func(add func(sim.Arrival)) (err error) {
			r.Logs, err = logs.Read(sources, keys, from, to, add)
			return err
		})
		if err == nil {
			err = s.readable(r.Logs, s.keyIs(f))
		}
	}
	if err != nil {
		return nil, err
	}
	return r, s.complete(f, r, keys)
}

// complete adds the results to the report.
func (s *simulationRun) complete(f *simulateFlags, r *simulation, keys *sim.Keys) error {
	name := keys.Name
	if s.zone != nil {
		if err := s.zone.replay.End(); err != nil {
			return err
		}
		s.fleets.add(s.zone.pass())
		r.Zone = s.zone.report(max(0, f.top), keys)
		name = func(k sim.Key) string { return s.zone.keyName(keys, s.zone.replay.KeyOf(k)) }
	}
	r.Report, r.Fleet = s.study.Report(max(0, f.top), name), s.fleets.report()
	if r.Trace.Requests == 0 {
		return errors.New("the logs have no requests in this span: use other logs, or other --from and --to")
	}
	r.KeyIs = s.keyIs(f)
	if r.Recommends != nil {
		r.Line = r.caddyfileLine(*r.Recommends)
	}
	return nil
}

// keyIs says what requests are counted by.
func (s *simulationRun) keyIs(f *simulateFlags) string {
	switch {
	case s.zone != nil:
		return "the key of zone " + s.zone.name
	case f.traffic != "":
		return "made-up keys"
	}
	return cmp.Or(f.key, "the client's address")
}

// headerHint returns how Caddy's log spells the field of a header. It returns "" if key is spelled
// so, or is no header.
func headerHint(key string) string {
	fields, name, isHeader := strings.Cut(key, ".headers.")
	if canonical := http.CanonicalHeaderKey(name); isHeader && canonical != name {
		return fields + ".headers." + canonical
	}
	return ""
}

// replay hands the requests that read adds to the study and the fleets. read and the decisions run
// concurrently.
func (s *simulationRun) replay(p *progress, read func(add func(sim.Arrival)) error) (err error) {
	const batch, ahead = 4096, 8
	batches := make(chan []sim.Arrival, ahead)
	go func() {
		defer close(batches)
		requests := make([]sim.Arrival, 0, batch)
		err = read(func(r sim.Arrival) {
			if requests = append(requests, r); len(requests) == batch {
				batches <- requests
				requests = make([]sim.Arrival, 0, batch)
			}
		})
		batches <- requests
	}()
	for requests := range batches {
		s.take(requests)
		p.add(len(requests))
	}
	p.end()
	return err
}

func (s *simulationRun) take(requests []sim.Arrival) {
	if s.zone == nil {
		for _, r := range requests {
			s.study.Add(r)
		}
		s.fleets.add(requests)
		return
	}
	for _, r := range requests {
		s.zone.replay.Add(r)
	}
	s.fleets.add(s.zone.pass())
}

// readable refuses logs of which more than 1 % of the lines cannot be read, and logs that lack a
// field that is needed.
func (s *simulationRun) readable(summaries []logs.Summary, key string) error {
	for _, s := range summaries {
		if 100*s.Unreadable > s.Lines {
			return fmt.Errorf("%s: %d of %d lines cannot be read, the first at line %d: %s: use --format, --time and --key to say "+
				"how they are written", s.Name, s.Unreadable, s.Lines, s.FirstLine, s.First)
		}
	}
	if s.zone != nil {
		return s.zone.reader.Check()
	}
	for _, s := range summaries {
		if s.Requests == 0 && s.Keyless > 0 {
			hint := prefixed(", such as ", headerHint(key))
			return fmt.Errorf("%s: none of %d lines has the field of the key, %s: use --key with the name of one that they have%s",
				s.Name, s.Lines, key, hint)
		}
	}
	return nil
}
