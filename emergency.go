package fleetlimit

import (
	"errors"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/internal/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An emergency is a limit for each client address, in front of all zones of this node. It is
// counted in the memory of this process, whatever the store of the zones is.
type emergency struct {
	limit     *config.Limit
	reason    string
	startedBy string           // the client of the admin API
	rules     *rules.Emergency // nil: it is not of the rules in force, but of this node alone
	startedAt time.Time
	expiresAt time.Time

	key    *keytemplate.Template
	policy response.Policy
	counts *memstore.Store
	expire *time.Timer
	warned atomic.Bool // about clients without an address
}

// An emergencySwitch holds the emergency of this process: that of the rules in force, or one of
// this node alone, which comes first until it ends. It outlives configurations.
type emergencySwitch struct {
	current atomic.Pointer[emergency] // nil: off
	used    atomic.Bool               // it was on once
	state   usage.Zone                // counters and limits of reports

	mu      sync.Mutex       // guards changes of current
	ofRules *rules.Emergency // nil: the rules in force have none
}

var emergencyMode = emergencySwitch{state: usage.Zone{Name: adminapi.EmergencyZone}}

// active returns the emergency at now, or nil. While emergency mode is off, it is one atomic load.
func (m *emergencySwitch) active(now time.Time) *emergency {
	e := m.current.Load()
	if e == nil || !now.Before(e.expiresAt) {
		return nil
	}
	return e
}

// start makes e the emergency. If there is one, its counts go on under the new limit.
func (m *emergencySwitch) start(e *emergency) error {
	key, err := keytemplate.Parse("{http.vars.client_ip}", keytemplate.Options{IPv4Prefix: 32, IPv6Prefix: 64})
	if err != nil {
		return err
	}
	e.key = key

	m.mu.Lock()
	earlier := m.current.Load()
	if earlier != nil {
		e.counts = earlier.counts
	} else {
		e.counts = memstore.New(memstore.Options{})
	}
	rule, err := limiter.NewRule(limiter.Rule{Zone: e.counts.Open(adminapi.EmergencyZone), Limit: e.limit.Compile()})
	if err != nil {
		if earlier == nil {
			e.counts.Close()
		}
		m.mu.Unlock()
		return err
	}
	e.policy = response.NewPolicy(adminapi.EmergencyZone, rule, e.limit)
	if earlier != nil {
		earlier.expire.Stop()
	}
	e.startedAt = time.Now()
	e.expire = time.AfterFunc(time.Until(e.expiresAt), func() { m.end(e, "emergency mode is off: it has expired") })
	m.used.Store(true)
	m.current.Store(e)
	m.mu.Unlock()

	where := "on this node"
	if e.rules != nil {
		where = "on all nodes"
	}
	e.report("on", "emergency mode is on: each client address has a hard limit "+where,
		zap.String("limit", e.limit.String()), zap.Time("expires_at", e.expiresAt), zap.String("reason", e.reason),
		zap.String("by", e.startedBy))
	return nil
}

// follow makes the emergency of the rules in force that of this node, unless it is already. nil:
// they have none.
func (m *emergencySwitch) follow(of *rules.Emergency) error {
	if of.Expired(time.Now()) {
		of = nil
	}
	m.mu.Lock()
	current, changed := m.current.Load(), !reflect.DeepEqual(of, m.ofRules)
	m.ofRules = of
	m.mu.Unlock()
	switch {
	case !changed, current != nil && current.rules == nil: // that of this node ends first
		return nil
	case of == nil && current != nil:
		m.end(current, "emergency mode is off: the rules have none any more")
		return nil
	case of == nil:
		return nil
	}
	return m.startOfRules(of)
}

func (m *emergencySwitch) startOfRules(of *rules.Emergency) error {
	e, err := newEmergency(of)
	if err != nil {
		return err
	}
	e.rules = of
	return m.start(e)
}

// newEmergency returns what of describes, for this node alone.
func newEmergency(of *rules.Emergency) (*emergency, error) {
	limit, err := parseEmergencyLimit(of.Limit)
	if err != nil {
		return nil, err
	}
	e := &emergency{limit: limit, reason: of.Reason, startedBy: of.StartedBy, expiresAt: time.Now().Add(rules.MaxEmergency)}
	if of.ExpiresAt != nil {
		e.expiresAt = *of.ExpiresAt
	}
	return e, nil
}

// parseEmergencyLimit parses the limit of an emergency.
func parseEmergencyLimit(text string) (*config.Limit, error) {
	limit, err := config.ParseLimit(text)
	switch {
	case err != nil:
		return nil, err
	case limit.Unlimited:
		return nil, errors.New("unlimited is no emergency: use DELETE to end one")
	case limit.Block:
		return nil, errors.New("block is no limit for each address: use a rate such as 1/1m")
	}
	return limit, nil
}

// end ends e, unless another emergency has replaced it, and reports it with message. After one of
// this node alone comes that of the rules in force.
func (m *emergencySwitch) end(e *emergency, message string, about ...zap.Field) {
	m.mu.Lock()
	ended := m.current.CompareAndSwap(e, nil)
	if ended {
		e.expire.Stop()
		e.counts.Close()
	}
	of := m.ofRules
	m.mu.Unlock()
	if !ended {
		return
	}
	e.report("off", message, append(about, zap.String("limit", e.limit.String()))...)
	if e.rules == nil && !of.Expired(time.Now()) {
		_ = m.startOfRules(of) // its limit was right before
	}
}

// describe returns e, which may be nil, as the admin API has it.
func (e *emergency) describe() adminapi.Emergency {
	if e == nil {
		return adminapi.Emergency{}
	}
	started, expires := e.startedAt.UTC(), e.expiresAt.UTC()
	return adminapi.Emergency{
		Active: true, Limit: e.limit.String(), Reason: e.reason, StartedBy: e.startedBy,
		StartedAt: &started, ExpiresAt: &expires, AllNodes: e.rules != nil,
	}
}

// report logs a change of emergency mode, and emits its event if a configuration is running.
func (e *emergency) report(state, message string, about ...zap.Field) {
	caddy.Log().Named(appName).Warn(message, about...)
	if a := newestApp(); a != nil {
		a.log.EmitLater("rate_limit_emergency", map[string]any{"state": state, "limit": e.limit.String(), "reason": e.reason})
	}
}

// takeInEmergency takes from the limit of emergency mode if that is on. It sets denied if the limit
// rejects the request. Of several handlers, the first takes for all.
func (e *evaluation) takeInEmergency() error {
	if emergencyMode.current.Load() == nil {
		return nil
	}
	now := time.Now()
	m := emergencyMode.active(now)
	if m == nil || e.state != nil && e.state.emergency {
		return nil
	}
	key, has, err := m.key.Append(e.keyBuffer(), e.request, e.repl)
	switch {
	case err != nil:
		return caddyhttp.Error(http.StatusTooEarly, err)
	case has != keytemplate.Present:
		if !m.warned.Swap(true) { // once for each emergency
			e.handler.logger.Warn("emergency mode does not limit clients without an address: use trusted_proxies_unix if a " +
				"proxy connects by a Unix socket")
		}
		return nil
	}
	e.attachState()
	e.state.emergency = true
	e.now = limiter.At(now)
	e.takes = append(e.takes, limiter.Take{Rule: m.policy.Rule, Key: key, Cost: 1})
	_ = m.counts.Take(e.request.Context(), e.now, e.takes) // it never fails
	r := response.Result{Zone: &emergencyMode.state, Policy: &m.policy, Template: m.key, Cost: 1, Headers: e.handler.headers}
	r.Decide(&e.takes[0], e.now)
	end := e.now + limiter.Instant(m.expiresAt.Sub(now)/time.Microsecond) + 1
	r.Decision.RetryAt, r.Decision.ResetAt = min(r.Decision.RetryAt, end), min(r.Decision.ResetAt, end)
	e.count(&r, !r.Decision.OK)
	clear(e.takes)
	e.takes = e.takes[:0]
	if !r.Decision.OK {
		e.state.Add(r)
		e.denied = &e.state.Results[len(e.state.Results)-1]
	}
	return nil
}
