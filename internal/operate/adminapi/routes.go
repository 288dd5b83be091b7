package adminapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// A handler returns the answer to a request about a process. The answer is nil if the handler has
// written it.
type handler func(p *Process, w http.ResponseWriter, r *http.Request) (any, error)

// created is an answer with the status 201.
type created struct{ answer any }

// methods are the handlers of a path by method. The handler of GET answers HEAD, too.
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
	"/rate_limit/nodes":                  {http.MethodGet: running(getNodes)},
	"/rate_limit/decisions":              {http.MethodGet: followDecisions, http.MethodPost: followDecisions},
	"/rate_limit/explain":                {http.MethodPost: posting(maxBody, exampleExplain, postExplain)},
	"/rate_limit/plan":                   {http.MethodPost: running(postPlan)},
	"/rate_limit/history":                {http.MethodPost: running(postHistory)},
	"/rate_limit/zones":                  {http.MethodGet: running(getZones)},
	"/rate_limit/zones/{zone}":           {http.MethodGet: running(getZone)},
	"/rate_limit/zones/{zone}/inspect":   {http.MethodPost: posting(maxBody, exampleInspect, postInspect)},
	"/rate_limit/zones/{zone}/overrides": {http.MethodPost: posting(maxBody, exampleFollowed, postLookup)},
	"/rate_limit/zones/{zone}/top":       {http.MethodGet: running(getTop)},
	"/rate_limit/zones/{zone}/try":       {http.MethodPost: posting(maxBody, exampleTry, postTry)},
	"/rate_limit/zones/{zone}/reset":     {http.MethodPost: posting(maxKeysBody, exampleReset, postReset)},
	"/rate_limit/zones/{zone}/quota":     {http.MethodPost: posting(maxKeysBody, exampleQuota, postQuota)},
	"/rate_limit/rules": {
		http.MethodGet: running(getRules), http.MethodPut: running(replaceRules), http.MethodPatch: running(patchRules),
	},
	"/rate_limit/rules/diff":                       {http.MethodGet: running(getRulesDiff)},
	"/rate_limit/rules/versions":                   {http.MethodGet: running(getVersions)},
	"/rate_limit/rules/versions/{number}":          {http.MethodGet: running(getVersion)},
	"/rate_limit/rules/versions/{number}/rollback": {http.MethodPost: posting(maxBody, exampleRollback, postRollback)},
	"/rate_limit/overrides":                        overrideEntries.collection(),
	"/rate_limit/overrides/{id}":                   overrideEntries.element(),
	"/rate_limit/tiers":                            tierEntries.collection(),
	"/rate_limit/tiers/{id}":                       tierEntries.element(),
	"/rate_limit/access":                           accessEntries.collection(),
	"/rate_limit/access/{id}":                      accessEntries.element(),
}

// running returns a handler that calls handle with the running configuration, or answers with an
// error if there is none.
func running(handle func(c *Running, w http.ResponseWriter, r *http.Request) (any, error)) handler {
	return func(p *Process, w http.ResponseWriter, r *http.Request) (any, error) {
		c, err := runningOf(p)
		if err != nil {
			return nil, err
		}
		return handle(c, w, r)
	}
}

// posting returns a handler as running does, for requests with a body. The body is one JSON object
// of at most most bytes with the members of a B. Errors show example.
func posting[B any](
	most int64, example string, answer func(c *Running, w http.ResponseWriter, r *http.Request, body *B) (any, error),
) handler {
	return running(func(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
		body := new(B)
		if err := readJSON(w, r, most, body, example); err != nil {
			return nil, err
		}
		return answer(c, w, r, body)
	})
}

// orMistake returns answer or, if err is not nil, err as a mistake in the request.
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
	answer, err := handle(p, w, r)
	if err != nil || answer == nil {
		return err
	}
	status := http.StatusOK
	if made, is := answer.(created); is {
		status, answer = http.StatusCreated, made.answer
	}
	writeJSON(w, status, answer)
	return nil
}

// getOpenAPI answers GET /rate_limit/openapi.json.
func getOpenAPI(_ *Process, w http.ResponseWriter, _ *http.Request) (any, error) {
	writeText(w, mediaJSON, OpenAPI)
	return nil, nil
}
