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

// further is how many limits are tried besides the one in force.
const further = 20

// figures are times and memory of some rounds.
type figures struct {
	floor, one, many report.Series // seconds: reading alone, and with a rule, and with further ones
	keys             int
	bytes            uint64 // that the study of one rule holds, and the names of the keys
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

// study reads the log with a rule and further limits.
func (m *figures) study(log string, limits []limiter.Limit) (seconds float64, err error) {
	s, err := sim.New(sim.Options{Rule: limiter.Rule{Limit: limiter.Limit{Events: 100, Window: time.Minute}}, Candidates: limits})
	if err != nil {
		return 0, err
	}
	seconds, err = m.read(log, s)
	s.Report(0, nil)
	return seconds, err
}

// read reads the log, and has a study take the requests unless it is nil.
func (m *figures) read(log string, s *sim.Study) (seconds float64, err error) {
	file, err := os.Open(log)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	before, begin := heap(), time.Now()
	lines, err := logs.Open(file)
	if err != nil {
		return 0, err
	}
	add := func(sim.Request) {}
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

// heap returns how many bytes are in use.
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
