package response

import (
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
)

// An ownText is a text that a zone adds to its rejections: what template expands to, or text if
// template is nil.
type ownText struct {
	setting  string // that the text is of, such as `reject_header X-Support`
	text     string
	template *keytemplate.Template
}

// addText compiles raw, a text of a setting such as `reject_header X-Support`, and adds it to the
// texts of z. Errors name the setting, and so does Texts. A text that does not depend on the
// request is expanded at once. check checks raw, and a text that is expanded at once.
func (z *ZoneResponses) addText(setting, raw string, check func(string) error) (*ownText, error) {
	if err := check(raw); err != nil {
		return nil, err
	}
	v := &ownText{setting: setting}
	// A strict template has an error if an environment variable is not set. In a lenient template,
	// placeholders of requests expand as in Caddy, to nothing if they have no value.
	_, err := keytemplate.Parse(raw, keytemplate.Options{})
	if err == nil {
		v.template, err = keytemplate.Parse(raw, keytemplate.Options{IPv4Prefix: 32, IPv6Prefix: 128, Lenient: true})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	placeholders := v.template.Placeholders()
	for _, p := range placeholders {
		if err := placeholder.Check(p); err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
	}
	if len(placeholders) == 0 {
		v.text, v.template = v.expand(nil, nil), nil
		if err := check(v.text); err != nil {
			return nil, err
		}
	}
	z.texts = append(z.texts, v)
	return v, nil
}

// Texts returns the settings of the texts that z adds to its rejections, and what the texts are for
// a request. It leaves out texts that expand to nothing, as rejections do.
func (z *ZoneResponses) Texts(r *http.Request, repl *caddy.Replacer) iter.Seq2[string, string] {
	return func(yield func(setting, text string) bool) {
		for _, v := range z.texts {
			if text := v.expand(r, repl); text != "" && !yield(v.setting, text) {
				return
			}
		}
	}
}

// expand returns the text for a request. A control character, which could end a header and begin
// another one, becomes a space: clients write what placeholders expand to.
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
