package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/sim/logs"
)

func simulateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "simulate <log...>", Short: "Says whom a limit would have rejected, from access logs",
		Long: `Replays access logs through the code that limits in the gateway, and says whom
each limit would have rejected. No Caddy need run, and nothing is changed.

A log is Caddy's JSON, other JSON with an object per line, the combined format
of nginx and Apache, or a table (CSV, TSV) with a line of names; plain, gzip or
zstd. - is the standard input. Several logs are merged by time. Caddy writes a
line when a request has ended: it arrived "duration" before.

The first --limit is looked at most closely: who is rejected, and when. The
others are compared with it. Without others, limits around it are tried. Keys
are clients' addresses, or the field of --key.

Lines that cannot be read are counted and shown. If they are more than 1 % of
a log, that is an error.

With --fail-if, the exit code is 1 if the first limit rejects more. Bounds are
of rejected_keys, rejected_requests and worst_minute (requests rejected in it),
as a number or a percentage; several are joined by "or".`,
		Example: `  caddy rate-limit simulate access.log --limit 100/1m
  caddy rate-limit simulate access.log --key request.headers.X-Api-Key --limit 60/1m,100/1m,200/1m
  caddy rate-limit simulate access.log --limit 100/1m --algorithms --html report.html
  caddy rate-limit simulate access.log --limit 100/1m --nodes 20 --spread sticky
  caddy rate-limit simulate access.log --limit 100/1m --fail-if "rejected_keys > 0.1%"`,
		RunE: runSimulate,
		Args: argumentsBetween(1, -1),
	}
	f := cmd.Flags()
	f.String("limit", "", "Limits to try, such as 60/1m,100/1m; the first is the one in force")
	f.String("algorithm", "token_bucket", `How they are counted, such as "sliding_window 10"`)
	f.Bool("algorithms", false, "Compare all algorithms under the first limit")
	f.Int("nodes", 0, "Also simulate a fleet of so many nodes that share the first limit")
	f.Duration("rtt", time.Millisecond, "Round trip from these nodes to Redis")
	f.String("spread", "even", "How requests are spread over these nodes: even, sticky (by key) or zipf")
	f.String("format", "", "json, combined, csv or tsv; default: as the first line looks")
	f.String("key", "", "Field of the key, such as request.headers.X-Api-Key; default: the client's address")
	f.String("cost", "", "Field of the cost of a request; default: 1")
	f.String("time", "", "Field of the instant at which a request ended; default: ts")
	f.String("duration", "", "Field of how long a request took, 0 for none; default: duration")
	f.String("from", "", "Leave out requests before, such as 2026-01-31T12:00:00Z")
	f.String("to", "", "Leave out requests from then on")
	f.Int("top", 10, "How many of the rejected keys to list")
	f.Uint64("seed", 1, "Seed by which requests of one second are spread, in logs without fractions")
	f.String("html", "", "Also write the report to this file, as a page with charts")
	f.String("fail-if", "", `Bounds such as "rejected_keys > 0.1% or worst_minute > 100"`)
	return cmd
}

