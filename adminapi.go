package fleetlimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// An adminAPI serves /rate_limit/ at Caddy's admin endpoint, whose checks of hosts and origins
// apply. It has no state of its own: Caddy makes a new one for each configuration, even for one that
// fails.
type adminAPI struct{}

// CaddyModule returns the Caddy module information.
func (adminAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "admin.api.rate_limit",
		New: func() caddy.Module { return adminAPI{} },
	}
}

// adminRoutes are the handlers by path. openapi.json describes them.
var adminRoutes = map[string]adminMethods{
	"/rate_limit/health/live":  {http.MethodGet: serveLive},
	"/rate_limit/health/ready": {http.MethodGet: serveReady},
	"/rate_limit/emergency": {
		http.MethodGet: getEmergency, http.MethodPost: postEmergency, http.MethodDelete: deleteEmergency,
	},
	"/rate_limit/status":               {http.MethodGet: getStatus},
	"/rate_limit/openapi.json":         {http.MethodGet: getOpenAPI},
	"/rate_limit/nodes":                {http.MethodGet: getNodes},
	"/rate_limit/decisions":            {http.MethodGet: getDecisions, http.MethodPost: postDecisions},
	"/rate_limit/zones":                {http.MethodGet: getZones},
	"/rate_limit/zones/{zone}":         {http.MethodGet: getZone},
	"/rate_limit/zones/{zone}/inspect": {http.MethodPost: postInspect},
	"/rate_limit/zones/{zone}/top":     {http.MethodGet: getTop},
	"/rate_limit/zones/{zone}/reset":   {http.MethodPost: postReset},
	"/rate_limit/zones/{zone}/quota":   {http.MethodPost: postQuota},
	"/rate_limit/rules": {
		http.MethodGet: getRules, http.MethodPut: replaceRules, http.MethodPatch: patchRules,
	},
	"/rate_limit/rules/diff":                       {http.MethodGet: getRulesDiff},
	"/rate_limit/rules/versions":                   {http.MethodGet: getVersions},
	"/rate_limit/rules/versions/{number}":          {http.MethodGet: getVersion},
	"/rate_limit/rules/versions/{number}/rollback": {http.MethodPost: postRollback},
	"/rate_limit/overrides":                        overrideEntries.collection(),
	"/rate_limit/overrides/{id}":                   overrideEntries.element(),
	"/rate_limit/tiers":                            tierEntries.collection(),
	"/rate_limit/tiers/{id}":                       tierEntries.element(),
	"/rate_limit/access":                           accessEntries.collection(),
	"/rate_limit/access/{id}":                      accessEntries.element(),
}

// Routes implements caddy.AdminRouter.
func (adminAPI) Routes() []caddy.AdminRoute {
	routes := []caddy.AdminRoute{{Pattern: "/rate_limit/", Handler: caddy.AdminHandlerFunc(noRoute)}}
	for path, methods := range adminRoutes {
		routes = append(routes, caddy.AdminRoute{Pattern: path, Handler: methods})
	}
	return routes
}

func noRoute(_ http.ResponseWriter, r *http.Request) error {
	return apiError(http.StatusNotFound, "there is no %s: use one of %s", r.URL.Path,
		strings.Join(slices.Sorted(maps.Keys(adminRoutes)), ", "))
}

// adminMethods are the handlers of a path by method. That of GET answers HEAD too.
type adminMethods map[string]caddy.AdminHandlerFunc

// ServeHTTP implements caddy.AdminHandler.
func (m adminMethods) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handler := m[method]
	if handler == nil {
		allowed := slices.Sorted(maps.Keys(m))
		if m[http.MethodGet] != nil {
			allowed = append(allowed, http.MethodHead)
			slices.Sort(allowed)
		}
		list := strings.Join(allowed, ", ")
		w.Header().Set("Allow", list)
		return apiError(http.StatusMethodNotAllowed, "the method is %s: use one of %s", r.Method, list)
	}
	return handler(w, r)
}

// apiError returns an error that Caddy answers with status and a JSON object that has the message.
func apiError(status int, format string, args ...any) error {
	return caddy.APIError{HTTPStatus: status, Err: fmt.Errorf(format, args...)}
}

// statusOfError returns the status that Caddy answers err with, 0 if err has none.
func statusOfError(err error) int {
	var answer caddy.APIError
	if errors.As(err, &answer) {
		return answer.HTTPStatus
	}
	return 0
}

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header()["Content-Type"] = typeJSON
	w.Header()["Cache-Control"] = noStore
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // it fails if the client has gone, which needs no error
}

// Interface guards.
var (
	_ caddy.AdminRouter  = adminAPI{}
	_ caddy.AdminHandler = adminMethods(nil)
)
