package integration

import (
	"slices"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/api"
)

// The rejections of one zone link to a page about it, and keep their body. Neither the rejections
// of another zone nor admitted requests have the link.
func TestRejectHeader(t *testing.T) {
	for _, style := range []string{"json", "problem", "error"} {
		t.Run(style, func(t *testing.T) {
			g := serve(t, `
				header X-Support "of the site"
				rate_limit {
					zone user {
						key {header.X-User}
						on_missing_key skip
						limit 2/1h
						reject_header x-support https://example.com/limits/{http.rate_limit.exceeded.name}
						reject_header Link "<https://example.com/{header.X-User}>; rel=help"
						reject_header Link "<https://example.com>; rel=author"
					}
					zone tenant {
						key {header.X-Tenant}
						on_missing_key skip
						limit 1/1h
					}
					reject `+style+`
				}
				respond "hello"
				handle_errors 429 {
					respond "zone {http.rate_limit.exceeded.name}"
				}`)
			wouldAdd := []api.ExplainedText{
				{Setting: "reject_header Link", Text: "<https://example.com/alice>; rel=help"},
				{Setting: "reject_header Link", Text: "<https://example.com>; rel=author"},
				{Setting: "reject_header X-Support", Text: "https://example.com/limits/user"},
			}
			explained := func() *api.Explanation {
				t.Helper()
				x := g.explain("GET", "/", []string{alice})
				for _, z := range x.Handlers[0].Zones {
					if z.Zone == "user" && !slices.Equal(z.Rejection, wouldAdd) || z.Zone == "tenant" && z.Rejection != nil {
						t.Errorf("the texts of zone %s are explained as %q", z.Zone, z.Rejection)
					}
				}
				return x
			}
			explained()
			g.get("/", alice).admitted(1).has("X-Support", "of the site").lacks("Link")
			g.get("/", alice).admitted(0).has("X-Support", "of the site").lacks("Link")
			r := g.get("/", alice).rejected().says("user").has("X-Support", "https://example.com/limits/user")
			if got := r.header.Values("Link"); len(got) != 2 || got[0] != "<https://example.com/alice>; rel=help" ||
				got[1] != "<https://example.com>; rel=author" {
				t.Errorf("Link = %q, want a help of alice and an author", got)
			}
			g.get("/", "X-Tenant: t").is(200)
			g.get("/", "X-Tenant: t").rejected().says("tenant").has("X-Support", "of the site").lacks("Link")
			x := explained().Response
			if got := x.Headers["X-Support"]; got != "https://example.com/limits/user" {
				t.Errorf("explained X-Support = %q, want https://example.com/limits/user", got)
			}
			if got, want := x.Headers["Link"], "<https://example.com/alice>; rel=help, <https://example.com>; rel=author"; got != want {
				t.Errorf("explained Link = %q, want %q", got, want)
			}
		})
	}
}

// For the rejections of all zones, a `header` in the site is enough. It also exposes a zone's
// header to scripts of other origins, besides the headers that are exposed anyway.
func TestHeaderOfAllRejections(t *testing.T) {
	g := serve(t, `
		header {
			match status 429
			X-Limit https://example.com/limits/{http.rate_limit.exceeded.name}
			defer
		}
		header +Access-Control-Expose-Headers X-Support
		rate_limit {
			zone user {
				key {header.X-User}
				limit 1/1h
				reject_header X-Support https://example.com
			}
		}
		respond "hello"`)
	g.get("/", alice).admitted(0).lacks("X-Limit")
	r := g.get("/", alice, "Origin: https://example.org").rejected().has("X-Limit", "https://example.com/limits/user")
	if got := r.header.Values("Access-Control-Expose-Headers"); len(got) != 2 || got[0] != "X-Support" {
		t.Errorf("Access-Control-Expose-Headers = %q, want X-Support, and the headers that are exposed anyway", got)
	}
}
