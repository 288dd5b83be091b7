package fleetlimit

import (
	"net/http"
	"slices"
	"strings"
)

// A client that reads trailers may take those of our names for ours, so an upstream's are dropped like its headers.

// trailerNames are headerNames as a handler sets trailers that it has not announced.
var trailerNames = func() (names [len(headerNames)]string) {
	for i, name := range headerNames {
		names[i] = http.TrailerPrefix + name
	}
	return names
}()

// removeAnnounced removes trailers of our names from those that the response announces. What is not announced before the
// response starts is no trailer.
func (v *headerValues) removeAnnounced(h http.Header) {
	lists := h["Trailer"]
	if len(lists) == 0 {
		return
	}
	first, end := v.names()
	var kept []string
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(headerNames[first:end], http.CanonicalHeaderKey(name)) {
				kept = append(kept, name)
			}
		}
	}
	if len(kept) == 0 {
		delete(h, "Trailer")
		return
	}
	h["Trailer"] = []string{strings.Join(kept, ", ")}
}

// removeTrailers removes trailers of our names that were not announced, once the response is written.
func (v *headerValues) removeTrailers(h http.Header) {
	first, end := v.names()
	for _, name := range trailerNames[first:end] {
		delete(h, name)
	}
}
