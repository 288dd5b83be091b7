package reach

import (
	"encoding/json"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Describe returns a text for matchers, such as `path ["/music/*"]`.
func Describe(sets caddyhttp.MatcherSets) string {
	var all []string
	for _, set := range sets {
		var texts []string
		for _, m := range set {
			module, is := m.(caddy.Module)
			if !is {
				continue
			}
			text := module.CaddyModule().ID.Name()
			if value, err := json.Marshal(m); err == nil {
				text += " " + string(value)
			}
			texts = append(texts, text)
		}
		all = append(all, strings.Join(texts, " and "))
	}
	return strings.Join(all, ", or ")
}
