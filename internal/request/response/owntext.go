package response

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
)

// An ownText is a text that a zone adds to its rejections: what template expands to, or text if template is
// nil.
type ownText struct {
	text     string
	template *keytemplate.Template
}

// newOwnText compiles raw, a text of a setting such as `reject_header X-Support`, which errors name. A text
// that does not depend on the request is expanded at once. check checks raw, and a text that is expanded at
// once.
func newOwnText(setting, raw string, check func(string) error) (v ownText, err error) {
	if err := check(raw); err != nil {
		return v, err
	}
	// A strict template has an error if an environment variable is not set. In a lenient template,
	// placeholders of requests expand as in Caddy, to nothing if they have no value.
	if _, err = keytemplate.Parse(raw, keytemplate.Options{}); err == nil {
		v.template, err = keytemplate.Parse(raw, keytemplate.Options{IPv4Prefix: 32, IPv6Prefix: 128, Lenient: true})
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", setting, err)
	}
	placeholders := v.template.Placeholders()
	for _, p := range placeholders {
		if err := placeholder.Check(p); err != nil {
			return v, fmt.Errorf("%s: %w", setting, err)
		}
	}
	if len(placeholders) == 0 {
		v.text, v.template = v.expand(nil, nil), nil
		return v, check(v.text)
	}
	return v, nil
}

// expand returns the text for a request. A control character, which could end a header and begin another one,
// becomes a space: clients write what placeholders expand to.
func (v *ownText) expand(r *http.Request, repl *caddy.Replacer) string {
	if v.template == nil {
		return v.text
	}
	text := []byte(v.template.Text(r, repl))
	for i, c := range text {
		if c < ' ' || c == 0x7f {
			text[i] = ' '
		}
	}
	return strings.TrimSpace(string(text))
}
