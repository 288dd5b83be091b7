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
	"github.com/fleetlimit/fleetlimit/internal/placeholder"
	"github.com/fleetlimit/fleetlimit/internal/usage"
)

// A Zone is what responses and logs need of a zone. All its results have it.
type Zone struct {
	Usage         *usage.Zone
	Legacy        bool           // in the syntax of caddy-ratelimit
	rejectHeaders []rejectHeader // of rejections
}

// CompileResponses compiles the settings of a zone that are about its responses.
func (z *Zone) CompileResponses(settings *config.Zone) (err error) {
	z.rejectHeaders, err = newRejectHeaders(settings.RejectHeaders)
	return config.ErrorIn("reject_header", err)
}

// A rejectHeader is a header of its own that a zone gives to its rejections, with its values.
type rejectHeader struct {
	name   string // in canonical form
	values []headerValue
}

// A headerValue is a value of a header: a text, or a template if that is not nil.
type headerValue struct {
	text     string
	template *keytemplate.Template
}

// newRejectHeaders compiles headers, whose values are templates, by their names.
func newRejectHeaders(settings map[string][]string) (all []rejectHeader, err error) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		own := rejectHeader{http.CanonicalHeaderKey(name), make([]headerValue, len(settings[name]))}
		if len(own.values) == 0 {
			return nil, config.CheckRejectHeader(name, "")
		}
		for i, text := range settings[name] {
			if own.values[i], err = newHeaderValue(name, text); err != nil {
				return nil, err
			}
		}
		all = append(all, own)
	}
	return all, nil
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
	placeholders := v.template.Placeholders()
	for _, p := range placeholders {
		if err := placeholder.Check(p); err != nil {
			return v, fmt.Errorf("reject_header: %w", err)
		}
	}
	if len(placeholders) == 0 {
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

// setHeaders sets the headers that z gives to the rejection of r, none if z is nil. It leaves out
// values that expand to nothing, and headers without a value.
func (z *Zone) setHeaders(header http.Header, r *http.Request, repl *caddy.Replacer) {
	if z == nil {
		return
	}
	for i := range z.rejectHeaders {
		own := &z.rejectHeaders[i]
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

// removeHeaders removes what setHeaders has set.
func (z *Zone) removeHeaders(header http.Header) {
	if z == nil {
		return
	}
	for i := range z.rejectHeaders {
		delete(header, z.rejectHeaders[i].name)
	}
}
