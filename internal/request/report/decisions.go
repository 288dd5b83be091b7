package report

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/tail"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// passes reports whether an outcome lets a request pass, as most requests of a healthy node do. Only a sample
// of these decisions is recorded and followed.
func passes(outcome string) bool {
	return outcome == api.Admitted || outcome == api.Allowed || outcome == api.Degraded ||
		outcome == api.Queued
}

// A Decision is what records and tails of decisions may need of a decision.
type Decision struct {
	Request Subject
	Outcome string
	Zone    *usage.ZoneCounters   // nil if the client's address has decided, before any zone
	Key     *keytemplate.Template // nil if the request has no key
	Result  *response.Result      // nil if no count was needed
	Reason  string                // why the request is denied or allowed without a count; "" if a count decides
	Status  int                   // the status of the response; 0 if the request goes on
	WouldBe int                   // the status of the response without the dry run
	Finder  Finder
}

// A Finder finds what a zone knows of the key of a request.
type Finder interface {
	// Find returns what z knows of key. r is nil if no count was needed. Find returns false if z is the zone
	// of emergency mode.
	Find(z *usage.ZoneCounters, key *keytemplate.Template, r *response.Result) (Found, bool)
}

// Found is what a zone knows of the key of a request.
type Found struct {
	Missing        bool // the request has no key, and another one stands in for it
	Endpoint, Tier string
	UnknownTier    string // the tier that the request names, if the zone has no such tier
}

func (d *Decision) zoneName() string {
	if d.Zone == nil {
		return ""
	}
	return d.Zone.Name
}

// Decided hands a decision to the tails that want it.
func (p *Process) Decided(d Decision) {
	var told *api.Decision // shared by all tails
	for _, t := range p.Tails.All() {
		if !d.isWanted(&t.Filter) || t.Full() {
			continue
		}
		if told == nil {
			told = d.describe(true)
		}
		t.Put(told)
	}
}

func (d *Decision) isWanted(f *tail.DecisionFilter) bool {
	if len(f.Zones) > 0 && !slices.Contains(f.Zones, d.zoneName()) ||
		len(f.Outcomes) > 0 && !slices.Contains(f.Outcomes, d.Outcome) ||
		f.Sample < 1 && passes(d.Outcome) && rand.Float64() >= f.Sample {
		return false
	}
	if f.Keys == nil {
		return true
	}
	if d.Zone == nil {
		addr, ok := ipset.ParseAddr(d.Request.client())
		return ok && f.Address.IsValid() && f.Address.Contains(addr)
	}
	wanted := f.Keys[d.zoneName()]
	if len(wanted) == 0 || d.Key == nil {
		return false
	}
	var buffer [256]byte
	key, has, err := d.Key.Append(buffer[:0], d.Request.Request, d.Request.Replacer)
	return err == nil && has == keytemplate.Present &&
		slices.ContainsFunc(wanted, func(other []byte) bool { return string(other) == string(key) })
}

// maxTailKey is the longest key of a decision in bytes: a client must not fill the memory with what it sends.
// A decision with a longer key has its key_hash alone.
const maxTailKey = 2048

// describe describes a decision. If withKey is false, the description has only the hash of the key. It refers
// to no memory of the request, because it may outlive the request.
func (d *Decision) describe(withKey bool) *api.Decision {
	told := &api.Decision{
		Time: time.Now().UTC().Truncate(time.Microsecond), Zone: d.zoneName(),
		Outcome: d.Outcome, Reason: d.Reason, Status: d.Status, WouldBe: d.WouldBe,
		Request: d.Request.describe(d.Key),
	}
	for _, text := range []*string{&told.RemoteIP, &told.ClientIP, &told.Method, &told.Host, &told.Path} {
		*text = strings.Clone(*text) // the text is part of a request line, which may be much longer
	}
	if d.Key != nil {
		d.describeKey(told, withKey)
	}
	if r := d.Result; r != nil {
		limit, remaining := r.Decision.Limit, r.Remaining()
		told.Limit = &limit
		if r.Cost > 1 {
			told.Cost = r.Cost
		}
		if r.Failure == nil || remaining >= 0 {
			told.Remaining = &remaining
		}
		if !r.Decision.OK {
			told.Wait = api.Wait(r.BoundedWait())
		}
		told.Waited = api.Wait(r.Waited)
		told.Source = r.Decision.Source.String()
		if r.Failure != nil {
			told.Reason = stores.Cause(r.Failure)
		}
	}
	return told
}

// describeKey adds the key, if withKey is true, and what the zone has found for it.
func (d *Decision) describeKey(told *api.Decision, withKey bool) {
	text := ""
	if withKey {
		text = d.Key.Text(d.Request.Request, d.Request.Replacer)
	}
	switch {
	case len(text) > maxTailKey:
	case utf8.ValidString(text):
		told.Key = text
	default:
		told.Base64 = base64.StdEncoding.EncodeToString([]byte(text))
	}
	if found, known := d.Finder.Find(d.Zone, d.Key, d.Result); known {
		told.Missing, told.Endpoint, told.Tier = found.Missing, found.Endpoint, found.Tier
		told.TierUnknown = strings.Clone(shortened(found.UnknownTier))
	}
}
