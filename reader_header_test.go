package fleetlimit

import (
	"net/http"
	"testing"
)

func TestReadHeader(t *testing.T) {
	for _, tc := range []struct {
		name, field string
		header      http.Header
		want        string
		has         presence
	}{
		{"once", "X-Api-Key", http.Header{"X-Api-Key": {"a"}}, "a", present},
		{"spaces around it", "X-Api-Key", http.Header{"X-Api-Key": {" \ta\t "}}, "a", present},
		{"absent", "X-Api-Key", http.Header{"X-Api": {"a"}, "X-Api-Keys": {"b"}}, "", missing},
		{"spaces alone", "X-Api-Key", http.Header{"X-Api-Key": {" \t"}}, "", missing},
		{"twice", "X-Api-Key", http.Header{"X-Api-Key": {"a", "b"}}, "", ambiguous},
		{"twice, one empty", "X-Api-Key", http.Header{"X-Api-Key": {"a", ""}}, "", ambiguous},
		{"a comma", "X-Api-Key", http.Header{"X-Api-Key": {"a, b"}}, "a, b", present},
		{"another name", "X-Api-Key", http.Header{"X-Api-Kez": {"a"}}, "", missing},
		{"named by Connection", "X-Api-Key", http.Header{"X-Api-Key": {"a"}, "Connection": {"close, x-api-key"}}, "", ambiguous},
		{"named by a second Connection", "A", http.Header{"A": {"a"}, "Connection": {"close", "b,\tA ,c"}}, "", ambiguous},
		{"Connection names others", "A", http.Header{"A": {"a"}, "Connection": {"keep-alive, AB"}}, "a", present},
		{"Connection names what is not there", "A", http.Header{"Connection": {"A"}}, "", missing},
		{"a header that Connection has to name", "Upgrade", http.Header{"Upgrade": {"h2c"}, "Connection": {"Upgrade"}}, "h2c", present},
		{"list", "X-Forwarded-For", http.Header{"X-Forwarded-For": {" 192.0.2.1", "192.0.2.2,", "", "192.0.2.3 , 192.0.2.4"}},
			"192.0.2.1, 192.0.2.2, 192.0.2.3 , 192.0.2.4", present},
		{"empty list", "Via", http.Header{"Via": {"", " ,"}}, "", missing},
		{"list of one", "Forwarded", http.Header{"Forwarded": {"for=a"}}, "for=a", present},
	} {
		r, repl := keyRequest("192.0.2.1")
		r.Header = tc.header
		if got, has := readHeader(tc.field)(r, repl); got != tc.want || has != tc.has {
			t.Errorf("%s: %q, presence %v; want %q, %v", tc.name, got, has, tc.want, tc.has)
		}
	}
}

func TestHeaderThatFollowsAsTrailerIsAmbiguous(t *testing.T) {
	r, repl := keyRequest("192.0.2.1")
	r.Trailer = http.Header{"X-Api-Key": nil} // announced and not read yet
	if got, has := readHeader("X-Api-Key")(r, repl); got != "" || has != ambiguous {
		t.Errorf("header = %q, presence %v; want ambiguous", got, has)
	}
	if _, has := readHeader("X-Tenant")(r, repl); has != missing {
		t.Errorf("another header: presence %v, want missing", has)
	}
}
