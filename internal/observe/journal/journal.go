// Package journal remembers what has happened to a zone and its keys on this node, which no version
// of the rules says: first rejections, tiers that requests of a key were seen with, and reloads. Its
// memory is bounded, whatever clients send.
package journal

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// Most is how many events about keys a log has, and mostReloads how many reloads.
	Most        = 500
	mostReloads = 50

	// Gap is the pause after which an event that happens again is another one. One under another limit
	// is, too.
	Gap = 10 * time.Minute

	// newPerSecond is how many events about keys begin in a second. A flood of keys has more.
	newPerSecond = 10
)

// What has happened to a key.
const (
	Rejected    = "rejected"
	WouldReject = "would_reject" // by a dry run
	TierSeen    = "tier_seen"
)

// A Place is which count of which key an event is about.
type Place struct {
	Kind     string
	Rule     uint32 // the ID of the rule whose count it is
	Key      []byte // as the store has it
	Endpoint string
	Tier     string // with which the key was seen
	Before   string // of TierSeen: the tier before
}

// An Event is what has happened to a key, from its first time to its last.
type Event struct {
	Place
	Limit       limiter.Limit // of a rejection; the zero value: no rate
	Concurrent  int64         // of a rejection for too many requests at once: the limit
	First, Last time.Time
	Times       int // of a rejection: windows that had one

	Origin   Origin                     // of a rejection: its first request
	Request  *http.Request              // that Describe describes; nil in what a Log has
	Describe func(*http.Request) Origin // is called if the event begins; nil: there is no Origin
}

// An Origin says where a request came from and what it asked for.
type Origin struct{ Client, Method, Path string }

// A Reload is what a reload has changed of the zone.
type Reload struct {
	Time                    time.Time
	Change                  string // added or changed
	Settings, Limits, Reset []string
}

// A Log is the journal of a zone. It is safe for concurrent use. The zero value is an empty log.
type Log struct {
	mu      sync.Mutex
	events  []*Event // in no order
	newest  map[place]*Event
	reloads []Reload // the newest last

	second int64 // in which begun events have begun
	begun  int
	missed uint64
}

// A place is a Place as the key of a map.
type place struct {
	kind, key, endpoint, tier, before string
	rule                              uint32
}

// Add adds what has happened to a key at now. It reports false if it is left out: the log is in use,
// or many events have begun in this second.
func (l *Log) Add(now time.Time, e *Event) bool {
	if !l.mu.TryLock() {
		return false
	}
	defer l.mu.Unlock()
	return l.addLocked(now, e)
}

// addLocked is Add. It needs l.mu.
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

// beginLocked adds an event that has begun at now. It needs l.mu.
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

// leastLocked returns the place of the event that is forgotten first: one that has happened least
// often, so that a flood of keys, each of which is rejected once, does not drive out others. It needs
// l.mu.
func (l *Log) leastLocked() (least int) {
	for i, e := range l.events {
		if o := l.events[least]; e.Times < o.Times || e.Times == o.Times && e.Last.Before(o.Last) {
			least = i
		}
	}
	return least
}

// Tier notes that a key was seen with a tier that it did not have when it was seen before. Two lists
// of keys may notice the same.
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

// AddReload adds what a reload has changed.
func (l *Log) AddReload(r *Reload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.reloads) == mostReloads {
		l.reloads = slices.Delete(l.reloads, 0, 1)
	}
	l.reloads = append(l.reloads, *r)
}

// A View is what a log has.
type View struct {
	Events  []Event // in no order
	Reloads []Reload
	Missed  uint64 // events that were left out, as many began in one second
}

// View returns what the log has.
func (l *Log) View() View {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := View{Events: make([]Event, len(l.events)), Reloads: slices.Clone(l.reloads), Missed: l.missed}
	for i, e := range l.events {
		v.Events[i] = *e // keys are never changed
	}
	return v
}
