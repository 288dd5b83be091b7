package response

import (
	"maps"
	"net/http"
	"slices"
	"testing"
)

func TestWriterRemovesTrailersOfOurNames(t *testing.T) {
	v := headerValues{set: draftHeaders}
	h := http.Header{
		"Trailer":           {"Checksum, ratelimit", "X-RateLimit-Limit,RateLimit-Policy"},
		"Trailer:Ratelimit": {"theirs"}, "Trailer:X-Ratelimit-Limit": {"theirs"},
	}
	v.removeAnnounced(h)
	v.removeTrailers(h)
	if got := h.Get("Trailer"); got != "Checksum, X-RateLimit-Limit" {
		t.Errorf("Trailer = %q, want Checksum, X-RateLimit-Limit", got)
	}
	want := []string{"Trailer", "Trailer:X-Ratelimit-Limit"}
	if got := slices.Sorted(maps.Keys(h)); !slices.Equal(got, want) {
		t.Errorf("headers = %q, want %q", got, want)
	}
}
