package fleetlimit

import (
	"slices"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/placeholder"
)

// An unsurePlaceholder is one that Caddy itself does not have: the `map` directive or a plugin may
// provide it, or nobody. Only requests show that. One that nobody provides is always empty.
type unsurePlaceholder struct {
	name   string
	enough int32 // how many requests must lack it to show that nobody provides it

	lacking atomic.Int32 // requests that lacked it
	decided atomic.Bool  // a request had it, or enough lacked it
}

// enoughOfSome is how many requests must lack a placeholder that only some requests have.
const enoughOfSome = 100

// unsurePlaceholders returns those of names that may not exist.
func unsurePlaceholders(names []string) []unsurePlaceholder {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return name == userID || placeholder.Provided(name)
	})
	unsure := make([]unsurePlaceholder, len(names))
	for i, name := range names {
		unsure[i].name, unsure[i].enough = name, 1
		if placeholder.Sometimes(name) {
			unsure[i].enough = enoughOfSome
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
		if p.decided.Load() {
			continue
		}
		if _, known := e.repl.Get(p.name); known {
			p.decided.Store(true)
			continue
		}
		if strings.HasPrefix(p.name, "http.auth.user.") {
			if _, authenticated := e.repl.Get(userID); !authenticated {
				continue
			}
		}
		if p.lacking.Add(1) < p.enough || p.decided.Swap(true) {
			continue
		}
		fields := []zap.Field{zap.String("zone", z.name), placeField(z.place), zap.String("placeholder", "{"+p.name+"}")}
		if nearest := placeholder.Nearest(p.name); nearest != "" {
			fields = append(fields, zap.String("did_you_mean", "{"+nearest+"}"))
		}
		if p.enough > 1 {
			e.handler.logger.Warn("none of many requests had a placeholder of the zone: use one that exists, or put what "+
				"provides it before this handler", append(fields, zap.Int32("requests", p.enough))...)
			continue
		}
		e.handler.logger.Error("nothing provides a placeholder of the zone, so it is always empty: use one that exists, "+
			"or put what provides it before this handler", fields...)
	}
}
