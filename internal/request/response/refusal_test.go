package response

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/config"
)

// The code in the body of a refusal fits the status of the response.
func TestCodesOfRefusals(t *testing.T) {
	for status, code := range map[int]string{
		http.StatusBadRequest: "BAD_REQUEST", http.StatusForbidden: "FORBIDDEN", http.StatusRequestTimeout: "REQUEST_TIMEOUT",
		http.StatusServiceUnavailable: "OVERLOADED",
	} {
		f := Refusal{Status: status, Reason: "why", Message: "Because"}
		want := `{"error":{"code":"` + code + `","message":"Because",`
		if body := string(f.appendBody(nil, nil, config.RejectJSON)); !strings.HasPrefix(body, want) {
			t.Errorf("body of %d = %s, want it to begin with %s", status, body, want)
		}
	}
}
