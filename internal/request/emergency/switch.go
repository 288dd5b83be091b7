package emergency

import (
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A Switch holds the emergency of this process: that of the rules in force, or one of this node alone, which
// takes precedence until it ends. The switch outlives configurations.
type Switch struct {
	observer Observer
	current  atomic.Pointer[emergency] // nil if emergency mode is off

	mu      sync.Mutex             // guards changes of current
	zone    response.ZoneResponses // the zone of all emergencies; without Usage before the first one
	ofRules *rules.Emergency       // nil if the rules in force have none
}

// An Observer is told what happens in emergency mode, in order. Its methods must return at once.
type Observer interface {
	// EmergencyOn says that an emergency has begun, or has replaced another one.
	EmergencyOn(e api.Emergency)

	// EmergencyOff says why an emergency has ended, and who has ended it, if anybody has.
	EmergencyOff(e api.Emergency, why, by string)

	// EmergencyWithoutAddress says that a client without an address is not limited, once for each
	// emergency.
	EmergencyWithoutAddress()
}

// New returns a switch that is off.
func New(observer Observer) *Switch { return &Switch{observer: observer} }

// IsOff reports whether there is no emergency. It is one atomic load.
func (s *Switch) IsOff() bool { return s.current.Load() == nil }

// active returns the emergency at now, or nil.
func (s *Switch) active(now time.Time) *emergency {
	e := s.current.Load()
	if e == nil || !now.Before(e.expiresAt) {
		return nil
	}
	return e
}

// Buffers are empty buffers for a key and a take, which the caller may use again afterwards.
type Buffers struct {
	Key   []byte
	Takes []limiter.Take
}

// Take takes from the limit of emergency mode. taken is false if the mode is off, or if the client has no
// address. The error is that the address is not verified yet.
func (s *Switch) Take(r *http.Request, repl *caddy.Replacer, b Buffers) (result response.Result, taken bool, err error) {
	now := time.Now()
	e := s.active(now)
	if e == nil {
		return result, false, nil
	}
	result, taken, err = e.take((*memstore.Store).Take, r, repl, b, &s.zone, now)
	if !taken && err == nil && !e.warned.Swap(true) {
		s.observer.EmergencyWithoutAddress()
	}
	return result, taken, err
}

// Peek decides as Take does, and takes nothing.
func (s *Switch) Peek(r *http.Request, repl *caddy.Replacer, b Buffers) (result response.Result, decided bool, err error) {
	now := time.Now()
	e := s.active(now)
	if e == nil {
		return result, false, nil
	}
	return e.take((*memstore.Store).Peek, r, repl, b, &s.zone, now)
}

// Describe describes the emergency that is on, if any is.
func (s *Switch) Describe() api.Emergency { return s.active(time.Now()).describe() }

// Start starts an emergency of this node alone, and describes it. The error is a mistake in of.
func (s *Switch) Start(of *rules.Emergency) (api.Emergency, error) {
	e, err := newEmergency(of)
	if err == nil {
		err = s.start(e)
	}
	if err != nil {
		return api.Emergency{}, err
	}
	return e.describe(), nil
}

// End ends the emergency of this node alone. It returns false if the emergency of the rules is on, which
// it does not end.
func (s *Switch) End(by string) bool {
	e := s.current.Load()
	if e != nil && e.rules != nil {
		return false
	}
	if e != nil {
		s.end(e, "", by)
	}
	return true
}

// Follow starts the emergency of the rules in force on this node, unless it is on, and ends the one that the
// rules had before. of is nil if the rules have none. An emergency of this node alone goes on until it ends.
func (s *Switch) Follow(of *rules.Emergency) error {
	if of.Expired(time.Now()) {
		of = nil
	}
	s.mu.Lock()
	current, changed := s.current.Load(), !reflect.DeepEqual(of, s.ofRules)
	s.ofRules = of
	s.mu.Unlock()
	switch {
	case !changed, current != nil && current.rules == nil: // an emergency of this node alone goes on
		return nil
	case of != nil:
		return s.startOfRules(of)
	case current != nil:
		s.end(current, "the rules have none any more", "")
	}
	return nil
}

func (s *Switch) startOfRules(of *rules.Emergency) error {
	e, err := newEmergency(of)
	if err != nil {
		return err
	}
	e.rules = of
	return s.start(e)
}

// start switches e on. If another emergency is on, its counts go on under the limit of e.
func (s *Switch) start(e *emergency) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.zone.Usage == nil {
		s.zone.Usage, _ = usage.Acquire(api.EmergencyZone) // as long as the process lives
	}
	if earlier := s.current.Load(); earlier != nil {
		if err := e.countIn(earlier.counts); err != nil {
			return err
		}
		earlier.expire.Stop()
	} else {
		counts := memstore.New(memstore.Options{})
		if err := e.countIn(counts); err != nil {
			counts.Close()
			return err
		}
	}
	e.startedAt = time.Now()
	e.expire = time.AfterFunc(time.Until(e.expiresAt), func() { s.end(e, "it has expired", "") })
	s.current.Store(e)
	s.observer.EmergencyOn(e.describe())
	return nil
}

// end ends e, unless another emergency has replaced it. If e is of this node alone, the emergency of the
// rules in force follows.
func (s *Switch) end(e *emergency, why, by string) {
	s.mu.Lock()
	ended := s.current.CompareAndSwap(e, nil)
	if ended {
		e.expire.Stop()
		e.counts.Close()
		s.observer.EmergencyOff(e.describe(), why, by)
	}
	of := s.ofRules
	s.mu.Unlock()
	if ended && e.rules == nil && !of.Expired(time.Now()) {
		_ = s.startOfRules(of) // its limit was right before
	}
}
