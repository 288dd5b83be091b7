package fleetlimit

import (
	"encoding/base64"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/internal/usage"
)

// passes reports whether requests with an outcome are what a healthy node mostly has. Tails have a
// sample of them.
func passes(outcome string) bool {
	return outcome == adminapi.Admitted || outcome == adminapi.Allowed || outcome == adminapi.Degraded
}

// tails are the tails of the decisions of this process.
var tails adminapi.Tails

// decided is what a tail can ask about a decision.
type decided struct {
	outcome string
	zone    *usage.Zone           // nil: the client's address has decided, before any zone
	key     *keytemplate.Template // nil: the request has no key
	result  *response.Result      // nil: no count was needed
	reason  string                // of denied and would_deny
	wouldBe int                   // the status of the response without the dry run
}

func (d *decided) zoneName() string {
	if d.zone == nil {
		return ""
	}
	return d.zone.Name
}

// publish hands a decision to the tails that want it. While there is none, it is one atomic load.
func (e *evaluation) publish(d decided) {
	var decision *adminapi.Decision // the same for all
	for _, t := range tails.All() {
		if !e.isWanted(&t.Filter, &d) || t.Full() {
			continue
		}
		if decision == nil {
			decision = e.newDecision(&d)
		}
		t.Put(decision)
	}
}

func (e *evaluation) isWanted(f *adminapi.DecisionFilter, d *decided) bool {
	if len(f.Zones) > 0 && !slices.Contains(f.Zones, d.zoneName()) ||
		len(f.Outcomes) > 0 && !slices.Contains(f.Outcomes, d.outcome) ||
		f.Sample < 1 && passes(d.outcome) && rand.Float64() >= f.Sample {
		return false
	}
	if f.Keys == nil {
		return true
	}
	if d.zone == nil {
		addr, ok, _ := clientAddr(e.request)
		return ok && f.Address.IsValid() && f.Address.Contains(addr)
	}
	wanted := f.Keys[d.zoneName()]
	if len(wanted) == 0 || d.key == nil {
		return false
	}
	var buffer [256]byte
	key, has, err := d.key.Append(buffer[:0], e.request, e.repl)
	return err == nil && has == keytemplate.Present &&
		slices.ContainsFunc(wanted, func(other []byte) bool { return string(other) == string(key) })
}

// maxTailKey is the longest key of a decision in bytes: a client must not fill the memory with what
// it sends. Longer ones have a key_hash all the same.
const maxTailKey = 2048

// newDecision describes a decision. It refers to nothing of the request, which it may outlive.
func (e *evaluation) newDecision(d *decided) *adminapi.Decision {
	decision := &adminapi.Decision{
		Time: time.Now().UTC().Truncate(time.Microsecond), Zone: d.zoneName(),
		Outcome: d.outcome, Reason: d.reason, WouldBe: d.wouldBe,
		Request: e.describe(d.key),
	}
	for _, text := range []*string{&decision.RemoteIP, &decision.ClientIP, &decision.Method, &decision.Host, &decision.Path} {
		*text = strings.Clone(*text) // of a request line that may be much longer
	}
	switch d.outcome {
	case adminapi.Rejected:
		decision.Status = http.StatusTooManyRequests
	case adminapi.Unavailable:
		decision.Status = http.StatusServiceUnavailable
	case adminapi.Denied:
		decision.Status = e.refused.refusal.Status
	}
	if d.key != nil {
		e.addKey(decision, d)
	}
	if r := d.result; r != nil {
		limit, remaining := r.Decision.Limit, r.Remaining()
		decision.Limit = &limit
		if r.Cost > 1 {
			decision.Cost = r.Cost
		}
		if !r.Outage || remaining >= 0 {
			decision.Remaining = &remaining
		}
		if !r.Decision.OK {
			decision.Wait = adminapi.Wait(r.BoundedWait())
		}
		decision.Source = r.Decision.Source.String()
	}
	return decision
}

// addKey adds the key, and what the zone has found for it.
func (e *evaluation) addKey(decision *adminapi.Decision, d *decided) {
	text := d.key.Text(e.request, e.repl)
	switch {
	case len(text) > maxTailKey:
	case utf8.ValidString(text):
		decision.Key = text
	default:
		decision.Base64 = base64.StdEncoding.EncodeToString([]byte(text))
	}
	i := slices.IndexFunc(e.handler.zones, func(z *zone) bool { return z.usage == d.zone })
	if i < 0 { // that of emergency mode
		return
	}
	z := e.handler.zones[i]
	decision.Missing = d.key != z.key // then it is what stands in for one
	endpoint, tier, unknown := z.lookup(&e.zoneRequest, e.rules, d.key, d.result)
	decision.Endpoint, decision.Tier, decision.TierUnknown = endpoint, tier, strings.Clone(shortened(unknown))
}
