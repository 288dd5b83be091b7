package gateway

import (
	"fmt"
	"iter"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/caddyread/reach"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// A site is a top-level route of a server, with what the routes nested in it show about zones.
// Routes that handlers such as reverse_proxy have for responses are not part of it.
type site struct {
	hosts      []string // empty if the site is for all hosts
	errorRoute bool
	handlers   []*Handler
	vars       map[string]string // what the vars directive sets, by name
	replaced   map[string]bool   // request headers that the site sets to a fixed value or edits
	page429    bool              // the site has routes for errors of status 429
	returns429 bool              // the site returns errors of status 429, whatever the zones do
	traced     bool              // the site has a handler that begins spans
}

// A siteIndex has the sites of a server.
type siteIndex struct {
	all     []*site
	anyHost []*site            // the sites for all hosts
	byHost  map[string][]*site // the other sites, by host
}

// sitesOf returns the sites of a server. The HTTP app must be provisioned.
func sitesOf(server *caddyhttp.Server) *siteIndex {
	index := &siteIndex{byHost: make(map[string][]*site)}
	add := func(routes caddyhttp.RouteList, errorRoute bool) {
		for _, route := range routes {
			s := &site{hosts: reach.Hosts(route.MatcherSets), errorRoute: errorRoute,
				vars: make(map[string]string), replaced: make(map[string]bool)}
			walk := walk{site: s, named: server.NamedRoutes, invoked: make(map[string]bool)}
			walk.routes(caddyhttp.RouteList{route})
			index.add(s)
		}
	}
	add(server.Routes, false)
	if server.Errors != nil {
		add(server.Errors.Routes, true)
	}
	return index
}

func (x *siteIndex) add(s *site) {
	x.all = append(x.all, s)
	if len(s.hosts) == 0 {
		x.anyHost = append(x.anyHost, s)
	}
	for _, host := range s.hosts {
		x.byHost[host] = append(x.byHost[host], s)
	}
}

// overlapping yields the sites that share requests with s, and s itself. It yields a site once for
// each host that the two share.
func (x *siteIndex) overlapping(s *site) iter.Seq[*site] {
	if len(s.hosts) == 0 {
		return slices.Values(x.all)
	}
	return func(yield func(*site) bool) {
		shared := [][]*site{x.anyHost}
		for _, host := range s.hosts {
			shared = append(shared, x.byHost[host])
		}
		for _, sites := range shared {
			for _, other := range sites {
				if !yield(other) {
					return
				}
			}
		}
	}
}

// A walk visits the routes of a site.
type walk struct {
	*site
	named   map[string]*caddyhttp.Route
	invoked map[string]bool // named routes that were visited
}

func (w *walk) routes(routes caddyhttp.RouteList) {
	for _, route := range routes {
		for _, set := range route.MatcherSets {
			w.page429 = w.page429 || slices.ContainsFunc(set, matches429)
		}
		for _, handler := range route.Handlers {
			w.handler(handler)
		}
	}
}

func (w *walk) handler(handler caddyhttp.MiddlewareHandler) {
	switch h := handler.(type) {
	case handlerModule:
		w.handlers = append(w.handlers, h.asHandler())
	case *caddyhttp.Subroute:
		w.routes(h.Routes)
		if h.Errors != nil {
			w.routes(h.Errors.Routes)
		}
	case *caddyhttp.Invoke:
		if route := w.named[h.Name]; route != nil && !w.invoked[h.Name] {
			w.invoked[h.Name] = true
			w.routes(caddyhttp.RouteList{*route})
		}
	case *caddyhttp.VarsMiddleware:
		for name, value := range *h {
			if text, isText := value.(string); isText {
				w.vars[name] = text
			}
		}
	case *caddyhttp.StaticError:
		w.returns429 = w.returns429 || h.StatusCode.String() == strconv.Itoa(http.StatusTooManyRequests)
	case *headers.Handler:
		if h.Request == nil {
			return
		}
		for field, values := range h.Request.Set {
			if value := strings.Join(values, ""); !strings.Contains(globalPlaceholder.ReplaceAllString(value, ""), "{") {
				w.replaced[http.CanonicalHeaderKey(field)] = true
			}
		}
		for field := range h.Request.Replace {
			w.replaced[http.CanonicalHeaderKey(field)] = true
		}
	case caddy.Module: // tracing is found by its ID, because importing its package would bring exporters
		w.traced = w.traced || h.CaddyModule().ID == "http.handlers.tracing"
	}
}

// globalPlaceholder matches the start of a placeholder that has the same value for all requests.
var globalPlaceholder = regexp.MustCompile(`\{(env|file|system)\.`)

// status429 matches the status 429 in an expression that names it, but not a range such as 4xx.
var status429 = regexp.MustCompile(`(==|in \[[0-9, ]*)\s*429\b`)

// matches429 reports whether a matcher is for errors of status 429 in particular.
func matches429(matcher any) bool {
	expression, ok := matcher.(*caddyhttp.MatchExpression)
	return ok && strings.Contains(expression.Expr, "http.error.status_code") && status429.MatchString(expression.Expr)
}

// readRoutes learns from the routes of all servers what the zones do not show by themselves, and
// warns about it.
func (a *App) readRoutes(servers map[string]*caddyhttp.Server) {
	w := routeWarnings{logger: a.logger, logged: make(map[string]bool)}
	replaced := make(map[*zone.Zone]map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		sites := sitesOf(servers[name])
		for _, s := range sites.all {
			if s.traced {
				a.requests.Traced.Store(true)
			}
			if s.errorRoute && s.page429 {
				w.unusedPage(sites.unusedBy(s))
			}
			for _, h := range s.handlers {
				w.writableAddresses(servers[name], h)
				if s.errorRoute {
					w.emptyRejections(h)
				}
			}
			zones := s.zones()
			if len(zones) == 0 {
				continue
			}
			for other := range sites.overlapping(s) {
				if len(other.vars)+len(other.replaced) == 0 {
					continue
				}
				for _, z := range zones {
					if replaced[z] == nil {
						replaced[z] = make(map[string]bool)
					}
					maps.Copy(replaced[z], other.replaced)
					w.copied(z, other.vars)
				}
			}
		}
	}
	for _, z := range a.set.All() {
		z.Usage.Unprovided.Store(0) // forget those of an earlier configuration
		z.WatchCredentials(replaced[z])
	}
}

// zones returns the zones of all handlers of the site.
func (s *site) zones() (zones []*zone.Zone) {
	for _, h := range s.handlers {
		zones = append(zones, h.requests.Zones...)
	}
	return zones
}

// unusedBy returns the zones whose rejections do not come to the error routes of s, although s has
// error routes for status 429. It returns nil if any zone or handler of the same requests hands
// errors of status 429 over to these routes.
func (x *siteIndex) unusedBy(s *site) (zones []string) {
	for other := range x.overlapping(s) {
		if other.errorRoute {
			continue
		}
		if other.returns429 {
			return nil
		}
		for _, h := range other.handlers {
			for _, z := range h.requests.Zones {
				if h.requests.Settings.Style(z.Legacy) == config.RejectError {
					return nil
				}
				zones = append(zones, z.Name)
			}
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// routeWarnings are logged once each, even if several servers have a site.
type routeWarnings struct {
	logger *zap.Logger
	logged map[string]bool
}

func (w *routeWarnings) warn(message string, about ...zap.Field) {
	if text := fmt.Sprint(message, about); !w.logged[text] {
		w.logged[text] = true
		w.logger.Warn(message, about...)
	}
}

// unusedPage warns that no zone ever invokes the error routes for status 429.
func (w *routeWarnings) unusedPage(zones []string) {
	if len(zones) > 0 {
		w.warn("handle_errors 429 is not used, because the zones write their own responses: use `reject error` in "+
			"rate_limit to hand rejections over to it", zap.Strings("zones", zones))
	}
}

// emptyRejections warns about a handler in error routes whose rejections have no body: Caddy
// handles no error of its error routes.
func (w *routeWarnings) emptyRejections(h *Handler) {
	for _, z := range h.requests.Zones {
		if h.requests.Settings.Style(z.Legacy) == config.RejectError {
			w.warn("rejections have no body, because handle_errors does not handle errors of its own routes: use `reject json` "+
				"or `reject problem` in the rate_limit there", zap.String("zone", z.Name), report.PlaceField(z.Place))
		}
	}
}

// copied warns about each tier and cost of a zone that vars sets to what the client writes.
func (w *routeWarnings) copied(z *zone.Zone, vars map[string]string) {
	for _, p := range z.Deciders() {
		name, isVar := strings.CutPrefix(p.Name, "http.vars.")
		if !isVar || p.Trusted {
			continue
		}
		if source := keytemplate.ClientControlled(vars[name]); source != "" {
			w.warn(fmt.Sprintf("clients control the value of {%s}, because vars sets it to {%s}: use `trusted` if "+
				"something in front of this handler guarantees it, or a placeholder of authentication", p.Name, source),
				zap.String("zone", z.Name), report.PlaceField(z.Place))
		}
	}
}

// writableAddresses warns about a handler that exempts addresses which clients can write: without
// trusted_proxies_strict, Caddy takes the first address of X-Forwarded-For, and most proxies append
// theirs to what the client has sent.
func (w *routeWarnings) writableAddresses(server *caddyhttp.Server, h *Handler) {
	fromHeader := slices.ContainsFunc(server.ClientIPHeaders, func(name string) bool {
		return strings.EqualFold(name, "X-Forwarded-For")
	})
	if h.requests.Addresses.Exempts() && fromHeader && server.TrustedProxiesStrict == 0 && trustsProxies(server) {
		w.warn("clients can write an address that `allow` exempts from all zones at the beginning of X-Forwarded-For, unless "+
			"the proxy removes it: use trusted_proxies_strict in the global option servers", report.PlaceField(h.Place))
	}
}

// trustsProxies reports whether a server, which is provisioned, has trusted_proxies. Caddy keeps
// them in a field that is not exported.
func trustsProxies(server *caddyhttp.Server) bool {
	proxies := reflect.ValueOf(server).Elem().FieldByName("trustedProxies")
	return server.TrustedProxiesUnix || proxies.IsValid() && !proxies.IsNil()
}
