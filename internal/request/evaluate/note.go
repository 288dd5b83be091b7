package evaluate

import (
	"cmp"

	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// note counts what a zone has found in the request besides its decision, and warns, once, about what is
// probably a mistake in the configuration.
func (e *Evaluation) note(found *zone.Reading) {
	z := found.Zone
	if found.Missing {
		z.Usage.MissingKeys.Add(1)
	}
	if found.Template != nil && found.Template.HasClientIP() {
		e.noteUntrustedProxy(z)
	}
	if found.Ambiguous > 0 {
		z.Usage.Ambiguous.Add(uint64(found.Ambiguous))
	}
	if found.InvalidCosts > 0 {
		z.Usage.InvalidCosts.Add(uint64(found.InvalidCosts))
	}
	if found.UnknownTier != "" {
		z.Usage.UnknownTiers.Add(1)
		e.noteUnknownTier(z, found.UnknownTier)
	}
	if found.NoAddress && !z.WarnedNoAddress.Swap(true) {
		e.handler.Reports.WithoutAddress(reported(z), z.Key.String())
	}
	if found.ByDefault && !z.WarnedNoKey.Swap(true) {
		e.handler.Reports.WithoutKey(reported(z), z.Key.String())
	}
	z.EachUnprovided(&e.Request, func(placeholder string, requests int32) {
		z.Usage.Unprovided.Add(1)
		e.handler.Reports.UnknownPlaceholder(reported(z), placeholder, requests)
	})
	e.credentials = z.AppendCredentials(e.credentials, &e.Request)
}

// noteUnknownTier warns about a tier that the request names and the zone does not have, once for each such
// tier in a configuration.
func (e *Evaluation) noteUnknownTier(z *zone.Zone, value string) {
	if !e.handler.App.unknownTiers.isNew(unknownTier{z.Name, value}) {
		return
	}
	tiers, fallback := z.TierNames()
	e.handler.Reports.UnknownTier(reported(z), value, tiers, cmp.Or(fallback, "none"))
}

// reported returns how warnings name the zone.
func reported(z *zone.Zone) report.ZoneName { return report.ZoneName{Name: z.Name, Place: z.Place} }

// checkCredentials finds the zones that were decided before authentication: a later handler has set a
// credential that the zone had read. It counts each zone, and logs it once in a configuration. It is called
// after the next handlers have returned.
func (e *Evaluation) checkCredentials() {
	var counted *zone.Zone
	for i := range e.credentials {
		read := &e.credentials[i]
		z := read.Zone
		if z == counted || !read.Changed(&e.Request) {
			continue
		}
		counted = z
		z.Usage.BeforeAuth.Add(1)
		if _, warned := e.handler.App.warnedBeforeAuth.LoadOrStore(z.Name, nil); !warned {
			e.handler.Reports.BeforeAuthentication(reported(z), read.Placeholder)
		}
	}
}
