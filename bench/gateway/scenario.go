//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// A comparison measures several variants of a Caddy that serve equal requests. The first variant is the
// baseline.
type comparison struct {
	id, title string
	status    int  // of every response
	exhausted bool // one client beyond its limit, instead of many clients within theirs
	keys      int  // number of different keys
	variants  []*variant

	pace float64 // requests per second while latency was measured
}

// A variant is a configuration of Caddy, with its figures.
type variant struct {
	name, binary, site string
	redis              bool // it counts in Redis
	unlimited          bool // it rejects from the first request on, so warm need not exhaust a limit

	overridden string // ofOthers or ofClients, whose keys have overrides; "" if none have

	same string  // name of the variant that writes equal responses; "" if there is none
	goal float64 // the least ratio of requests per second to that variant; 0 if there is no goal

	rates report.Series // requests per second, by round
	cpu   report.Series // processor time of Caddy per request in µs, by round

	p50, p99 report.Series // time from the due instant of a request to its response in ms, by round

	resident report.Series // bytes, by process
}

func (v *variant) String() string { return v.name }

const (
	threeZones = `	rate_limit {
		zone api_key {
			key {http.request.header.X-Api-Key}
			limit 1000/1m
		}
		zone tenant {
			key {http.request.header.X-Tenant}
			limit 1000/1m
		}
		zone address {
			key {client_ip}
			limit 1000000000/1m
		}
	}
`
	oneZone = `	rate_limit {
		zone api_key {
			key {http.request.header.X-Api-Key}
			limit 1000/1m
		}
	}
`
	peerZone = `	rate_limit {
		zone api_key {
			key {http.request.header.X-Api-Key}
			events 1000
			window 1m
		}
	}
`
	noMatch = `	rate_limit {
		zone api_key {
			match {
				method PUT
			}
			key {http.request.header.X-Api-Key}
			limit 1000/1m
		}
	}
`
	// sameHeaders writes the headers of three zones with an ordinary directive.
	sameHeaders = `	header {
		X-RateLimit-Limit 1000
		X-RateLimit-Remaining 999
		X-RateLimit-Reset 1795273972
		RateLimit "\"address\";r=999999999;t=1, \"api_key\";r=999;t=1, \"tenant\";r=999;t=1"
		RateLimit-Policy "\"address\";q=1000000000;w=60, \"api_key\";q=1000;w=60, \"tenant\";q=1000;w=60"
	}
`
	// sameRejection writes the response of a rejection with ordinary directives.
	sameRejection = `	header {
		X-RateLimit-Limit 1
		X-RateLimit-Remaining 0
		X-RateLimit-Reset 1795273972
		RateLimit "\"api_key\";r=0;t=86400"
		RateLimit-Policy "\"api_key\";q=1;w=86400"
		Retry-After 86400
		Cache-Control no-store
		Content-Type application/json
	}
	respond "{\"error\":{\"code\":\"RATE_LIMIT_EXCEEDED\",\"message\":\"Rate limit of 1 request per day exceeded\"}}" 429
`
	respond = "\trespond ok\n"
	proxy   = "\treverse_proxy 127.0.0.1:%UPSTREAM%\n"
)

// highZones are three zones with limits that few keys do not reach.
var highZones = strings.ReplaceAll(threeZones, "limit 1000/1m", "limit 1000000/1m")

// fewKeys is the number of keys if a node is to use leases: each key then has many requests in the life
// of a lease.
const fewKeys = 100

