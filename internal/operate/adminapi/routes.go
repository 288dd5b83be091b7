package adminapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// A handler answers a request about a process.
type handler func(p *Process, w http.ResponseWriter, r *http.Request) error

// methods are the handlers of a path by method. That of GET answers HEAD too.
type methods map[string]handler

// routes are the handlers by path. openapi.json describes them.
var routes = map[string]methods{
	"/rate_limit/health/live":    {http.MethodGet: getLive},
	"/rate_limit/health/serving": {http.MethodGet: getServing},
	"/rate_limit/health/ready":   {http.MethodGet: getReady},
	"/rate_limit/emergency": {
		http.MethodGet: getEmergency, http.MethodPost: postEmergency, http.MethodDelete: deleteEmergency,
	},
	"/rate_limit/status":                 {http.MethodGet: getStatus},
	"/rate_limit/openapi.json":           {http.MethodGet: getOpenAPI},
	"/rate_limit/nodes":                  {http.MethodGet: answering(getNodes)},
	"/rate_limit/decisions":              {http.MethodGet: followDecisions, http.MethodPost: followDecisions},
	"/rate_limit/explain":                {http.MethodPost: answering(postExplain)},
	"/rate_limit/plan":                   {http.MethodPost: answering(postPlan)},
	"/rate_limit/history":                {http.MethodPost: answering(postHistory)},
	"/rate_limit/zones":                  {http.MethodGet: answering(getZones)},
	"/rate_limit/zones/{zone}":           {http.MethodGet: answering(getZone)},
	"/rate_limit/zones/{zone}/inspect":   {http.MethodPost: answering(postInspect)},
	"/rate_limit/zones/{zone}/overrides": {http.MethodPost: answering(postLookup)},
	"/rate_limit/zones/{zone}/top":       {http.MethodGet: answering(getTop)},
	"/rate_limit/zones/{zone}/try":       {http.MethodPost: answering(postTry)},
	"/rate_limit/zones/{zone}/reset":     {http.MethodPost: answering(postReset)},
	"/rate_limit/zones/{zone}/quota":     {http.MethodPost: answering(postQuota)},
	"/rate_limit/rules": {
		http.MethodGet: running(getRules), http.MethodPut: answering(replaceRules), http.MethodPatch: answering(patchRules),
	},
	"/rate_limit/rules/diff":                       {http.MethodGet: answering(getRulesDiff)},
	"/rate_limit/rules/versions":                   {http.MethodGet: answering(getVersions)},
	"/rate_limit/rules/versions/{number}":          {http.MethodGet: answering(getVersion)},
	"/rate_limit/rules/versions/{number}/rollback": {http.MethodPost: answering(postRollback)},
	"/rate_limit/overrides":                        overrideEntries.collection(),
	"/rate_limit/overrides/{id}":                   overrideEntries.element(),
	"/rate_limit/tiers":                            tierEntries.collection(),
	"/rate_limit/tiers/{id}":                       tierEntries.element(),
	"/rate_limit/access":                           accessEntries.collection(),
	"/rate_limit/access/{id}":                      accessEntries.element(),
}

// running is a handler that needs a running configuration.
func running(handle func(c *Running, w http.ResponseWriter, r *http.Request) error) handler {
	return func(p *Process, w http.ResponseWriter, r *http.Request) error {
		c, err := runningOf(p)
		if err != nil {
			return err
		}
		return handle(c, w, r)
	}
}

// answering is the same, and answers with what get returns.
func answering(get func(c *Running, w http.ResponseWriter, r *http.Request) (any, error)) handler {
	return running(func(c *Running, w http.ResponseWriter, r *http.Request) error {
		answer, err := get(c, w, r)
		if err != nil {
			return err
		}
		writeJSON(w, http.StatusOK, answer)
		return nil
	})
}

// orMistake returns an answer, or an error that is a mistake in the request.
func orMistake(answer any, err error) (any, error) {
	if err != nil {
		return nil, apiError(http.StatusBadRequest, "%w", err)
	}
	return answer, nil
}

// Routes returns the routes of the API of a process, for Caddy's admin endpoint.
func Routes(p *Process) []caddy.AdminRoute {
	all := []caddy.AdminRoute{{Pattern: "/rate_limit/", Handler: caddy.AdminHandlerFunc(noRoute)}}
	for path, methods := range routes {
		all = append(all, caddy.AdminRoute{Pattern: path, Handler: caddy.AdminHandlerFunc(
			func(w http.ResponseWriter, r *http.Request) error { return boundError(methods.serve(path, p, w, r)) })})
	}
	return all
}

func noRoute(_ http.ResponseWriter, r *http.Request) error {
	return boundError(apiError(http.StatusNotFound, "there is no %s: use one of %s", r.URL.Path,
		strings.Join(slices.Sorted(maps.Keys(routes)), ", ")))
}

func (m methods) serve(path string, p *Process, w http.ResponseWriter, r *http.Request) error {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handle := m[method]
	if handle == nil {
		allowed := slices.Sorted(maps.Keys(m))
		if m[http.MethodGet] != nil {
			allowed = append(allowed, http.MethodHead)
			slices.Sort(allowed)
		}
		list := strings.Join(allowed, ", ")
		w.Header().Set("Allow", list)
		return apiError(http.StatusMethodNotAllowed, "the method is %s: use one of %s", r.Method, list)
	}
	if err := checkQuery(path, method, r); err != nil {
		return err
	}
	return handle(p, w, r)
}

// getOpenAPI answers GET /rate_limit/openapi.json.
func getOpenAPI(_ *Process, w http.ResponseWriter, _ *http.Request) error {
	writeText(w, mediaJSON, OpenAPI)
	return nil
}
