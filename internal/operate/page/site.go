package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
)

// reads are the paths of POST requests that change nothing.
var reads = []string{
	"/rate_limit/zones/{zone}/inspect", "/rate_limit/zones/{zone}/overrides", "/rate_limit/zones/{zone}/try",
	"/rate_limit/explain", "/rate_limit/history",
}

// absent are the paths that a site does not serve: the page does not need them, and the site may be
// public.
var absent = []string{"/rate_limit/decisions", "/rate_limit/openapi.json"}

// A Site serves the page in a site, where Caddy does not check who asks. So it answers only
// requests of its own page, and refuses changes unless they are allowed.
type Site struct {
	routes       *http.ServeMux
	allowChanges bool
}

// Site returns the page for a site.
func (p *Page) Site(allowChanges bool) *Site {
	s := &Site{http.NewServeMux(), allowChanges}
	for _, route := range p.routes(allowChanges) {
		if !slices.Contains(absent, route.Pattern) {
			s.routes.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
				err := s.check(route.Pattern, r)
				if err == nil {
					err = route.Handler.ServeHTTP(w, r)
				}
				writeError(w, err)
			})
		}
	}
	return s
}

// IsChange reports whether a request may change something.
func (s *Site) IsChange(r *http.Request) bool {
	_, pattern := s.routes.Handler(r)
	return isChange(pattern, r)
}

func isChange(pattern string, r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !slices.Contains(reads, pattern)
}

// ServeHTTP answers a request for a path that begins with /rate_limit/.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

// check refuses a request that a page of another origin has sent, and a change that is not allowed.
func (s *Site) check(pattern string, r *http.Request) error {
	if err := adminapi.CheckOrigin(r, pattern == index); err != nil {
		return err
	}
	if isChange(pattern, r) && !s.allowChanges {
		return caddy.APIError{HTTPStatus: http.StatusForbidden, Err: errors.New("the page is read-only in this site: use allow_changes in " +
			"rate_limit_page, or the admin endpoint")}
	}
	return nil
}

// writeError answers with an error as Caddy's admin endpoint does.
func writeError(w http.ResponseWriter, err error) {
	if err == nil {
		return
	}
	answer := caddy.APIError{HTTPStatus: http.StatusInternalServerError, Err: err}
	_ = errors.As(err, &answer)
	answer.Message = answer.Err.Error()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(answer.HTTPStatus)
	_ = json.NewEncoder(w).Encode(answer) // it fails if the client has left, which needs no error
}