func runSimulate(cmd *cobra.Command, args []string) error {
	options, err := simulateOptions(cmd.Flags())
	if err != nil {
		return wrongUsage(cmd, err)
	}
	failIf, _ := cmd.Flags().GetString("fail-if")
	bounds, err := parseFailBounds(failIf)
	if err != nil {
		return wrongUsage(cmd, err)
	}
	from, to, err := simulateSpan(cmd.Flags())
	if err != nil {
		return wrongUsage(cmd, err)
	}
	study, err := sim.New(options)
	if err != nil {
		return wrongUsage(cmd, err)
	}
	fleets, err := newFleets(cmd.Flags(), options.Rule)
	if err != nil {
		return wrongUsage(cmd, err)
	}
	sources, size, closeAll, err := openLogs(cmd, args, options.Rule.Limit.Window)
	if err != nil {
		return err
	}
	defer closeAll()
	keys, summaries, err := replay(study, fleets, sources, from, to, newProgress(cmd.ErrOrStderr(), size))
	if err != nil {
		return err
	}
	if err := readable(summaries); err != nil {
		return err
	}
	top, _ := cmd.Flags().GetInt("top")
	report := &simulation{summaries, study.Report(max(0, top), keys.Name), fleets.report()}
	if len(report.Curve) == 0 || report.Trace.Requests == 0 {
		return errors.New("the logs have no requests in this span: use other logs, or other --from and --to")
	}
	if err := writePage(cmd.Flags(), report); err != nil {
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
	if err == nil && bounds.exceeded(report.Report) {
		cmd.SilenceErrors = true // the report says it
		err = errNotOK
	}
	return err
}

// A simulation is what the command answers.
type simulation struct {
	Logs []logs.Summary `json:"logs"`
	*sim.Report
	Fleet *fleetReport `json:"fleet,omitempty"`
}

// replay has a study and fleets take the requests of logs. Reading and deciding run beside each other.
func replay(
	study *sim.Study, fleets *fleets, sources []logs.Source, from, to limiter.Instant, p *progress,
) (*sim.Keys, []logs.Summary, error) {
	const batch, ahead = 4096, 8
	batches := make(chan []sim.Request, ahead)
	keys := new(sim.Keys)
	var summaries []logs.Summary
	var err error
	go func() {
		defer close(batches)
		requests := make([]sim.Request, 0, batch)
		summaries, err = logs.Read(sources, keys, from, to, func(r sim.Request) {
			if requests = append(requests, r); len(requests) == batch {
				batches <- requests
				requests = make([]sim.Request, 0, batch)
			}
		})
		batches <- requests
	}()
	for requests := range batches {
		for _, r := range requests {
			study.Add(r)
		}
		fleets.add(requests)
		p.add(len(requests))
	}
	p.end()
	return keys, summaries, err
}

// readable refuses logs of which more than 1 % cannot be read.
func readable(summaries []logs.Summary) error {
	for _, s := range summaries {
		if s.Requests == 0 && s.Keyless > 0 {
			return fmt.Errorf("%s: none of %d lines has the field of the key: use --key with the name of one that they have",
				s.Name, s.Lines)
		}
		if 100*s.Unreadable > s.Lines {
			return fmt.Errorf("%s: %d of %d lines cannot be read, the first at line %d: %s: use --format, --time and --key to say "+
				"how they are written", s.Name, s.Unreadable, s.Lines, s.FirstLine, s.First)
		}
	}
	return nil
}

// simulateOptions returns what to try.
func simulateOptions(f *pflag.FlagSet) (sim.Options, error) {
	text, _ := f.GetString("limit")
	if text == "" {
		return sim.Options{}, errors.New("there is no limit: use --limit, such as --limit 100/1m")
	}
	var limits []limiter.Limit
	for _, rate := range strings.Split(text, ",") {
		limit, err := config.ParseLimit(rate)
		switch {
		case err != nil:
			return sim.Options{}, fmt.Errorf("--limit: %w", err)
		case limit.Unlimited || limit.Block:
			return sim.Options{}, fmt.Errorf("--limit: %s rejects nobody or all: use a rate such as 100/1m", rate)
		}
		limits = append(limits, limit.Compile())
	}
	name, _ := f.GetString("algorithm")
	settings, err := config.ParseAlgorithm(name)
	if err != nil {
		return sim.Options{}, fmt.Errorf("--algorithm: %w", err)
	}
	algorithm, err := settings.Compile()
	if err != nil {
		return sim.Options{}, fmt.Errorf("--algorithm: %w", err)
	}
	o := sim.Options{Rule: limiter.Rule{Algorithm: algorithm, Limit: limits[0]}}
	if len(limits) > 1 {
		o.Candidates = limits[1:]
	}
	if all, _ := f.GetBool("algorithms"); all {
		o.Algorithms = sim.AllAlgorithms()
	}
	return o, nil
}

// simulateSpan returns the instants of --from and --to, 0 for those that are not there.
func simulateSpan(f *pflag.FlagSet) (from, to limiter.Instant, err error) {
	for name, at := range map[string]*limiter.Instant{"from": &from, "to": &to} {
		text, _ := f.GetString(name)
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return 0, 0, fmt.Errorf("--%s: %q is not an instant: use one such as 2026-01-31T12:00:00Z", name, text)
		}
		*at = limiter.At(t)
	}
	return from, to, nil
}

// openLogs opens the logs with these names. size is how many bytes they have, 0 if that is not known.
func openLogs(cmd *cobra.Command, names []string, window time.Duration) (sources []logs.Source, size *meter, closeAll func(), err error) {
	var files []io.Closer
	closeAll = func() {
		for _, f := range files {
			_ = f.Close() // it was only read
		}
	}
	size = new(meter)
	for _, name := range names {
		r := cmd.InOrStdin()
		if name != "-" {
			file, err := os.Open(name)
			if err != nil {
				closeAll()
				return nil, nil, nil, err
			}
			files = append(files, file)
			if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
				size.whole += info.Size()
			}
			r = file
		}
		source, err := newSource(cmd.Flags(), name, size.of(r), window)
		if err != nil {
			closeAll()
			return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		sources = append(sources, source)
	}
	return sources, size, closeAll, nil
}

// newSource returns a log with the format that the flags say, or that its first line has.
func newSource(f *pflag.FlagSet, name string, r io.Reader, window time.Duration) (logs.Source, error) {
	plain, err := logs.Open(r)
	if err != nil {
		return logs.Source{}, err
	}
	format, _ := f.GetString("format")
	if format == "" {
		if format, err = logs.Detect(plain); err != nil {
			return logs.Source{}, err
		}
	}
	fields := logs.CaddyFields
	for name, field := range map[string]*string{
		"key": &fields.Key, "cost": &fields.Cost, "time": &fields.Time, "duration": &fields.Duration,
	} {
		if text, _ := f.GetString(name); text != "" {
			*field = text
		}
	}
	if fields.Duration == "0" {
		fields.Duration = ""
	}
	source := logs.Source{Name: name, Lines: plain}
	switch format {
	case "json":
		source.Format = logs.NewJSON(fields)
	case "csv":
		source.Format = logs.NewTable(fields, ',')
	case "tsv":
		source.Format = logs.NewTable(fields, '\t')
	case "combined":
		const shortest = 5 * time.Second
		if window < shortest {
			return logs.Source{}, fmt.Errorf("instants of the combined format are whole seconds, so a window of %v means nothing: "+
				"use a limit with a window of %v or more", window, shortest)
		}
		key, _ := f.GetString("key")
		seed, _ := f.GetUint64("seed")
		if key == "" {
			key = "address"
		}
		source.Format, err = logs.NewCombined(key, seed)
	default:
		err = fmt.Errorf("there is no format %q: use json, combined, csv or tsv", format)
	}
	return source, err
}
