package response

import (
	"maps"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
)

// ZoneResponses is what responses and logs need of a zone. All results of the zone refer to it.
type ZoneResponses struct {
	Usage         *usage.ZoneCounters
	Legacy        bool           // the zone is in the syntax of caddy-ratelimit
	texts         []*ownText     // that the zone adds to its rejections
	rejectHeaders []rejectHeader // the zone's own headers of its rejections
}

// CompileResponses compiles the settings of a zone that are about its responses.
func (z *ZoneResponses) CompileResponses(settings *config.Zone) (err error) {
	z.rejectHeaders, err = z.newRejectHeaders(settings.RejectHeaders)
	return config.ErrorIn("reject_header", err)
}

// A rejectHeader is a header that a zone adds to its rejections.
type rejectHeader struct {
	name   string // in canonical form
	values []*ownText
}

// newRejectHeaders compiles headers, whose values are templates, and sorts them by name.
func (z *ZoneResponses) newRejectHeaders(settings map[string][]string) (all []rejectHeader, err error) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		own := rejectHeader{http.CanonicalHeaderKey(name), make([]*ownText, len(settings[name]))}
		if len(own.values) == 0 {
			return nil, config.CheckRejectHeader(name, "")
		}
		for i, text := range settings[name] {
			if own.values[i], err = z.addText("reject_header "+name, text, func(text string) error {
				return config.CheckRejectHeader(name, text)
			}); err != nil {
				return nil, err
			}
		}
		all = append(all, own)
	}
	return all, nil
}

// setHeaders sets the headers that z adds to the rejection of r, none if z is nil. It leaves out
// values that expand to nothing, and headers without a value.
func (z *ZoneResponses) setHeaders(header http.Header, r *http.Request, repl *caddy.Replacer) {
	if z == nil {
		return
	}
	for i := range z.rejectHeaders {
		own := &z.rejectHeaders[i]
		values := make([]string, 0, len(own.values)) // later handlers may change them
		for _, value := range own.values {
			if text := value.expand(r, repl); text != "" {
				values = append(values, text)
			}
		}
		if len(values) > 0 {
			header[own.name] = values
		}
	}
}

// removeHeaders removes what setHeaders has set.
func (z *ZoneResponses) removeHeaders(header http.Header) {
	if z == nil {
		return
	}
	for i := range z.rejectHeaders {
		delete(header, z.rejectHeaders[i].name)
	}
}