// comparisons returns the comparisons to measure. It leaves out variants whose binary is not given.
func comparisons(o options) []*comparison {
	within := func(id, where string, keys int, zones, rest string, redis bool, more ...*variant) *comparison {
		return &comparison{
			id: id, status: 200, keys: keys,
			title: fmt.Sprintf("Requests within their limits, counted in %s, %d keys, `%s`", where, keys, strings.Fields(rest)[0]),
			variants: append([]*variant{
				{name: "Caddy without the handler", binary: o.caddy, site: rest},
				{name: "`header`", binary: o.caddy, site: sameHeaders + rest},
				{name: "fleetlimit", binary: o.caddy, redis: redis, site: zones + rest, same: "`header`", goal: 0.90},
			}, more...),
		}
	}
	noHeaders := func(zones string, redis bool) *variant {
		site := strings.Replace(zones, "rate_limit {\n", "rate_limit {\n\t\theaders none\n", 1) + respond
		return &variant{name: "fleetlimit, `headers none`", binary: o.caddy, redis: redis, site: site}
	}
	oneWithoutHeaders := noHeaders(strings.ReplaceAll(oneZone, "1000/1m", "1000000/1m"), false)
	oneWithoutHeaders.name += ", one zone"
	peer := func(rest string) *variant {
		return &variant{name: "caddy-ratelimit, one zone", binary: o.peer, site: peerZone + rest}
	}
	exhausted := func(settings string) string {
		return strings.Replace(oneZone, "1000/1m\n\t\t}\n", "1/24h\n\t\t}\n"+settings, 1) + respond
	}
	all := []*comparison{
		within("respond", "memory", o.keys, threeZones, respond, false,
			noHeaders(threeZones, false),
			&variant{name: "fleetlimit, one zone", binary: o.caddy, site: oneZone + respond},
			peer(respond)),
		within("proxy", "memory", o.keys, threeZones, proxy, false, peer(proxy)),
		{
			id: "overrides", status: 200, keys: o.keys,
			title: fmt.Sprintf("Requests within their limits, one zone, with %d overrides", o.keys),
			variants: []*variant{
				{name: "without overrides", binary: o.caddy, site: oneZone + respond},
				{name: "overrides of other keys", binary: o.caddy, site: oneZone + respond, overridden: ofOthers},
				{name: "overrides of these keys", binary: o.caddy, site: oneZone + respond, overridden: ofClients},
			},
		},
		within("redis", "Redis", fewKeys, highZones, respond, true,
			noHeaders(highZones, true),
			&variant{name: "fleetlimit, `mode strict`", binary: o.caddy, redis: true,
				site: strings.ReplaceAll(highZones, "/1m\n", "/1m\n\t\t\tmode strict\n") + respond}),
		within("redis-many", "Redis", 10*fewKeys, highZones, respond, true,
			&variant{name: "fleetlimit, counted in memory", binary: o.caddy, site: highZones + respond, same: "`header`"},
			noHeaders(highZones, true)),
		// Each variant does one thing more than the variant before it. The difference is the cost of a
		// part of the handler.
		within("shares", "memory", 10*fewKeys, highZones, respond, false,
			&variant{name: "fleetlimit, no zone matches", binary: o.caddy, site: noMatch + respond},
			oneWithoutHeaders, noHeaders(highZones, false)),
		within("redis-proxy", "Redis", fewKeys, highZones, proxy, true),
		{
			id: "reject", status: 429, exhausted: true,
			title: "Rejections of an exhausted key",
			variants: []*variant{
				{name: "Caddy with `respond 429`", binary: o.caddy, site: "\trespond 429\n", unlimited: true},
				{name: "`floor`", binary: o.floor, site: "\tfloor\n", unlimited: true},
				{name: "fleetlimit", binary: o.caddy, site: exhausted(""), same: "`floor`", goal: 0.93},
				{name: "fleetlimit, counted in Redis", binary: o.caddy, redis: true, site: exhausted(""), same: "`floor`"},
				{name: "`header` and `respond 429`", binary: o.caddy, site: sameRejection, unlimited: true},
				{name: "fleetlimit, `headers x`", binary: o.caddy, site: exhausted("\t\theaders x\n")},
				{name: "fleetlimit, `headers none`, `reject error`", binary: o.caddy,
					site: exhausted("\t\theaders none\n\t\treject error\n")},
				{name: "caddy-ratelimit", binary: o.peer,
					site: strings.NewReplacer("events 1000", "events 1", "1m", "24h").Replace(peerZone) + respond},
			},
		},
	}
	for _, c := range all {
		c.variants = started(c.variants)
	}
	return all
}

// memoryVariants returns the variants whose memory is measured after one request of each key.
func memoryVariants(o options) []*variant {
	return started([]*variant{
		{name: "Caddy without the handler", binary: o.caddy, site: respond},
		{name: "fleetlimit, one zone", binary: o.caddy, site: oneZone + respond},
		{name: "fleetlimit, three zones", binary: o.caddy, site: threeZones + respond},
		{name: "caddy-ratelimit, one zone", binary: o.peer, site: peerZone + respond},
	})
}

// started returns the variants whose binary is given.
func started(all []*variant) []*variant {
	return slices.DeleteFunc(all, func(v *variant) bool { return v.binary == "" })
}
