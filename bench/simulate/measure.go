package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// further is the number of limits that are tried besides the limit in force.
const further = 20

// figures are the times and the memory of several rounds.
type figures struct {
	floor, one, many report.Series // seconds: only reading, with one rule, and with further limits
	keys             int
	bytes            uint64 // memory of the study of one rule, and of the names of keys
}

func measureAll(log string, rounds int) (*figures, error) {
	m := new(figures)
	for range rounds {
		floor, err := m.read(log, nil)
		if err != nil {
			return nil, err
		}
		one, err := m.study(log, []limiter.Limit{})
		if err != nil {
			return nil, err
		}
		var limits []limiter.Limit
		for i := range int64(further) {
			limits = append(limits, limiter.Limit{Events: 200 + 10*i, Window: time.Minute})
		}
		many, err := m.study(log, limits)
		if err != nil {
			return nil, err
		}
		m.floor, m.one, m.many = append(m.floor, floor), append(m.one, one), append(m.many, many)
	}
	return m, nil
}

// study reads the log with one rule and further limits. It returns the time in seconds.
func (m *figures) study(log string, limits []limiter.Limit) (seconds float64, err error) {
	s, err := sim.New(sim.Options{Rule: limiter.Rule{Limit: limiter.Limit{Events: 100, Window: time.Minute}}, Candidates: limits})
	if err != nil {
		return 0, err
	}
	seconds, err = m.read(log, s)
	s.Report(0, nil)
	return seconds, err
}

// read reads the log. If s is not nil, s gets the requests. read returns the time in seconds.
func (m *figures) read(log string, s *sim.Study) (seconds float64, err error) {
	file, err := os.Open(log)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	before, begin := heap(), time.Now()
	lines, err := logs.Open(file)
	if err != nil {
		return 0, err
	}
	add := func(sim.Arrival) {}
	if s != nil {
		add = s.Add
	}
	keys := new(sim.Keys)
	source := logs.Source{Name: log, Lines: lines, Format: logs.NewJSON(logs.CaddyFields, logs.Keys("request.client_ip", ""))}
	if _, err := logs.Read([]logs.Source{source}, keys, 0, 0, add); err != nil {
		return 0, err
	}
	seconds = time.Since(begin).Seconds()
	if s != nil && len(m.one) == len(m.many) && m.bytes == 0 {
		m.bytes = heap() - min(heap(), before)
		m.keys = s.Report(0, nil).Trace.Keys
	}
	runtime.KeepAlive(keys)
	return seconds, nil
}

// heap returns the number of bytes of the heap in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func (m *figures) print(lines int) {
	perLine := func(s report.Series) float64 { return 1e9 * s.Median() / float64(lines) }
	report.Columns("", "measured", "goal", "")
	row := func(what, format string, value, most float64) {
		report.Row(what, fmt.Sprintf(format, value), fmt.Sprintf(format, most), report.Met(value <= most))
	}
	report.Row("reading and parsing alone, a line: the floor", fmt.Sprintf("%.0f ns", perLine(m.floor)), "", "")
	row("with one rule, over the floor", "%.2f times", m.one.Over(m.floor).Median(), 2)
	row("10 million lines with one rule, at this rate", "%.1f s", perLine(m.one)/100, 60)
	row("each further limit, a request", "%.0f ns", perLine(m.many.Minus(m.one))/further, 100)
	row("memory, a key", "%.0f bytes", float64(m.bytes)/float64(max(1, m.keys)), 300)
}
