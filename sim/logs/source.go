package logs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// A Source is one file of a log.
type Source struct {
	Name   string
	Lines  *bufio.Reader // see Open
	Format Format
}

// A Summary says what Read has read of a source.
type Summary struct {
	Name       string `json:"name"`
	Lines      int64  `json:"lines"`
	Requests   int64  `json:"requests"`
	Keyless    int64  `json:"lines_without_key"` // requests that have no key, and so no limit
	Unreadable int64  `json:"unreadable_lines"`
	Late       int64  `json:"late_requests"` // requests that came later than the bound of sorting
	Instants   string `json:"instants"`      // the form of the instants

	// First and FirstLine are the error and the number of the first unreadable line.
	First     string `json:"first_error,omitempty"`
	FirstLine int64  `json:"first_error_line,omitempty"`
}

// sortBound is the time within which lines are sorted by arrival, in µs. A request that took longer is
// late.
const sortBound = int64(60 * time.Second / time.Microsecond)

// A stream reads the requests of a source in the order of their arrival.
type stream struct {
	Summary
	lines   lineReader
	format  Format
	keys    *sim.Keys
	order   order
	ended   bool
	current sim.Arrival // the next request
}

func newStream(s Source, keys *sim.Keys) *stream {
	return &stream{
		Summary: Summary{Name: s.Name}, lines: lineReader{r: s.Lines}, format: s.Format, keys: keys, order: order{bound: sortBound},
	}
}

// advance reads up to the next request. It reports whether there is one.
func (s *stream) advance() (bool, error) {
	for {
		if r, ok := s.order.next(s.ended); ok {
			s.current = r
			return true, nil
		}
		if s.ended {
			s.Late, s.Instants = s.order.late, s.format.Instants()
			return false, nil
		}
		if err := s.read(); err != nil {
			return false, fmt.Errorf("%s, line %d: %w", s.Name, s.Lines, err)
		}
	}
}

// read reads one line. It counts a line that cannot be read, and returns no error for it.
func (s *stream) read() error {
	line, err := s.lines.next()
	if err == io.EOF {
		s.ended = true
		return nil
	}
	s.Lines++
	var record Record
	if err == nil {
		record, err = s.format.Record(line)
	} else if err != errLongLine {
		return notWhole(err)
	}
	var stop *StopError
	switch {
	case err == ErrNoRecord:
		return nil
	case err == ErrKeyless:
		s.Keyless++
		return nil
	case errors.As(err, &stop):
		return err
	case err == nil && record.At < 0:
		err = errors.New("the request arrived before 1970")
	}
	if err != nil {
		if s.Unreadable++; s.Unreadable == 1 {
			s.First, s.FirstLine = err.Error(), s.Lines
		}
		return nil
	}
	s.Requests++
	s.order.add(sim.Arrival{
		At: max(1, record.At), Key: s.keys.Number(record.Key), Rule: record.Rule, Said: record.Said, Cost: record.Cost,
	})
	return nil
}

// Read reads all sources, merged by time, and calls add for each request in the order of arrival. It
// returns a summary of each source. It leaves out requests before from, and requests at or after to. A
// bound of 0 is no bound.
func Read(sources []Source, keys *sim.Keys, from, to limiter.Instant, add func(sim.Arrival)) ([]Summary, error) {
	streams := make([]*stream, len(sources))
	for i, s := range sources {
		streams[i] = newStream(s, keys)
	}
	live := make([]*stream, 0, len(streams))
	for _, s := range streams {
		ok, err := s.advance()
		if err != nil {
			return nil, err
		}
		if ok {
			live = append(live, s)
		}
	}
	for len(live) > 0 {
		next := 0
		for i, s := range live {
			if s.current.At < live[next].current.At {
				next = i
			}
		}
		s := live[next]
		if r := s.current; r.At >= from && (to == 0 || r.At < to) {
			add(r)
		}
		ok, err := s.advance()
		if err != nil {
			return nil, err
		}
		if !ok {
			live = append(live[:next], live[next+1:]...)
		}
	}
	summaries := make([]Summary, len(streams))
	for i, s := range streams {
		summaries[i] = s.Summary
	}
	return summaries, nil
}
