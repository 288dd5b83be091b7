package report

import (
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
)

// A ZoneName is how warnings name a zone.
type ZoneName struct {
	Name  string
	Place string // in a Caddyfile; "" if it is unknown
}

func (z ZoneName) fields(about ...zap.Field) []zap.Field {
	return append([]zap.Field{zap.String("zone", z.Name), PlaceField(z.Place)}, about...)
}

// PlaceField returns a field for a place in a Caddyfile, none if the place is unknown.
func PlaceField(place string) zap.Field { return textField("place", place) }

// WithoutAddress warns that clients of a zone have no address, which its key needs.
func (l *Requests) WithoutAddress(z ZoneName, key string) {
	l.Warn("requests have no client address, as on a Unix socket, so they share one count unless on_missing_key says "+
		"otherwise: use {client_ip} with `trusted_proxies_unix` in the global option `servers`, and a proxy that sends "+
		"X-Forwarded-For", z.fields(zap.String("key", key))...)
}

// WithoutKey warns that requests without a key of a zone are counted by the client's address.
func (l *Requests) WithoutKey(z ZoneName, key string) {
	l.Warn("requests without a key are counted by the client's address: use on_missing_key to change that",
		z.fields(zap.String("key", key))...)
}

// UntrustedProxy warns that a zone counts all clients of a proxy as one, by the address of the proxy.
func (l *Requests) UntrustedProxy(z ZoneName, found *api.UntrustedProxy) {
	l.Warn(found.Cause.Text(), z.fields(zap.String("remote_ip", found.Address), zap.String("header", found.Header))...)
}

// UnknownPlaceholder reports that nothing provides a placeholder of a zone, as a number of requests have
// shown.
func (l *Requests) UnknownPlaceholder(z ZoneName, name string, requests int32) {
	fields := z.fields(zap.String("placeholder", "{"+name+"}"))
	if nearest := placeholder.Nearest(name); nearest != "" {
		fields = append(fields, zap.String("did_you_mean", "{"+nearest+"}"))
	}
	if requests > 1 {
		l.Warn("none of many requests had a placeholder of the zone: use one that exists, or put what provides it before this "+
			"handler", append(fields, zap.Int32("requests", requests))...)
		return
	}
	l.Error("nothing provides a placeholder of the zone, so it is always empty: use one that exists, or put what provides it "+
		"before this handler", fields...)
}

// UnknownTier warns about a tier that a request names and the zone does not have. tiers are those of the
// zone, and fallback is the tier that the request gets.
func (l *Requests) UnknownTier(z ZoneName, tier string, tiers []string, fallback string) {
	l.Warn("the tier of a request is none of the zone's: use one of them, spelled as here, in what sets it",
		z.fields(unknownTierField(tier), zap.Strings("tiers", tiers), zap.String("default", fallback))...)
}

// BeforeAuthentication reports that a zone reads a placeholder that a later handler sets.
func (l *Requests) BeforeAuthentication(z ZoneName, name string) {
	l.Error("the zone is decided before authentication: it reads what a later handler sets, and what until then the client "+
		"chooses; use rate_limit_authenticated in place of rate_limit, or `route` to put the directive after the one that sets it",
		z.fields(zap.String("placeholder", "{"+name+"}"))...)
}

// ChargeCapped warns that a response stated a cost above what it may be charged.
func (l *Requests) ChargeCapped(z ZoneName, events, most int64) {
	l.Warn("a response cost more than it may be charged: use charge_max if that is right, or another source of charge",
		z.fields(zap.Int64("events", events), zap.Int64("charge_max", most))...)
}

// ExemptProxy warns that an address which is allowed past all zones seems to be that of a proxy, which has
// forwarded the request with header. place is the place of the handler.
func (l *Requests) ExemptProxy(r Subject, header, place string) {
	l.Warn("an address that is allowed past all zones seems to be that of a proxy, so its clients have no limit: use "+
		"trusted_proxies and trusted_proxies_strict in the global option servers, or an `allow` without it",
		zap.String("remote_ip", r.describe(nil).RemoteIP), zap.String("header", header), PlaceField(place))
}
