package zone

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/caddyread/reach"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/rules"
)

// Explain says what a zone finds in a request, and why. found, applies and the error are what Read
// has returned. The limits are those of the charges, in their order, without what they would decide.
// So are those of requests at once.
func (s *Snapshot) Explain(
	ctx context.Context, store InspectedStore, r *Request, found *Reading, applies bool, err error,
) api.ExplainedZone {
	z := found.Zone
	x := api.ExplainedZone{
		Zone: z.Name, Applies: applies, DryRun: applies && found.DryRun, Values: []api.ExplainedRead{},
		Limits: []api.ExplainedLimit{}, TierUnknown: found.UnknownTier, Path: z.pathOf(r),
	}
	switch {
	case err != nil:
		x.Why = err.Error()
	case !applies:
		x.Why = "the zone's match lets the request pass: " + reach.Describe(z.matchers)
		return x
	case found.Refusal != nil:
		x.Why = found.Refusal.Message
	}
	i := inspector{snapshot: s, store: store, zone: z, config: z.builder.zone, now: r.Time()}
	i.explainKey(&x, r, found)
	if found.Template == nil {
		if x.Why == "" {
			x.Applies, x.Why = false, "the request has no key, and on_missing_key is skip"
		}
		return x
	}
	if x.Access = i.accessByKey(); found.Allowed || found.Refusal == deniedKey {
		return x
	}
	i.explainTier(&x, r, found)
	if found.Refusal == nil && err == nil {
		x.Adaptive = z.describeAdaptive()
		i.explainLimits(ctx, &x, r, found)
	}
	return x
}

// pathOf returns the path that z matches, "" if it tells no paths apart.
func (z *Zone) pathOf(r *Request) string {
	switch {
	case z.paths == (pathUse{}):
		return ""
	case z.onOriginal:
		return r.sentURL().Path
	}
	return r.HTTP.URL.Path
}

// explainKey says what the key is, and how it was read.
func (i *inspector) explainKey(x *api.ExplainedZone, r *Request, found *Reading) {
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

// explainTier says which tier the request has, and what decides it.
func (i *inspector) explainTier(x *api.ExplainedZone, r *Request, found *Reading) {
	by, _ := i.tier("") // the error is about a name
	if by != nil && by.Source == api.FromPlaceholder {
		p := i.zone.tiers.placeholder
		text, presence := p.Value(r.HTTP, r.Repl)
		x.Values = appendReads(x.Values, "tier", keytemplate.Value{Placeholder: p.Name, Text: text, Presence: presence})
		if by.Name = i.zone.tiers.name(found.tier); by.Name != text {
			by.Source, by.Placeholder = api.FromDefault, ""
		}
		if by.Name == "" {
			by = nil
		}
	}
	x.Tier = by
}

// explainLimits adds the limits that the request is charged to, or the one that lets it pass.
func (i *inspector) explainLimits(ctx context.Context, x *api.ExplainedZone, r *Request, found *Reading) {
	inForce, admitted := i.snapshot.rulesFor(i.zone), api.ExplainedDecision{Outcome: api.Admitted}
	add := func(place int, cost int64, counts *config.StatusSet, late *LateCharge) {
		for _, c := range i.counts(ctx, inForce, place, found.tier) {
			limit := api.ExplainedLimit{Rule: c, Cost: cost, ExplainedDecision: admitted}
			if counts != nil {
				limit.CountStatus = counts.String()
			}
			if late != nil {
				limit.Charge = late.String()
			}
			x.Limits = append(x.Limits, limit)
		}
		p, of := inForce.endpoints[place].cost.placeholder, "cost"
		if late != nil {
			p, of = late.reserve.placeholder, "reserve"
		}
		if p != nil {
			text, presence := p.Value(r.HTTP, r.Repl)
			x.Values = appendReads(x.Values, of, keytemplate.Value{Placeholder: p.Name, Text: text, Presence: presence})
		}
	}
	for _, c := range found.Charges {
		add(c.endpoint, c.Cost, c.Counts, c.Late)
	}
	if len(found.Charges)+len(found.Concurrent) == 0 {
		add(i.zone.placeOf(r, inForce), 0, nil, nil)
	}
	for _, c := range found.Concurrent {
		for _, rule := range i.concurrent(inForce, c.endpoint, found.tier, true) {
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
		ofRequest := strings.HasPrefix(v.Placeholder, "http.request.") || "{"+v.Placeholder+"}" == clientIP
		read.Unknown = v.Presence == keytemplate.Missing && !ofRequest
		reads = append(reads, read)
	}
	return reads
}
