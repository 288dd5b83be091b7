package response

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
)

// An ownText is a text that a zone gives to its rejections: a text, or a template if that is not
// nil.
type ownText struct {
	text     string
	template *keytemplate.Template
}

// newOwnText compiles a text of a setting such as `reject_header X-Support`, which errors name.
// What does not depend on the request is expanded at once. check checks raw, and what that expands
// to.
func newOwnText(setting, raw string, check func(string) error) (v ownText, err error) {
	if err := check(raw); err != nil {
		return v, err
	}
	// Values of requests expand as in Caddy, so they are lenient. A variable that is not set is
	// not.
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

// expand returns the text for a request. Clients write what placeholders expand to: a control
// character, which could end a header and begin another one, becomes a space.
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
