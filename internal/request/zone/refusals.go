package zone

import (
	"net/http"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// Why zones refuse requests.
var (
	deniedKey = &response.Refusal{Status: http.StatusForbidden, Reason: "denied_key", Message: "The key is denied"}
	noKey     = &response.Refusal{Status: http.StatusForbidden, Reason: "missing_key", Message: "The request has no key"}

	noSubstitute = &response.Refusal{Status: http.StatusBadRequest, Reason: "missing_key",
		Message: "The request has neither the key nor what stands in for it"}
	ambiguousKey  = newAmbiguous("key")
	ambiguousTier = newAmbiguous("tier")
	ambiguousCost = newAmbiguous("cost")
)

func newAmbiguous(value string) *response.Refusal {
	return &response.Refusal{Status: http.StatusBadRequest, Reason: "ambiguous_" + value,
		Message: "The " + value + " is ambiguous: use its header or query parameter once, in its own spelling"}
}

// ambiguousPath is about a path that the zone cannot tell from others.
func ambiguousPath(why error) *response.Refusal {
	return &response.Refusal{
		Status: http.StatusBadRequest, Reason: "ambiguous_path", Message: "The" + strings.TrimPrefix(why.Error(), "the"),
	}
}
