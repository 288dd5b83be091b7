package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// open opens the logs with these names. size counts the bytes that are read from them, and knows
// how many bytes regular files have.
func (s *simulationRun) open(cmd *cobra.Command, f *simulateFlags, names []string) (sources []logs.Source, size *meter, closeAll func(), err error) {
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
				return nil, nil, nil, fmt.Errorf("%w: use the name of an access log, or - for standard input", err)
			}
			files = append(files, file)
			if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
				size.whole += info.Size()
			}
			r = file
		}
		source, err := s.newSource(f, name, size.metered(r))
		if err != nil {
			closeAll()
			return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		sources = append(sources, source)
	}
	return sources, size, closeAll, nil
}

// newSource returns a log with the format that the flags say, or that its first line has.
func (s *simulationRun) newSource(f *simulateFlags, name string, r io.Reader) (logs.Source, error) {
	plain, err := logs.Open(r)
	if err != nil {
		return logs.Source{}, err
	}
	format := f.format
	if format == "" {
		if format, err = logs.Detect(plain); err != nil {
			return logs.Source{}, err
		}
	}
	fields := logs.Fields{Time: cmp.Or(f.time, logs.CaddyFields.Time), Duration: cmp.Or(f.duration, logs.CaddyFields.Duration)}
	if fields.Duration == "0" {
		fields.Duration = ""
	}
	source := logs.Source{Name: name, Lines: plain}
	reader, err := s.reader(f, format)
	if err != nil {
		return source, err
	}
	switch format {
	case "json":
		source.Format = logs.NewJSON(fields, reader)
	case "csv":
		source.Format = logs.NewTable(fields, ',', reader)
	case "tsv":
		source.Format = logs.NewTable(fields, '\t', reader)
	case "combined":
		if err := checkSeconds(s.shortest()); err != nil {
			return source, err
		}
		source.Format, err = logs.NewCombined(f.seed, reader)
	default:
		err = fmt.Errorf("there is no format %q: use json, combined, csv or tsv", format)
	}
	return source, err
}

// reader returns what makes requests of lines: the zone, or fields that have the key and the cost.
func (s *simulationRun) reader(f *simulateFlags, format string) (logs.RowReader, error) {
	if s.zone != nil {
		return s.zone.reader, nil
	}
	if format == "combined" {
		path := map[string]string{"": clientIP, "address": clientIP, "user": "user_id"}[f.key]
		if path == "" {
			return nil, fmt.Errorf("the combined log format has no %q: use address or user", f.key)
		}
		return logs.Keys(path, ""), nil
	}
	return logs.Keys(cmp.Or(f.key, clientIP), f.cost), nil
}

// clientIP is the field of Caddy's log with the client's address.
const clientIP = "request.client_ip"

// shortest returns the shortest window of the limits that are simulated.
func (s *simulationRun) shortest() time.Duration {
	if s.zone != nil {
		return s.zone.shortest()
	}
	return s.limits.shortest()
}

// checkSeconds refuses windows that mean nothing where instants are whole seconds.
func checkSeconds(window time.Duration) error {
	if shortest := 5 * time.Second; window < shortest {
		return fmt.Errorf("instants of the combined format are whole seconds, so a window of %v means nothing: "+
			"use a limit with a window of %v or more", window, shortest)
	}
	return nil
}
