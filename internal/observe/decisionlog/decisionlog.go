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
	Number uint64 // position among the records of its recorder, from 1
}

// An Observer is told what happens to records. Its methods return at once.
type Observer interface {
	// LogDecision writes a record to Caddy's log.
	LogDecision(r *Record)

	// DecisionsRecorded is told how many decisions were recorded in a sink, and how many were dropped,
	// since its last call.
	DecisionsRecorded(to string, recorded, dropped uint64)

	RecordingFailed(to string, err error)
	RecordingRecovered(to string)
}

// A Target says which decisions a configuration records, and in which sinks. It has connected to no
// sink.
type Target struct {
	admitted, rejected float64
	sinks              []opener
}

// An opener opens a sink. Openers with the same key share one recorder, which outlives a
// configuration.
type opener struct {
	key  string
	open func(Observer) sink
}

// Resolve returns the target that s describes, or nil if s is nil. store is the store of the rules.
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
		checked, err := rulestore.OpenDecisions(url) // OpenDecisions does not connect
		if err != nil {
			return nil, err
		}
		checked.Close()
		keep, digest := s.KeepFor(), sha256.Sum256([]byte(url))
		t.sinks = append(t.sinks, opener{name + " " + keep.String() + " " + string(digest[:]), func(Observer) sink {
			table, _ := rulestore.OpenDecisions(url) // Resolve has checked the URL
			return newTable(table, keep)
		}})
	}
	return t, nil
}

// recorders are the recorders in use, by the keys of their openers.
var recorders = pool.New[string, *Recorder]()

// A Log records the decisions of one configuration. It is safe for concurrent use.
type Log struct {
	Node      string
	Recorders []*Recorder

	admitted, rejected float64
}

// Acquire returns the log of t and a function that releases it. Two configurations may share
// recorders: Acquire and release may be called while the other one uses them.
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

// Wants reports whether a decision is to be recorded, which is drawn at random. passes says that
// the decision lets the request pass. first says that it is the first rejection of its key in a
// window, which is always recorded.
func (l *Log) Wants(passes, first bool) bool {
	share := l.rejected
	if passes {
		share = l.admitted
	}
	return first || rand.Float64() < share
}
