// Package decisionlog records decisions about requests, in Caddy's log and in PostgreSQL. It never
// delays a request: what cannot be written in time is dropped and counted.
package decisionlog

import (
	"crypto/sha256"
	"math/rand/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/fleet/pool"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
)

// A Record is a decision that is recorded.
type Record struct {
	*api.Decision
	Node   string
	Number uint64 // of the recorder's records
}

// An Observer is told what happens to records. Its methods return at once.
type Observer interface {
	// LogDecision writes a record to Caddy's log.
	LogDecision(r *Record)

	// DecisionsRecorded is told how many decisions were recorded and dropped since it was told last.
	DecisionsRecorded(to string, recorded, dropped uint64)

	RecordingFailed(to string, err error)
	RecordingRecovered(to string)
}

// A Target is what a configuration records, and where to. Nothing has connected to it yet.
type Target struct {
	admitted, rejected float64
	sinks              []opener
}

// An opener opens a sink. Those with equal keys share a recorder, which outlives
// configurations.
type opener struct {
	key  string
	open func(Observer) sink
}

// Resolve returns what s describes. It returns nil if s is nil. store has the rules.
func Resolve(s *config.DecisionLog, store *config.RuleStore) (*Target, error) {
	if s == nil {
		return nil, nil
	}
	t := new(Target)
	t.admitted, t.rejected = s.Shares()
	for _, name := range s.Sinks(store) {
		if name == config.DecisionsToLog {
			t.sinks = append(t.sinks, opener{name, func(o Observer) sink { return logSink{o} }})
			continue
		}
		url, err := store.ResolveURL()
		if err != nil {
			return nil, err
		}
		checked, err := rulestore.OpenDecisions(url) // it does not connect
		if err != nil {
			return nil, err
		}
		checked.Close()
		keep, digest := s.KeepFor(), sha256.Sum256([]byte(url))
		t.sinks = append(t.sinks, opener{name + " " + keep.String() + " " + string(digest[:]), func(Observer) sink {
			table, _ := rulestore.OpenDecisions(url) // it was checked
			return newTable(table, keep)
		}})
	}
	return t, nil
}

// recorders are by the key of their opener.
var recorders = pool.New[string, *Recorder]()

// A Log is what a configuration records. It is safe for concurrent use.
type Log struct {
	Node      string
	Recorders []*Recorder

	admitted, rejected float64
}

// Acquire returns the log, and a function that releases it. Both may be called while another
// configuration has the same one.
func (t *Target) Acquire(node string, o Observer) (l *Log, release func()) {
	l = &Log{Node: node, admitted: t.admitted, rejected: t.rejected}
	var releases []func()
	for _, s := range t.sinks {
		r, release := recorders.Acquire(s.key, func() *Recorder { return newRecorder(s.open(o), o, recordEvery) })
		l.Recorders, releases = append(l.Recorders, r), append(releases, release)
	}
	return l, func() {
		for _, release := range releases {
			release()
		}
	}
}

// Wants draws whether a decision is recorded. passes says that it lets the request pass, and first
// that it is the first rejection of its key and window.
func (l *Log) Wants(passes, first bool) bool {
	share := l.rejected
	if passes {
		share = l.admitted
	}
	return first || rand.Float64() < share
}
