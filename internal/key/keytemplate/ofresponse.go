package keytemplate

import (
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
)

// responsePrefixes are those of the names of placeholders that say something of a response.
var responsePrefixes = []string{responseHeaderPrefix, "http.reverse_proxy.", "http.intercept."}

const responseHeaderPrefix = "http.response.header."

// OfResponse returns the name of a placeholder, in braces, that is known when the response is.
// Clients do not control it. ok is false if text is another one, or none.
func OfResponse(text string) (name string, ok bool) {
	parts, err := split(text)
	if err != nil || len(parts) != 1 || parts[0].name == "" {
		return "", false
	}
	name = placeholder.Long(parts[0].name)
	return name, hasPrefix(name, responsePrefixes...) && !strings.HasSuffix(name, ".")
}

// ResponseHeader returns the name of the header or trailer that a placeholder with this name is. It
// returns "" for other placeholders.
func ResponseHeader(name string) string {
	header, _ := strings.CutPrefix(name, responseHeaderPrefix)
	if header == name {
		return ""
	}
	return header
}
