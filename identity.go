package fleetlimit

import (
	"net/http"
	"net/textproto"
	"strings"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
)

// An identityValue is a value that a zone reads and that authentication may set: a request header,
// or one of {http.auth.*}.
type identityValue struct {
	placeholder string // without braces
	header      string // its field; "" for {http.auth.*}
}

// identityValues returns those that a zone reads by these placeholders, each once.
func identityValues(placeholders []string) (values []identityValue) {
	seen := make(map[string]bool)
	for _, name := range placeholders {
		field, isHeader := strings.CutPrefix(name, "http.request.header.")
		field = textproto.CanonicalMIMEHeaderKey(field)
		if seen[name] || !isHeader && !strings.HasPrefix(name, "http.auth.") {
			continue
		}
		seen[name] = true
		v := identityValue{placeholder: name}
		if isHeader {
			v.header = field
		}
		values = append(values, v)
	}
	return values
}

// of returns the value in a request, "" if there is none. Of a repeated header it is the first.
func (v *identityValue) of(r *http.Request, repl *caddy.Replacer) string {
	if v.header == "" {
		text, _ := repl.GetString(v.placeholder)
		return text
	}
	if values := r.Header[v.header]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// An identityWatch is what a zone compares after the next handlers.
type identityWatch struct {
	values   []identityValue
	reported *atomic.Bool // shared by all zones of the name in the configuration
}

// An identityRead is a value as it was when the zone was decided.
type identityRead struct {
	zone  *zone
	value *identityValue
	text  string
}

// watchIdentity makes the zones of the app notice that they were decided before authentication.
func (a *App) watchIdentity() {
	a.mu.Lock()
	defer a.mu.Unlock()
	reported := make(map[string]*atomic.Bool)
	for _, z := range a.zones {
		if len(z.identity) == 0 {
			continue
		}
		if reported[z.name] == nil {
			reported[z.name] = new(atomic.Bool)
		}
		z.watch.Store(&identityWatch{z.identity, reported[z.name]})
	}
}

// readIdentity notes what later handlers may change of what the zone reads.
func (e *evaluation) readIdentity(z *zone) {
	watch := z.watch.Load()
	if watch == nil {
		return
	}
	for i := range watch.values {
		v := &watch.values[i]
		e.identity = append(e.identity, identityRead{zone: z, value: v, text: v.of(e.request, e.repl)})
	}
}

// checkIdentity counts the zones that were decided before authentication, and logs each once in a
// configuration. It is called after the next handlers, which by then have set what they set. A
// value that is gone proves nothing: sites remove keys before they proxy a request.
func (e *evaluation) checkIdentity() {
	var counted *zone
	for i := range e.identity {
		read := &e.identity[i]
		z := read.zone
		if now := read.value.of(e.request, e.repl); now == "" || now == read.text || z == counted {
			continue
		}
		counted = z
		z.usage.BeforeAuth.Add(1)
		if !z.watch.Load().reported.Swap(true) {
			e.handler.logger.Error("the zone is decided before authentication: it reads what a later handler sets, and "+
				"what until then the client chooses; use rate_limit_authenticated in place of rate_limit, or `route` to put the "+
				"directive after the one that sets it",
				zap.String("zone", z.name), placeField(z.place), zap.String("placeholder", "{"+read.value.placeholder+"}"))
		}
	}
}
