package response

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
)

// RejectHeaders are the headers of its own that a zone gives to its rejections. nil are none.
type RejectHeaders struct{ headers []rejectHeader }

// A rejectHeader is a header with its values.
type rejectHeader struct {
	name   string // in canonical form
	values []headerValue
}

// A headerValue is a value of a header: a text, or a template if that is not nil.
type headerValue struct {
	text     string
	template *keytemplate.Template
}

// NewRejectHeaders compiles headers, whose values are templates, by their names.
func NewRejectHeaders(settings map[string][]string) (*RejectHeaders, error) {
	if len(settings) == 0 {
		return nil, nil
	}
	h := new(RejectHeaders)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		own := rejectHeader{name: http.CanonicalHeaderKey(name)}
		if len(settings[name]) == 0 {
			return nil, config.CheckRejectHeader(name, "")
		}
		for _, text := range settings[name] {
			v, err := newHeaderValue(name, text)
			if err != nil {
				return nil, err
			}
			own.values = append(own.values, v)
		}
		h.headers = append(h.headers, own)
	}
	return h, nil
}

// newHeaderValue compiles a value. What does not depend on the request is expanded at once.
func newHeaderValue(name, raw string) (v headerValue, err error) {
	if err := config.CheckRejectHeader(name, raw); err != nil {
		return v, err
	}
	// Values of requests expand as in Caddy, so they are lenient. A variable that is not set is not.
	if _, err = keytemplate.Parse(raw, keytemplate.Options{}); err == nil {
		v.template, err = keytemplate.Parse(raw, keytemplate.Options{IPv4Prefix: 32, IPv6Prefix: 128, Lenient: true})
	}
	if err != nil {
		return v, fmt.Errorf("reject_header %s: %w", name, err)
	}
	if len(v.template.Placeholders()) == 0 {
		v.text, v.template = v.expand(nil, nil), nil
		return v, config.CheckRejectHeader(name, v.text)
	}
	return v, nil
}

// expand returns the value for a request. Clients write what placeholders expand to: a control
// character, which could end the header and begin another one, becomes a space.
func (v *headerValue) expand(r *http.Request, repl *caddy.Replacer) string {
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

// Placeholders returns the names of the placeholders in the values, without braces.
func (h *RejectHeaders) Placeholders() (names []string) {
	if h == nil {
		return nil
	}
	for _, own := range h.headers {
		for _, v := range own.values {
			if v.template != nil {
				names = append(names, v.template.Placeholders()...)
			}
		}
	}
	return names
}

// Set sets the headers of the rejection of r. It leaves out values that expand to nothing, and
// headers without a value.
func (h *RejectHeaders) Set(header http.Header, r *http.Request, repl *caddy.Replacer) {
	if h == nil {
		return
	}
	for i := range h.headers {
		own := &h.headers[i]
		values := make([]string, 0, len(own.values)) // later handlers may change them
		for j := range own.values {
			if text := own.values[j].expand(r, repl); text != "" {
				values = append(values, text)
			}
		}
		if len(values) > 0 {
			header[own.name] = values
		}
	}
}
