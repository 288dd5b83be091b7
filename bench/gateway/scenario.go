//go:build linux

package main

import (
	"fmt"
	"strings"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// A comparison is one measurement of several variants of a gateway that answer the same requests.
type comparison struct {
	id, title string
	goal      float64 // the least ratio of the second variant to the first; 0 for none
	status    int     // of every response
	exhaust   bool    // one client beyond its limit, instead of many within theirs
	upstream  bool    // the sites proxy to %UPSTREAM%
	keys      int     // distinct ones; 0 for those of the flag
	variants  []*variant

	pace float64 // requests per second while latency was measured
}

// A variant is a way to configure Caddy, and what was measured of it. The first of a comparison is
// its baseline.
type variant struct {
	name, binary, site string
	redis              bool // it counts there, for a fleet
	rejects            bool // every request: there is no limit to spend first

	rates report.Series // requests per second, by round
	cpu   report.Series // microseconds of Caddy's processor time per request, by round

	p50, p99 report.Series // milliseconds from when a request was due to its answer, by round
}

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
	// staticRejection gives the same answer as a rejection, by ordinary directives.
	staticRejection = `	header {
		X-RateLimit-Limit 1
		X-RateLimit-Remaining 0
		X-RateLimit-Reset 1795273972
		RateLimit "\"api_key\";r=0;t=86400"
		RateLimit-Policy "\"api_key\";q=1;w=86400"
		Retry-After 86400
		Cache-Control no-store
		Content-Type application/json
	}
	respond "{\"error\":{\"code\":\"RATE_LIMIT_EXCEEDED\",\"message\":\"Rate limit of 1 request per 86400 seconds exceeded\"}}" 429
`
	answer = "\trespond ok\n"
	proxy  = "\treverse_proxy 127.0.0.1:%UPSTREAM%\n"
)

// threeWide are three zones with limits that a few keys do not reach.
var threeWide = strings.ReplaceAll(threeZones, "limit 1000/1m", "limit 1000000/1m")

// warmKeys is how many keys there are where a node is to lease: each has many requests while a
// lease lasts.
const warmKeys = 100

