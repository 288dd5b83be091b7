package zone

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/config"
)

func TestKeyListsRefuse(t *testing.T) {
	const header, address = "{http.request.header.X-Api-Key}", "{http.vars.client_ip}"
	for _, tc := range []struct{ key, allow, deny, want string }{
		{header, "*", "", "use `limit unlimited`, or no zone"},
		{header, "", "**", "use `limit block`"},
		{header, "^sk_.*$", "", "allow_key: \"^sk_.*$\" is a regular expression"},
		{header, "", "{http.vars.x}", "deny_key: \"{http.vars.x}\" has a placeholder"},
		{header, "a,", "", "use spaces between patterns"},
		{header, "sk_1", "sk_*", "deny_key sk_* comes first"},
		{header, "sk_*", "sk_*", "deny_key sk_* comes first"},
		{address, "10.0.0.0/8", "", "use `allow 10.0.0.0/8`"},
		{address, "", "2001:db8::1", "which counts it as 2001:db8::/64"},
		{address, "", "192.0.2.1/32", "which counts it as 192.0.2.1"},
	} {
		if err := newKeyLists(t, tc.key, tc.allow, tc.deny); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("allow %q and deny %q by %s: error %v, want one with %q", tc.allow, tc.deny, tc.key, err, tc.want)
		}
	}
	for _, tc := range []struct{ key, allow, deny string }{
		{header, "sk_*", "sk_revoked_*"},
		{header, "10.0.0.0/8", "2001:db8::1"},
		{address, "192.0.2.1", "2001:db8::/64"},
		{address, "192.0.2.*", "10.*"},
		{header + "," + address, "a,*", "b,"},
	} {
		if err := newKeyLists(t, tc.key, tc.allow, tc.deny); err != nil {
			t.Errorf("allow %q and deny %q by %s is refused: %v", tc.allow, tc.deny, tc.key, err)
		}
	}
	for pattern, want := range map[string]string{
		"a,b": "use spaces between patterns", "10.0.0.0/8": "use `allow 10.0.0.0/8`", "sk_%": "use * for any text", "sk_*": "",
		"org/8": "", "100%": "use * for any text",
	} {
		z := compiledZone(t, `{"key": "{http.vars.x}", "limit": {"block": true}, "deny_keys": ["`+pattern+`"]}`)
		if text := fmt.Sprint(z.Warnings); (len(z.Warnings) > 0) != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%s: warnings %v, want %q", pattern, z.Warnings, want)
		}
	}
	z := compiledZone(t, `{"key": "{http.vars.x}", "limit": {"block": true}, "deny_keys": ["bad.*", "a"]}`)
	if len(z.Warnings) != 1 || !strings.Contains(z.Warnings[0].Error(), "matches a dot") {
		t.Errorf("warnings = %v, want one about bad.*", z.Warnings)
	}
}

// newKeyLists compiles a zone with one pattern in each list; "" is none.
func newKeyLists(t *testing.T, key, allow, deny string) error {
	t.Helper()
	list := func(pattern string) string {
		text, err := json.Marshal(strings.Fields(pattern))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	settings := new(config.Zone)
	text := fmt.Sprintf(`{"key": %q, "limit": {"block": true}, "allow_keys": %s, "deny_keys": %s}`, key, list(allow), list(deny))
	if err := json.Unmarshal([]byte(text), settings); err != nil {
		t.Fatal(err)
	}
	_, err := new(Set).New("api", settings, Options{})
	return err
}
