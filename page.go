package fleetlimit

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
	"github.com/fleetlimit/fleetlimit/internal/gateway"
	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/operate/page"
)

// PageHandler serves the operator's page at /rate_limit/, and the part of the admin API that the page needs.
// Other requests go on to the next handler. PageHandler authenticates nobody: put it behind a handler that
// does. It answers no requests of pages of another origin.
type PageHandler struct {
	// Whether the page can change rules and counts. Default: the page only shows them, because this handler
	// cannot know whether a handler before it authenticates.
	AllowChanges bool `json:"allow_changes,omitempty"`

	operator *page.Site
}

// CaddyModule returns the Caddy module information.
func (*PageHandler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.rate_limit_page",
		New: func() caddy.Module { return new(PageHandler) },
	}
}

// Provision prepares the routes.
func (h *PageHandler) Provision(caddy.Context) error {
	h.operator = gateway.OperatorPage.Site(h.AllowChanges)
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. Only requests that change something are in the access
// log.
func (h *PageHandler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	switch {
	case r.URL.Path == "/rate_limit":
		w.Header().Set("Location", "rate_limit/") // relative, because a prefix may have been stripped from the path
		w.WriteHeader(http.StatusPermanentRedirect)
		return nil
	case !strings.HasPrefix(r.URL.Path, "/rate_limit/"):
		return next.ServeHTTP(w, r)
	}
	if !h.operator.IsChange(r) {
		caddyhttp.SetVar(r.Context(), caddyhttp.LogSkipVar, true)
	}
	if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		if user, _ := repl.GetString("http.auth.user.id"); user != "" {
			r = adminapi.WithUser(r, user)
		}
	}
	h.operator.ServeHTTP(w, r)
	return nil
}

// parsePageDirective parses
//
//	rate_limit_page [<matcher>] {
//		allow_changes
//	}
func parsePageDirective(helper httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	const usage = "rate_limit_page [<matcher>] [{ allow_changes }]"
	h := new(PageHandler)
	helper.Next()
	if args := helper.RemainingArgs(); len(args) > 0 {
		return nil, helper.Errf("unexpected %q: use `%s`, where a matcher is *, a path that starts with /, or @<name>",
			args[0], usage)
	}
	block := subdirective.Block{Of: "rate_limit_page", Optional: true, MayBeEmpty: true, Lines: map[string]subdirective.Line{
		"allow_changes": subdirective.Flag("allow_changes", &h.AllowChanges),
	}}
	if err := block.Parse(helper.Dispenser); err != nil {
		return nil, err
	}
	return h, nil
}

// Interface guards.
var (
	_ caddy.Provisioner           = (*PageHandler)(nil)
	_ caddyhttp.MiddlewareHandler = (*PageHandler)(nil)
)
