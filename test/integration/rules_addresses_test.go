package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// addressZone counts IPv6 addresses by their first bits.
func addressZone(bits int) string {
	return fmt.Sprintf(`
	rate_limit {
		zone ip {
			key {client_ip}
			ipv6_prefix %d
			limit 2/1h
			tier {vars.plan} {
				pro 20/1h
			}
		}
		zone host {
			key {host}
			limit 100/1h
		}
	}
	respond hello`, bits)
}

// Rules about an address are about its count, whichever address of that count they name and however it is
// written. There is one rule for a count, and each of these addresses finds and removes it.
func TestRulesAboutAddressesAreOnePerCount(t *testing.T) {
	g := serve(t, addressZone(64))
	spellings := []string{
		"2001:db8::1234", "2001:DB8:0:0::9", "2001:db8::/64", "2001:db8:0::/64", "2001:db8::5/128", "2001:db8::ffff:192.0.2.1", " 2001:db8::1",
	}
	for _, list := range []struct{ name, entry string }{
		{"overrides", `"zone": "ip", "limit": "5/1h"`}, {"tiers", `"zone": "ip", "tier": "pro"`}, {"access", `"zone": "ip", "action": "allow"`},
	} {
		path := "/rate_limit/" + list.name
		for i, key := range spellings {
			named := fmt.Sprintf(`{"id": "a%d", "key": %q, %s}`, i, key, list.entry)
			g.admin("POST", path, named).is(201).says(`"key":"2001:db8::/64"`)
			for _, other := range spellings {
				g.admin("POST", path, fmt.Sprintf(`{"key": %q, %s}`, other, list.entry)).is(409).says("is about the same already")
			}
			g.admin("GET", path+"?zone=ip", "").is(200).says(`"key":"2001:db8::/64"`)
			g.admin("DELETE", path, fmt.Sprintf(`{"key": %q, "zone": "ip"}`, spellings[len(spellings)-1-i])).is(200)
		}
		g.admin("GET", path, "").is(200).says(fmt.Sprintf(`{"%s":[]}`, list.name))
	}

	// Documents are normalised, too, and so are changes of entries.
	put := http.Header{"If-Match": {"*"}, "Content-Type": {"application/json"}}
	document := `{"overrides": [{"id": "a", "zone": "ip", "key": "2001:db8::1234", "limit": "5/1h"}, {"id": "b", "zone": "ip", "key": %q, "limit": "6/1h"}],
		"access": [{"id": "c", "action": "deny", "address": "2001:DB8:1::"}]}`
	if err := g.change("PUT", "/rate_limit/rules", fmt.Sprintf(document, "2001:db8::9"), put); err == nil ||
		!strings.Contains(err.Error(), "overrides[1]: overrides[0] is about the same") {
		t.Errorf("a document with two entries of a count: %v, want a refusal", err)
	}
	if err := g.change("PUT", "/rate_limit/rules", fmt.Sprintf(document, "2001:db8:2::9"), put); err != nil {
		t.Fatal(err)
	}
	g.admin("GET", "/rate_limit/rules", "").is(200).says(`"key":"2001:db8::/64"`, `"key":"2001:db8:2::/64"`, `"address":"2001:db8:1::"`)
	g.admin("PATCH", "/rate_limit/overrides/b", `{"key": "2001:db8::7"}`).is(400).says("overrides[0] is about the same")
	g.admin("PATCH", "/rate_limit/overrides/b", `{"key": "2001:db8:3::7"}`).is(200).says(`"key":"2001:db8:3::/64"`)
	g.admin("POST", "/rate_limit/access", `{"action": "deny", "address": "2001:db8:1:0::/128"}`).is(409)
	g.get("/", from("2001:db8::77")).is(200).has("X-RateLimit-Limit", "5")

	// A host has several spellings, too.
	g.admin("POST", "/rate_limit/overrides", `{"id": "h", "zone": "host", "key": "API.example.com.", "limit": "9/1h"}`).is(201).says(`"key":"api.example.com"`)
	g.admin("POST", "/rate_limit/overrides", `{"zone": "host", "key": "api.Example.com", "limit": "8/1h"}`).is(409)

	// The hash of a key is the one in logs and decisions.
	hash := g.admin("POST", "/rate_limit/zones/ip/inspect", `{"key": "2001:db8::/64"}`).is(200).object()["key_hash"].(string)
	g.admin("POST", "/rate_limit/zones/ip/inspect", `{"key": "2001:db8::1234"}`).is(200).says(`"key":"2001:db8::/64"`, hash)
}

// Rules that were made when addresses counted by another prefix apply to the counts of today's prefix.
func TestRulesOfAddressesOutliveTheirPrefix(t *testing.T) {
	g := serve(t, addressZone(128))
	for i, key := range []string{"2001:db8::1234", "2001:db8::9"} {
		g.admin("POST", "/rate_limit/overrides", fmt.Sprintf(`{"id": "a%d", "zone": "ip", "key": %q, "limit": "%d/1h"}`, i, key, 5+i)).is(201)
	}
	g.reload(addressZone(64))
	g.get("/", from("2001:db8::77")).is(200).has("X-RateLimit-Limit", "6")
	g.admin("GET", "/rate_limit/overrides", "").is(200).says(`"key":"2001:db8::/64","limit":"5/1h"`, `"key":"2001:db8::/64","limit":"6/1h"`)
	g.admin("GET", "/rate_limit/overrides/a0", "").is(200).says(`"key":"2001:db8::/64"`)
	g.admin("POST", "/rate_limit/zones/ip/overrides", `{"key": "2001:db8::5"}`).is(200).says(`"id":"a0"`, `"id":"a1"`)
	g.admin("POST", "/rate_limit/overrides", `{"zone": "ip", "key": "2001:db8::/64", "limit": "9/1h"}`).is(409)
	for range 2 {
		g.admin("DELETE", "/rate_limit/overrides", `{"zone": "ip", "key": "2001:db8::3"}`).is(200)
	}
	g.admin("POST", "/rate_limit/overrides", `{"zone": "ip", "key": "2001:db8::1", "limit": "7/1h"}`).is(201)
	g.reload(addressZone(56))
	g.get("/", from("2001:db8:0:1::1")).is(200).has("X-RateLimit-Limit", "7")
}
