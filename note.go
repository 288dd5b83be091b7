package fleetlimit

import (
	"cmp"

	"github.com/fleetlimit/fleetlimit/internal/report"
)

// note counts what a zone has found in the request besides what it decides, and warns about what is
// probably a mistake in the configuration, once.
func (e *evaluation) note(found *reading) {
	z := found.zone
	if found.missing {
		z.usage.MissingKeys.Add(1)
	}
	if found.ambiguous > 0 {
		z.usage.Ambiguous.Add(uint64(found.ambiguous))
	}
	if found.invalidCosts > 0 {
		z.usage.InvalidCosts.Add(uint64(found.invalidCosts))
	}
	if found.unknownTier != "" {
		z.usage.UnknownTiers.Add(1)
		e.noteUnknownTier(z, found.unknownTier)
	}
	if found.noAddress && !z.warnedAddress.Swap(true) {
		e.handler.reports.WithoutAddress(z.reported(), z.key.String())
	}
	if found.byDefault && !z.warned.Swap(true) {
		e.handler.reports.WithoutKey(z.reported(), z.key.String())
	}
	z.eachUnprovided(&e.zoneRequest, func(placeholder string, requests int32) {
		e.handler.reports.UnknownPlaceholder(z.reported(), placeholder, requests)
	})
	e.credentials = z.appendCredentials(e.credentials, &e.zoneRequest)
}

// noteUnknownTier warns about a tier of a request that is no tier of the zone, once for each such
// tier in a configuration.
func (e *evaluation) noteUnknownTier(z *zone, value string) {
	if !e.handler.app.unknownTiers.isNew(unknownTier{z.name, value}) {
		return
	}
	tiers, fallback := z.tierNames()
	e.handler.reports.UnknownTier(z.reported(), value, tiers, cmp.Or(fallback, "none"))
}

// reported returns how warnings name the zone.
func (z *zone) reported() report.Zone { return report.Zone{Name: z.name, Place: z.place} }

// checkCredentials counts the zones that were decided before authentication, and logs each once in a
// configuration. It is called after the next handlers, which by then have set what they set.
func (e *evaluation) checkCredentials() {
	var counted *zone
	for i := range e.credentials {
		read := &e.credentials[i]
		z := read.zone
		if z == counted || !read.changed(&e.zoneRequest) {
			continue
		}
		counted = z
		z.usage.BeforeAuth.Add(1)
		if _, warned := e.handler.app.warnedBeforeAuth.LoadOrStore(z.name, nil); !warned {
			e.handler.reports.BeforeAuthentication(z.reported(), read.placeholder)
		}
	}
}
