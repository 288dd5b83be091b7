// Package page serves the operator's page: what a node knows, and forms that change the rules. The
// page consists of the files in static, which browsers run as they are, a stream of package live,
// and the admin API. It works below any path, because all its addresses are relative.
package page

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/operate/live"
)

// A Page is the page of a process.
type Page struct {
	process *adminapi.Process
	stream  *live.Stream
}

// New returns the page of a process.
func New(process *adminapi.Process) *Page { return &Page{process, live.NewStream(process)} }

// Routes returns the routes of the page and of the admin API, for Caddy's admin endpoint.
func (p *Page) Routes() []caddy.AdminRoute { return p.routes(true) }

func (p *Page) routes(changes bool) []caddy.AdminRoute {
	return append(adminapi.Routes(p.process),
		caddy.AdminRoute{Pattern: index, Handler: caddy.AdminHandlerFunc(serveIndex)},
		caddy.AdminRoute{Pattern: "/rate_limit/page/{file...}", Handler: caddy.AdminHandlerFunc(serveFile)},
		caddy.AdminRoute{Pattern: "/rate_limit/live", Handler: caddy.AdminHandlerFunc(
			func(w http.ResponseWriter, r *http.Request) error {
				if err := onlyGet(w, r); err != nil {
					return err
				}
				p.stream.Serve(w, r, changes, adminapi.ShutdownOf(r))
				return nil
			})},
	)
}

// index is the path of the page itself.
const index = "/rate_limit/{$}"

func serveIndex(w http.ResponseWriter, r *http.Request) error { return serve(w, r, "index.html") }

func serveFile(w http.ResponseWriter, r *http.Request) error { return serve(w, r, r.PathValue("file")) }
