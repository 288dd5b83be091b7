package live

import (
	"slices"
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
)

// A Stream sends what happens in a process to its viewers.
type Stream struct {
	process *adminapi.Process

	mu      sync.Mutex // guards the fields below
	viewers map[*Viewer]bool
	stop    chan struct{} // closed when the last viewer leaves; nil if no loop runs
	history history       // outlives its viewers
	newest  []event       // newest events of each name, for a viewer that joins
	last    sampler       // made newest
}

// NewStream returns the stream of a process.
func NewStream(process *adminapi.Process) *Stream {
	return &Stream{process: process, viewers: make(map[*Viewer]bool)}
}

// A Viewer gets the events of a stream, until it leaves.
type Viewer struct {
	zone   string // zone whose keys the viewer wants; "" if it wants none
	hello  Hello
	events chan event
}

// maxPending is how many events wait for a viewer. Those that find no room are dropped: a viewer
// that is slow gets fewer.
const maxPending = 8

// join adds a viewer. leave removes it. When the last viewer leaves, the stream ends its goroutine.
func (s *Stream) join(zone string) (v *Viewer, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := time.Now().Add(-time.Duration(maxPoints) * pointSpan)
	v = &Viewer{zone: zone, events: make(chan event, maxPending), hello: Hello{
		Outcomes: api.Outcomes, Sources: sourceNames(), History: s.history.total.since(since),
	}}
	if zone != "" {
		v.hello.OfZone = s.history.points(zone, since)
	}
	s.viewers[v] = true
	if s.stop == nil {
		from := s.last
		if time.Since(from.at) > interval {
			s.newest, from = nil, sampler{process: s.process}
		}
		s.stop = make(chan struct{})
		go s.serve(s.stop, &from)
	}
	for _, e := range s.newest {
		v.events <- e // there is room for one of each kind
	}
	return v, func() { s.leave(v) }
}

func (s *Stream) leave(v *Viewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.viewers, v)
	if len(s.viewers) == 0 {
		close(s.stop)
		s.stop = nil
	}
}

// serve makes the events until stop is closed. The first snapshot comes one interval after the last
// one of the sampler, so a viewer that reconnects at once sees no gap.
func (s *Stream) serve(stop <-chan struct{}, sampler *sampler) {
	due := time.NewTimer(time.Until(sampler.at.Add(interval)))
	defer due.Stop()
	select {
	case <-stop:
		return
	case <-due.C:
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for n := 0; ; n++ {
		s.send(stop, sampler, n)
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
	}
}

// send makes the events of a second, the nth, and hands them to the viewers.
func (s *Stream) send(stop <-chan struct{}, sampler *sampler, n int) {
	now, hasRates := time.Now(), !sampler.at.IsZero()
	snapshot := sampler.snapshot(now)
	events := []event{newEvent("snapshot", snapshot)}
	if n%fleetEach == 0 {
		events = append(events, newEvent("fleet", sampler.fleet()))
	}
	tops := make(map[string]event)
	if n%topEvery == 0 {
		for _, zone := range s.wantedZones() {
			if top := sampler.top(zone); top != nil {
				tops[zone] = newEvent("top", top)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != stop {
		return // the last viewer has left
	}
	if hasRates {
		s.history.add(now, snapshot.Zones)
	}
	s.newest, s.last = newestOf(s.newest, events), *sampler
	for v := range s.viewers {
		for _, e := range events {
			v.offer(e)
		}
		if e, wanted := tops[v.zone]; wanted {
			v.offer(e)
		}
	}
}

// wantedZones returns the zones whose keys viewers want, each once.
func (s *Stream) wantedZones() (zones []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.viewers {
		if v.zone != "" && !slices.Contains(zones, v.zone) {
			zones = append(zones, v.zone)
		}
	}
	return zones
}

func (v *Viewer) offer(e event) {
	select {
	case v.events <- e:
	default:
	}
}
