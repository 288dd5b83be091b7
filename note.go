package fleetlimit

import (
	"cmp"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/placeholder"
)

// note counts what a zone has found in the request besides what it decides, and warns about what is
// probably a mistake in the configuration, once.
func (e *evaluation) note(found *reading) {
	z := found.zone
	if found.missing {
		z.usage.MissingKeys.Add(1)
	}
	if found.template != nil && found.template.HasClientIP() {
		e.noteUntrustedProxy(z)
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
		e.handler.logger.Warn("requests have no client address, as on a Unix socket, so they share one count unless "+
			"on_missing_key says otherwise: use {client_ip} with `trusted_proxies_unix` in the global option `servers`, and "+
			"a proxy that sends X-Forwarded-For", zap.String("zone", z.name), placeField(z.place),
			zap.String("key", z.key.String()))
	}
	if found.byDefault && !z.warned.Swap(true) {
		e.handler.logger.Warn("requests without a key are counted by the client's address: use on_missing_key to "+
			"change that", zap.String("zone", z.name), placeField(z.place), zap.String("key", z.key.String()))
	}
	z.eachUnprovided(&e.zoneRequest, func(placeholder string, requests int32) {
		e.logUnprovided(z, placeholder, requests)
	})
	e.credentials = z.appendCredentials(e.credentials, &e.zoneRequest)
}

// logUnprovided logs that nobody provides a placeholder of a zone, as a number of requests shows.
func (e *evaluation) logUnprovided(z *zone, name string, requests int32) {
	fields := []zap.Field{zap.String("zone", z.name), placeField(z.place), zap.String("placeholder", "{"+name+"}")}
	if nearest := placeholder.Nearest(name); nearest != "" {
		fields = append(fields, zap.String("did_you_mean", "{"+nearest+"}"))
	}
	if requests > 1 {
		e.handler.logger.Warn("none of many requests had a placeholder of the zone: use one that exists, or put what "+
			"provides it before this handler", append(fields, zap.Int32("requests", requests))...)
		return
	}
	e.handler.logger.Error("nothing provides a placeholder of the zone, so it is always empty: use one that exists, "+
		"or put what provides it before this handler", fields...)
}

// noteUnknownTier counts a request whose tier is no tier of the zone. It warns about each such tier
// once in a configuration.
func (e *evaluation) noteUnknownTier(z *zone, value string) {
	value = shortened(value)
	if !e.handler.app.unknownTiers.isNew(unknownTier{z.name, value}) {
		return
	}
	tiers, fallback := z.tierNames()
	e.handler.logger.Warn("the tier of a request is none of the zone's: use one of them, spelled as here, in what sets it",
		zap.String("zone", z.name), placeField(z.place), tierUnknownField(value), zap.Strings("tiers", tiers),
		zap.String("default", cmp.Or(fallback, "none")))
}

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
			e.handler.logger.Error("the zone is decided before authentication: it reads what a later handler sets, and "+
				"what until then the client chooses; use rate_limit_authenticated in place of rate_limit, or `route` to put the "+
				"directive after the one that sets it",
				zap.String("zone", z.name), placeField(z.place), zap.String("placeholder", "{"+read.placeholder+"}"))
		}
	}
}
