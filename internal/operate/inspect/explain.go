package inspect

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/caddyread/reach"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An Explainer implements evaluate.Explainer.
type Explainer struct{ Store Store }

// Addresses implements evaluate.Explainer.
func (Explainer) Addresses(s *zone.Snapshot, lists *zone.Addresses, r *http.Request) *api.DecidedBy {
	addr, ok, early := zone.ClientAddr(r)
	if !ok || early {
		return nil
	}
	return accessOfAddresses(netip.PrefixFrom(addr, addr.BitLen()), s.Version.Document.Access, time.Now(), lists)
}

// Zone implements evaluate.Explainer.
func (x Explainer) Zone(s *zone.Snapshot, r *zone.Request, found *zone.Reading, applies bool, err error) api.ExplainedZone {
	i := inspector{snapshot: s, store: x.Store, zone: found.Zone, now: r.Time()}
	return i.explain(r, found, applies, err)
}

// explain says what the zone finds in a request, and why.
func (i *inspector) explain(r *zone.Request, found *zone.Reading, applies bool, err error) api.ExplainedZone {
	z := i.zone
	x := api.ExplainedZone{
		Zone: z.Name, Applies: applies, DryRun: applies && found.DryRun, Values: []api.ExplainedRead{},
		Limits: []api.ExplainedLimit{}, TierUnknown: found.UnknownTier, Path: z.PathOf(r),
	}
	switch {
	case err != nil:
		x.Why = err.Error()
	case !applies:
		x.Why = "the zone's match lets the request pass: " + reach.Describe(z.Matchers)
		return x
	case found.Refusal != nil:
		x.Why = found.Refusal.Message
	}
	i.explainKey(&x, r, found)
	if found.Template == nil {
		if x.Why == "" {
			x.Applies, x.Why = false, "the request has no key, and on_missing_key is skip"
		}
		return x
	}
	if x.Access = i.accessByKey(); x.Access != nil {
		return x
	}
	endpoint, tier, _ := z.Lookup(r, i.snapshot, found.Template)
	i.explainTier(&x, r, tier)
	if found.Refusal == nil && err == nil {
		x.Adaptive = describeAdaptive(z.Adaptive)
		i.explainLimits(&x, r, found, endpoint, tier)
	}
	return x
}

// explainKey says what the key is, and how it was read.
func (i *inspector) explainKey(x *api.ExplainedZone, r *zone.Request, found *zone.Reading) {
	x.Template = i.zone.Key.String()
	x.Values = appendReads(x.Values, "key", i.zone.Key.Values(r.HTTP, r.Repl)...)
	i.key = rules.Key{Zone: i.zone.Name, Missing: found.Template != i.zone.Key}
	if found.Template == nil {
		return
	}
	if i.key.Missing {
		x.Missing, x.Template = true, found.Template.String()
		x.Values = appendReads(x.Values, "on_missing_key", found.Template.Values(r.HTTP, r.Repl)...)
	}
	i.key.Text = found.Template.Text(r.HTTP, r.Repl)
	if !utf8.ValidString(i.key.Text) {
		i.key.Base64, i.key.Text = base64.StdEncoding.EncodeToString([]byte(i.key.Text)), ""
	}
	i.setKeys([][]byte{found.Key})
	x.Key, x.Base64 = i.key.Text, i.key.Base64
}

// explainTier says that the request has a tier, and what decides it.
func (i *inspector) explainTier(x *api.ExplainedZone, r *zone.Request, tier string) {
	by, _ := i.tier("") // the error is about a name
	if by != nil && by.Source == api.FromPlaceholder {
		p := i.zone.TierPlaceholder()
		text, presence := p.Value(r.HTTP, r.Repl)
		x.Values = appendReads(x.Values, "tier", keytemplate.Value{Placeholder: p.Name, Text: text, Presence: presence})
		if by.Name = tier; by.Name != text {
			by.Source, by.Placeholder = api.FromDefault, ""
		}
		if by.Name == "" {
			by = nil
		}
	}
	x.Tier = by
}

// explainLimits adds the limits that the request is charged to, or the one that lets it pass: that
// of an endpoint for a tier.
func (i *inspector) explainLimits(x *api.ExplainedZone, r *zone.Request, found *zone.Reading, endpoint, tier string) {
	all, admitted := i.snapshot.Slots(i.zone), api.ExplainedDecision{Outcome: api.Admitted}
	slotAt := func(endpoint string) *zone.Slot {
		return &all[slices.IndexFunc(all, func(s zone.Slot) bool {
			return s.Endpoint == endpoint && s.Tier == tier && s.Missing == i.withoutKey()
		})]
	}
	add := func(s *zone.Slot, cost int64, counts *config.StatusSet, late *zone.LateCharge) {
		for _, c := range i.counts(r.HTTP.Context(), s) {
			limit := api.ExplainedLimit{Rule: c, Cost: cost, ExplainedDecision: admitted}
			if counts != nil {
				limit.CountStatus = counts.String()
			}
			if late != nil {
				limit.Charge = late.String()
			}
			x.Limits = append(x.Limits, limit)
		}
		p, of := s.Cost, "cost"
		if late != nil {
			p, of = late.Reserves(), "reserve"
		}
		if p != nil {
			text, presence := p.Value(r.HTTP, r.Repl)
			x.Values = appendReads(x.Values, of, keytemplate.Value{Placeholder: p.Name, Text: text, Presence: presence})
		}
	}
	for _, c := range found.Charges {
		at, _ := c.Where()
		add(slotAt(at), c.Cost, c.Counts, c.Late)
	}
	if len(found.Charges)+len(found.Concurrent) == 0 {
		add(slotAt(endpoint), 0, nil, nil)
	}
	for _, c := range found.Concurrent {
		at, _ := c.Where()
		for _, rule := range i.concurrent(slotAt(at), true) {
			x.Concurrent = append(x.Concurrent, api.ExplainedConcurrent{Rule: rule, ExplainedDecision: admitted})
		}
	}
}

// appendReads appends the values of what a zone reads.
func appendReads(reads []api.ExplainedRead, of string, values ...keytemplate.Value) []api.ExplainedRead {
	for _, v := range values {
		read := api.ExplainedRead{Of: of, Placeholder: "{" + v.Placeholder + "}", Value: v.Text, Presence: v.Presence.String()}
		if !utf8.ValidString(v.Text) {
			read.Value = fmt.Sprintf("%q", v.Text)
		}
		ofRequest := strings.HasPrefix(v.Placeholder, "http.request.") || v.Placeholder == clientIP
		read.Unknown = v.Presence == keytemplate.Missing && !ofRequest
		reads = append(reads, read)
	}
	return reads
}