// comparisons returns what is measured, without the peer unless there is one.
func comparisons(o options) []*comparison {
	exhausted := func(options string) string {
		return "\trate_limit {\n\t\tzone api_key {\n\t\t\tkey {http.request.header.X-Api-Key}\n\t\t\tlimit 1/24h\n\t\t}\n" +
			options + "\t}\n" + answer
	}
	all := []*comparison{
		{
			id: "respond", status: 200, goal: 0.93,
			title: fmt.Sprintf("Requests within their limits, %d keys, `respond ok`", o.keys),
			variants: []*variant{
				{name: "Caddy without the handler", binary: o.caddy, site: answer},
				{name: "fleetlimit, three zones", binary: o.caddy, site: threeZones + answer},
				{name: "fleetlimit, three zones, `headers none`", binary: o.caddy, site: withoutHeaders(threeZones) + answer},
				{name: "fleetlimit, one zone", binary: o.caddy, site: oneZone + answer},
				{name: "caddy-ratelimit, one zone", binary: o.peer, site: peerZone + answer},
			},
		}, {
			id: "proxy", status: 200, upstream: true, goal: 0.93,
			title: fmt.Sprintf("Requests within their limits, %d keys, `reverse_proxy`", o.keys),
			variants: []*variant{
				{name: "Caddy without the handler", binary: o.caddy, site: proxy},
				{name: "fleetlimit, three zones", binary: o.caddy, site: threeZones + proxy},
				{name: "caddy-ratelimit, one zone", binary: o.peer, site: peerZone + proxy},
			},
		}, {
			id: "redis", status: 200, goal: 0.93, keys: warmKeys,
			title: fmt.Sprintf("Requests within their limits, counted in Redis, %d keys, `respond ok`", warmKeys),
			variants: []*variant{
				{name: "Caddy without the handler", binary: o.caddy, site: answer},
				{name: "fleetlimit, three zones, leases", binary: o.caddy, redis: true, site: threeWide + answer},
				{name: "fleetlimit, three zones, leases, `headers none`", binary: o.caddy, redis: true, site: withoutHeaders(threeWide) + answer},
				{name: "fleetlimit, three zones, `mode strict`", binary: o.caddy, redis: true,
					site: strings.ReplaceAll(threeWide, "/1m\n", "/1m\n\t\t\tmode strict\n") + answer},
			},
		}, {
			id: "redis-many", status: 200, keys: 10 * warmKeys,
			title: fmt.Sprintf("Requests within their limits, counted in Redis, %d keys, `respond ok`", 10*warmKeys),
			variants: []*variant{
				{name: "Caddy without the handler", binary: o.caddy, site: answer},
				{name: "fleetlimit, three zones, leases", binary: o.caddy, redis: true, site: threeWide + answer},
			},
		}, {
			id: "redis-proxy", status: 200, goal: 0.93, keys: warmKeys, upstream: true,
			title: fmt.Sprintf("Requests within their limits, counted in Redis, %d keys, `reverse_proxy`", warmKeys),
			variants: []*variant{
				{name: "Caddy without the handler", binary: o.caddy, site: proxy},
				{name: "fleetlimit, three zones, leases", binary: o.caddy, redis: true, site: threeWide + proxy},
			},
		}, {
			id: "reject", status: 429, goal: 0.90, exhaust: true,
			title: "Rejections of an exhausted key",
			variants: []*variant{
				{name: "Caddy with `respond 429`", binary: o.caddy, site: "\trespond 429\n", rejects: true},
				{name: "fleetlimit, defaults", binary: o.caddy, site: exhausted("")},
				{name: "fleetlimit, defaults, counted in Redis", binary: o.caddy, redis: true, site: exhausted("")},
				{name: "Caddy that only writes the same response", binary: o.floor, site: "\tfloor\n", rejects: true},
				{name: "Caddy with the same headers and `respond 429`", binary: o.caddy, site: staticRejection, rejects: true},
				{name: "fleetlimit, `headers x`", binary: o.caddy, site: exhausted("\t\theaders x\n")},
				{name: "fleetlimit, `headers none`, `reject error`", binary: o.caddy,
					site: exhausted("\t\theaders none\n\t\treject error\n")},
				{name: "caddy-ratelimit", binary: o.peer, site: `	rate_limit {
		zone api_key {
			key {http.request.header.X-Api-Key}
			events 1
			window 24h
		}
	}
` + answer},
			},
		},
	}
	for _, c := range all {
		c.variants = withBinary(c.variants)
	}
	return all
}

// withoutHeaders returns the handler without its headers. Its cost is then that of deciding.
func withoutHeaders(handler string) string {
	return strings.Replace(handler, "rate_limit {\n", "rate_limit {\n\t\theaders none\n", 1)
}

// withBinary returns the variants that can be started.
func withBinary(all []*variant) (out []*variant) {
	for _, v := range all {
		if v.binary != "" {
			out = append(out, v)
		}
	}
	return out
}

// A memoryRow is a variant whose memory is measured after every key has made one request.
type memoryRow struct {
	variant
	resident float64 // bytes
}

// memoryGoal is how much more memory the second row may have than the first, in bytes.
const memoryGoal = 100_000_000

func memoryRows(o options) (rows []*memoryRow) {
	for _, v := range withBinary([]*variant{
		{name: "Caddy without the handler", binary: o.caddy, site: answer},
		{name: "fleetlimit, one zone", binary: o.caddy, site: oneZone + answer},
		{name: "fleetlimit, three zones", binary: o.caddy, site: threeZones + answer},
		{name: "caddy-ratelimit, one zone", binary: o.peer, site: peerZone + answer},
	}) {
		rows = append(rows, &memoryRow{variant: *v})
	}
	return rows
}
