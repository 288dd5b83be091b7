package keytemplate

import (
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
)

// responsePrefixes are the prefixes of the names of placeholders that describe a response.
var responsePrefixes = []string{responseHeaderPrefix, "http.reverse_proxy.", "http.intercept."}

const responseHeaderPrefix = "http.response.header."

// OfResponse returns the name of the placeholder that text is, if that placeholder describes a
// response. Clients do not control such a placeholder. ok is false for other texts.
func OfResponse(text string) (name string, ok bool) {
	parts, err := split(text)
	if err != nil || len(parts) != 1 || parts[0].name == "" {
		return "", false
	}
	name = placeholder.Long(parts[0].name)
	return name, hasPrefix(name, responsePrefixes...) && !strings.HasSuffix(name, ".")
}

// ResponseHeader returns the name of the header or trailer of a response that the placeholder called
// name stands for. It returns "" for other placeholders.
func ResponseHeader(name string) string {
	header, _ := strings.CutPrefix(name, responseHeaderPrefix)
	if header == name {
		return ""
	}
	return header
}
