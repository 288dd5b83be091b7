package fleetlimit

import (
	"slices"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/placeholder"
)

// An unsurePlaceholder is one that Caddy itself does not have: the `map` directive or a plugin may
// provide it, or nobody. Only requests show that. One that nobody provides is always empty.
type unsurePlaceholder struct {
	name     string
	patience int32 // how many requests may lack it before that is an error

	lacking atomic.Int32 // requests that lacked it
	settled atomic.Bool  // a request had it, or the error is logged
}

// patience is for placeholders that only some requests have.
const patience = 100

// unsurePlaceholders returns those of names that may not exist.
func unsurePlaceholders(names []string) []unsurePlaceholder {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return name == userID || placeholder.Provided(name)
	})
	unsure := make([]unsurePlaceholder, len(names))
	for i, name := range names {
		unsure[i].name, unsure[i].patience = name, 1
		if placeholder.Sometimes(name) {
			unsure[i].patience = patience
		}
	}
	return unsure
}

// userID is the placeholder of the user that every authentication provides.
const userID = "http.auth.user.id"

// checkPlaceholders logs an error for each placeholder of the zone that does not exist, once.
func (e *evaluation) checkPlaceholders(z *zone) {
	for i := range z.unsure {
		p := &z.unsure[i]
		if p.settled.Load() {
			continue
		}
		if _, known := e.repl.Get(p.name); known {
			p.settled.Store(true)
			continue
		}
		if strings.HasPrefix(p.name, "http.auth.user.") {
			if _, authenticated := e.repl.Get(userID); !authenticated {
				continue
			}
		}
		if p.lacking.Add(1) < p.patience || p.settled.Swap(true) {
			continue
		}
		fields := []zap.Field{zap.String("zone", z.name), zap.String("placeholder", "{"+p.name+"}")}
		if nearest := placeholder.Nearest(p.name); nearest != "" {
			fields = append(fields, zap.String("did_you_mean", "{"+nearest+"}"))
		}
		if p.patience > 1 {
			e.handler.logger.Warn("none of many requests had a placeholder of the zone: use one that exists, or put what "+
				"provides it before this handler", append(fields, zap.Int32("requests", p.patience))...)
			continue
		}
		e.handler.logger.Error("nothing provides a placeholder of the zone, so it is always empty: use one that exists, "+
			"or put what provides it before this handler", fields...)
	}
}

// warnNoAddress reports whether a template has the client's address and the request none, which is
// so on a Unix socket. It logs that once per zone.
func (e *evaluation) warnNoAddress(z *zone, template *keytemplate.Template) bool {
	if !template.LacksAddress(e.request, e.repl) {
		return false
	}
	if !z.warnedAddress.Swap(true) {
		e.handler.logger.Warn("requests have no client address, as on a Unix socket, so they share one count unless "+
			"on_missing_key says otherwise: use {client_ip} with `trusted_proxies_unix` in the global option `servers`, and "+
			"a proxy that sends X-Forwarded-For", zap.String("zone", z.name), zap.String("key", z.key.String()))
	}
	return true
}
