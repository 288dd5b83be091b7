package command

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// open opens the logs with these names. size is how many bytes they have, 0 if that is not known.
func (s *simulationRun) open(cmd *cobra.Command, names []string) (sources []logs.Source, size *meter, closeAll func(), err error) {
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
		source, err := s.newSource(cmd.Flags(), name, size.of(r))
		if err != nil {
			closeAll()
			return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		sources = append(sources, source)
	}
	return sources, size, closeAll, nil
}

// newSource returns a log with the format that the flags say, or that its first line has.
func (s *simulationRun) newSource(f *pflag.FlagSet, name string, r io.Reader) (logs.Source, error) {
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
	if s.zone != nil {
		source.Format, err = s.zone.newFormat(f, format, fields)
		return source, err
	}
	switch format {
	case "json":
		source.Format = logs.NewJSON(fields)
	case "csv":
		source.Format = logs.NewTable(fields, ',')
	case "tsv":
		source.Format = logs.NewTable(fields, '\t')
	case "combined":
		if err := checkSeconds(s.limits.shortest(s.limits.rates[0].Window)); err != nil {
			return logs.Source{}, err
		}
		key, _ := f.GetString("key")
		seed, _ := f.GetUint64("seed")
		if key == "" {
			key = "address"
		}
		source.Format, err = logs.NewCombined(key, seed)
	default:
		err = noFormat(format)
	}
	return source, err
}

func noFormat(name string) error {
	return fmt.Errorf("there is no format %q: use json, combined, csv or tsv", name)
}

// checkSeconds refuses windows that mean nothing where instants are whole seconds.
func checkSeconds(window time.Duration) error {
	if shortest := 5 * time.Second; window < shortest {
		return fmt.Errorf("instants of the combined format are whole seconds, so a window of %v means nothing: "+
			"use a limit with a window of %v or more", window, shortest)
	}
	return nil
}

// newFormat returns the format of a log for the zone.
func (z *zoneRun) newFormat(f *pflag.FlagSet, format string, fields logs.Fields) (logs.Format, error) {
	switch format {
	case "json":
		return logs.NewJSONRows(fields, z.reader), nil
	case "csv":
		return logs.NewTableRows(fields, ',', z.reader), nil
	case "tsv":
		return logs.NewTableRows(fields, '\t', z.reader), nil
	case "combined":
		if err := checkSeconds(z.shortest()); err != nil {
			return nil, err
		}
		seed, _ := f.GetUint64("seed")
		return logs.NewCombinedRows(seed, z.reader)
	}
	return nil, noFormat(format)
}
