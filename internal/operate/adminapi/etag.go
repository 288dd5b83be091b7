package adminapi

import (
	"net/http"
	"strconv"
	"strings"
)

// etag returns the entity tag of a version of the rules.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// ifMatch returns the version that a request wants to change, or nil for any version. found says
// whether the request names one.
func ifMatch(r *http.Request) (version *int64, found bool, err error) {
	lines := r.Header.Values("If-Match")
	if len(lines) == 0 {
		return nil, false, nil
	}
	tag := strings.TrimSpace(lines[0])
	switch {
	case len(lines) > 1 || strings.Contains(tag, ","):
		return nil, true, apiError(http.StatusBadRequest, "If-Match has several tags: use the ETag of what you have read")
	case tag == "*":
		return nil, true, nil
	}
	number, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64)
	if err != nil || etag(number) != tag {
		return nil, true, apiError(http.StatusPreconditionFailed, "If-Match is %s, which is no version of the rules: use the "+
			"ETag of what you have read", tag)
	}
	return &number, true, nil
}

// notModified reports whether the client has a version already. If so, it answers with 304.
func notModified(w http.ResponseWriter, r *http.Request, version int64) bool {
	w.Header().Set("ETag", etag(version))
	for _, line := range r.Header.Values("If-None-Match") {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag(version) {
				w.Header().Set("Cache-Control", "no-store")
				w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}
