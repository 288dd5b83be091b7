// Package journal remembers what has happened to a zone and its keys on this node: first
// rejections, changes of the tier of a key, and reloads. No version of the rules shows these. The
// memory of a journal is bounded, whatever clients send.
package journal

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// Most is the highest number of events about keys in a log, and mostReloads the highest number of
	// reloads.
	Most        = 500
	mostReloads = 50

	// Gap is the longest pause between two occurrences that are one event. After a longer pause, or
	// under another limit, an occurrence begins a new event.
	Gap = 10 * time.Minute

	// newPerSecond is the highest number of events about keys that begin in one second. A flood of
	// keys would begin more.
	newPerSecond = 10
)

// The kinds of events.
const (
	Rejected    = "rejected"
	WouldReject = "would_reject" // a dry run admitted the request
	TierSeen    = "tier_seen"
)

// A Place is the kind of an event, and the count that the event is about.
type Place struct {
	Kind     string
	Rule     uint32 // ID of the rule whose count it is
	Key      []byte // in the form in which stores have it
	Endpoint string
	Tier     string // of the key when it was seen
	Before   string // of the key before a TierSeen; "" in other kinds
}

// An Event is something that happens to a key, from its first occurrence to the last.
type Event struct {
	Place
	Limit       limiter.Limit // the limit that rejected the key; zero if none with a window did
	Concurrent  int64         // the limit on requests at once that rejected the key; 0 if none did
	First, Last time.Time
	Times       int // number of occurrences; of rejections, only the first in a window counts

	Origin   Origin                     // of the request that began the event
	Request  *http.Request              // the request that Describe describes; nil in the events of a Log
	Describe func(*http.Request) Origin // called if the event begins; nil if the event has no Origin
}

// An Origin says where a request came from and what it asked for.
type Origin struct{ Client, Method, Path string }

// A Reload lists what a reload has changed in a zone.
type Reload struct {
	Time                    time.Time
	Change                  string // "added" or "changed"
	Settings, Limits, Reset []string
}

// A Log is the journal of a zone. It is safe for concurrent use. The zero value is an empty log.
type Log struct {
	mu      sync.Mutex
	events  []*Event // in no order
	newest  map[place]*Event
	reloads []Reload // the newest last

	second int64 // Unix time of the second in which the newest event began
	begun  int
	missed uint64
}

// A place is a Place in a form that a map can have as a key.
type place struct {
	kind, key, endpoint, tier, before string
	rule                              uint32
}

// Add adds an occurrence at now of the event e. It reports false if it leaves the occurrence out,
// because the log is in use or because newPerSecond events have begun in this second.
func (l *Log) Add(now time.Time, e *Event) bool {
	if !l.mu.TryLock() {
		return false
	}
	defer l.mu.Unlock()
	return l.addLocked(now, e)
}

func (l *Log) addLocked(now time.Time, e *Event) bool {
	known := l.newest[place{e.Kind, string(e.Key), e.Endpoint, e.Tier, e.Before, e.Rule}]
	if known != nil && now.Sub(known.Last) <= Gap && known.Limit == e.Limit && known.Concurrent == e.Concurrent {
		known.Last = now
		known.Times++
		return true
	}
	if second := now.Unix(); second != l.second {
		l.second, l.begun = second, 0
	}
	if l.begun == newPerSecond {
		l.missed++
		return false
	}
	l.begun++
	l.beginLocked(now, e)
	return true
}

// beginLocked adds a new event that begins at now. It needs l.mu.
func (l *Log) beginLocked(now time.Time, e *Event) {
	begun := *e
	begun.Key, begun.First, begun.Last, begun.Times = slices.Clone(e.Key), now, now, 1
	if e.Describe != nil {
		begun.Origin = e.Describe(e.Request)
	}
	begun.Request, begun.Describe = nil, nil
	if len(l.events) < Most {
		l.events = append(l.events, &begun)
	} else {
		i := l.leastLocked()
		if gone := l.events[i]; l.newest[gone.place()] == gone {
			delete(l.newest, gone.place())
		}
		l.events[i] = &begun
	}
	if l.newest == nil {
		l.newest = make(map[place]*Event)
	}
	l.newest[begun.place()] = &begun
}

func (p *Place) place() place {
	return place{p.Kind, string(p.Key), p.Endpoint, p.Tier, p.Before, p.Rule}
}

// leastLocked returns the index of the event that makes room for a new one: the event with the
// fewest occurrences, and of several such events the oldest. So a flood of keys, each of which is
// rejected once, does not drive out other events. It needs l.mu.
func (l *Log) leastLocked() (least int) {
	for i, e := range l.events {
		if o := l.events[least]; e.Times < o.Times || e.Times == o.Times && e.Last.Before(o.Last) {
			least = i
		}
	}
	return least
}

// Tier adds an event for a key that was seen with another tier than before. Two lists of keys
// notice each such change and report it. Tier adds it only once.
func (l *Log) Tier(now time.Time, p *Place) {
	if !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	var last *Event
	for _, e := range l.events {
		if e.Kind == TierSeen && e.Rule == p.Rule && string(e.Key) == string(p.Key) && (last == nil || last.Last.Before(e.Last)) {
			last = e
		}
	}
	if last == nil || last.Tier != p.Tier {
		l.addLocked(now, &Event{Place: *p})
	}
}

// AddReload adds a reload. If the log is full, the oldest reload makes room.
func (l *Log) AddReload(r *Reload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.reloads) == mostReloads {
		l.reloads = slices.Delete(l.reloads, 0, 1)
	}
	l.reloads = append(l.reloads, *r)
}

// A View is the content of a log.
type View struct {
	Events  []Event // in no order
	Reloads []Reload
	Missed  uint64 // number of events that were left out because of newPerSecond
}

// View returns the content of the log.
func (l *Log) View() View {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := View{Events: make([]Event, len(l.events)), Reloads: slices.Clone(l.reloads), Missed: l.missed}
	for i, e := range l.events {
		v.Events[i] = *e // the copy shares the key, which never changes
	}
	return v
}
