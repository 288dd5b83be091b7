package fleetlimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
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

// Routes implements caddy.AdminRouter.
func (adminAPI) Routes() []caddy.AdminRoute {
	return []caddy.AdminRoute{
		{Pattern: "/rate_limit/", Handler: caddy.AdminHandlerFunc(noRoute)},
		{Pattern: "/rate_limit/health/live", Handler: adminMethods{http.MethodGet: serveLive}},
		{Pattern: "/rate_limit/health/ready", Handler: adminMethods{http.MethodGet: serveReady}},
		{Pattern: "/rate_limit/emergency", Handler: adminMethods{
			http.MethodGet: getEmergency, http.MethodPost: postEmergency, http.MethodDelete: deleteEmergency,
		}},
	}
}

func noRoute(_ http.ResponseWriter, r *http.Request) error {
	return apiError(http.StatusNotFound, "there is no %s: use /rate_limit/health/live, /rate_limit/health/ready or "+
		"/rate_limit/emergency", r.URL.Path)
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

// maxAdminBody is the longest body of a request to the admin API in bytes.
const maxAdminBody = 64 << 10

// readJSON reads the body of a request, which must be one JSON object without unknown members, into
// v. Errors show example. Browsers send application/json to other origins only if those allow it.
func readJSON(w http.ResponseWriter, r *http.Request, v any, example string) error {
	contentType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || contentType != "application/json" {
		return apiError(http.StatusUnsupportedMediaType, "the content type is %q: use Content-Type: application/json",
			r.Header.Get("Content-Type"))
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAdminBody))
	d.DisallowUnknownFields()
	if err = d.Decode(v); err == nil {
		if _, err = d.Token(); err == nil {
			err = errors.New("there is more than one value")
		} else if errors.Is(err, io.EOF) {
			return nil
		}
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return apiError(http.StatusRequestEntityTooLarge, "the body is too long: use at most %d bytes", maxAdminBody)
	case errors.Is(err, io.EOF):
		err = errors.New("it is empty")
	}
	return apiError(http.StatusBadRequest, "the body is not the JSON that is expected: %v: use an object such as %s",
		err, example)
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
