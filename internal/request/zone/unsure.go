package zone

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
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

// EachUnprovided calls report for each placeholder of z of which r shows that nobody provides it:
// once, with the number of requests that show it.
func (z *Zone) EachUnprovided(r *Request, report func(placeholder string, requests int32)) {
	for i := range z.unsure {
		if p := &z.unsure[i]; p.lacks(r) {
			report(p.name, p.enough)
		}
	}
}

// lacks reports whether a request shows that nobody provides p. It does so once.
func (p *unsurePlaceholder) lacks(r *Request) bool {
	if p.decided.Load() {
		return false
	}
	if _, known := r.Repl.Get(p.name); known {
		p.decided.Store(true)
		return false
	}
	if strings.HasPrefix(p.name, "http.auth.user.") {
		if _, authenticated := r.Repl.Get(userID); !authenticated {
			return false
		}
	}
	return p.lacking.Add(1) >= p.enough && !p.decided.Swap(true)
}
