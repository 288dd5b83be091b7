package integration

import "testing"

// An IPv4 address has one count, is on the same lists, and is matched alike, however a proxy or a translator
// (NAT64, SIIT-DC) writes it.
func TestTranslatedAddressesAreIPv4(t *testing.T) {
	const site = `
		rate_limit {
			allow 198.51.100.0/24
			deny 203.0.113.7
			zone ip {
				key {client_ip}
				limit 2/1h
			}
			zone office {
				match {
					client_ip 192.0.2.128/25
				}
				key static
				limit 5/1h
			}
			zone others {
				match {
					not client_ip 192.0.2.128/25
				}
				key static
				limit 9/1h
			}
		}
		respond "{http.rate_limit.office.limit}/{http.rate_limit.others.limit}"`
	g := serve(t, site)
	for _, c := range []struct{ plain, mapped, translated string }{
		{"192.0.2.1", "::ffff:192.0.2.1", "64:ff9b::192.0.2.1"}, {"192.0.2.2", "::FFFF:c000:202", "64:FF9B:0::c000:0202"},
	} {
		g.get("/", from(c.translated)).is(200).says("/9")
		g.get("/", from(c.mapped)).is(200).says("/9")
		for _, address := range []string{c.plain, c.mapped, c.translated} {
			g.get("/", from(address)).is(429)
			g.admin("POST", "/rate_limit/zones/ip/inspect", `{"key": "`+address+`"}`).is(200).says(`"key":"` + c.plain + `"`)
		}
	}
	for _, address := range []string{"192.0.2.201", "::ffff:192.0.2.202", "64:ff9b::192.0.2.203"} {
		if r := g.get("/", from(address)).is(200); r.body != "5/" {
			t.Errorf("%s is limited as %q, want by the zone office alone", address, r.body)
		}
	}
	for _, address := range []string{"198.51.100.7", "::ffff:198.51.100.7", "64:ff9b::198.51.100.7"} {
		g.get("/", from(address)).is(200).lacks("X-RateLimit-Limit")
	}
	for _, address := range []string{"203.0.113.7", "::ffff:203.0.113.7", "64:ff9b::203.0.113.7"} {
		g.get("/", from(address)).is(403)
	}
	g.admin("POST", "/rate_limit/access", `{"action": "deny", "address": "64:ff9b::192.0.2.77"}`).is(201).says(`"address":"192.0.2.77"`)
	g.get("/", from("192.0.2.77")).is(403)
}

// TestPrefixOfTranslator has clients behind a translator with a prefix of its own. Other addresses of the
// network count as before, and the handlers that follow see the address as it came.
func TestPrefixOfTranslator(t *testing.T) {
	g := serveWith(t, "rate_limit {\nnat64 2001:db8:64::/96 2001:db8:65::/96\n}", `
		rate_limit {
			deny 203.0.113.7
			zone ip {
				key {client_ip}
				limit 1/1h
			}
		}
		respond {client_ip}`)
	for _, address := range []string{"2001:db8:64::c000:201", "2001:db8:65::c000:202", "2001:db8:64:0:1::7"} {
		g.get("/", from(address)).is(200).says(address)
	}
	for _, address := range []string{"192.0.2.1", "2001:db8:65::192.0.2.1", "192.0.2.2", "2001:db8:64:0:1::8"} {
		g.get("/", from(address)).is(429)
	}
	for _, address := range []string{"203.0.113.7", "2001:db8:64::203.0.113.7"} {
		g.get("/", from(address)).is(403)
	}
	g.admin("POST", "/rate_limit/explain", `{"uri": "/", "from": "2001:db8:64::c000:201"}`).is(200).says(`"outcome":"rejected","key":"192.0.2.1"`)
}

// TestLegacyZonesMatchAddressesAsSent has a zone in the syntax of caddy-ratelimit. Its matchers are
// Caddy's, and read the address as it came.
func TestLegacyZonesMatchAddressesAsSent(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone old {
				match {
					client_ip 64:ff9b::/96
				}
				key static
				events 1
				window 1h
			}
		}
		respond ok`)
	g.get("/", from("64:ff9b::c000:201")).is(200)
	g.get("/", from("64:ff9b::c000:201")).is(429)
	g.get("/", from("192.0.2.1")).is(200).lacks("X-RateLimit-Limit")
}
