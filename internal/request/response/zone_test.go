package response

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/config"
)

// No zone can set the headers that responses have anyway, which config lists by itself.
func TestOwnHeadersCannotBeSet(t *testing.T) {
	for _, name := range append([]string{"Retry-After", "Cache-Control", "Content-Type", headerExpose}, headerNames[:]...) {
		if err := config.CheckRejectHeader(name, "a"); err == nil {
			t.Errorf("%s can be set", name)
		}
	}
}

// A value that does not depend on the request is expanded once, when the configuration loads.
func TestRejectHeadersExpandOnce(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST_SUPPORT", "https://example.com\r\n")
	var z ZoneResponses
	err := z.CompileResponses(&config.Zone{RejectHeaders: map[string][]string{"x-support": {"{env.FLEETLIMIT_TEST_SUPPORT}"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FLEETLIMIT_TEST_SUPPORT", "changed")
	header := map[string][]string{}
	z.setHeaders(header, nil, nil) // there is no request to expand it for
	if got := header["X-Support"]; len(got) != 1 || got[0] != "https://example.com" {
		t.Errorf("X-Support = %q, want https://example.com", got)
	}
	if template := z.rejectHeaders[0].values[0].template; template != nil {
		t.Errorf("template = %v, want none", template)
	}
}
