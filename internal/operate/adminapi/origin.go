package adminapi

import (
	"mime"
	"net/http"
)

// CheckOrigin refuses a request that a page of another origin may have sent, where Caddy's admin
// endpoint does not check that. Browsers say in Sec-Fetch-Site where a request comes from. A
// request that may change something must have the header. toPage says that the request is for the
// operator's page itself. Any page may link to that, because it shows nothing before its own
// requests are answered, and stands in no frame.
func CheckOrigin(r *http.Request, toPage bool) error {
	site := r.Header.Get("Sec-Fetch-Site")
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case site == "same-origin":
	case isRead && (site == "" || site == "none"):
	case isRead && toPage && r.Header.Get("Sec-Fetch-Mode") == "navigate":
	default:
		return apiError(http.StatusForbidden, "Sec-Fetch-Site is %q: use the page itself, or same-origin", site)
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if !isRead && (err != nil || mediaType != mediaJSON) {
		return apiError(http.StatusUnsupportedMediaType, "the content type is %q: use %s", r.Header.Get("Content-Type"), mediaJSON)
	}
	return nil
}
