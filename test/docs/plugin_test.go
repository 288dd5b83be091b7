package docs

import (
	"slices"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// The recipe for JWTs uses a directive of another plugin, which is no dependency of this one. The directive
// here stands in for it: it knows the settings of the recipe, and authenticates nobody.
func init() {
	httpcaddyfile.RegisterHandlerDirective("jwtauth", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		for h.NextBlock(0) {
			if setting := h.Val(); !slices.Contains([]string{"sign_key", "user_claims", "meta_claims"}, setting) {
				return nil, h.Errf("jwtauth has no %s", setting)
			}
			h.RemainingArgs()
		}
		return caddyhttp.VarsMiddleware{}, nil
	})
}
