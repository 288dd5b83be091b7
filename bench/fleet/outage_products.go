//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// shareLimit is the number of events per window in the limits that measureShare uses.
const shareLimit = 100

// A product is a Caddy that limits requests and counts them in the cluster. Its site has
//   - /v1, with a limit out of reach;
//   - /once, with one request per hour;
//   - a path for each of its shares, with shareLimit per window.
//
// In the configuration, %ADDRESSES% are the addresses of the cluster, %WINDOW% is the window of the
// shares, and %FLEET% is a name for the fleet.
type product struct {
	name, binary  string
	options, site string
	shares        []share
	aware         bool // its nodes know of each other, and /metrics has their number
}

// A share is one limit of a product that is measured in an outage.
type share struct{ name, path string }

// products returns the products whose binary is given.
func (o *options) products() []*product {
	all := []*product{
		{name: "Caddy without a limiter", binary: o.caddy},
		{
			name: "fleetlimit", binary: o.caddy, options: ourOptions,
			site: "\tmetrics /metrics\n" + ourZone("v1", "20000/1m") + ourZone("once", "1/1h") +
				ourZone("bucket", fmt.Sprint(shareLimit, "/%WINDOW%")) +
				ourZone("log", fmt.Sprint(shareLimit, "/%WINDOW%\n\t\t\talgorithm sliding_window_log")),
			shares: []share{{"fleetlimit, token_bucket", "/bucket"}, {"fleetlimit, sliding_window_log", "/log"}},
			aware:  true,
		},
		{
			name: "caddy-ratelimit", binary: o.peer, options: "\tstorage cluster %ADDRESSES%\n",
			site: "\trate_limit {\n\t\tdistributed {\n\t\t\tread_interval 1s\n\t\t\twrite_interval 1s\n\t\t}\n" +
				peerZone("v1", 20000, "1m") + peerZone("once", 1, "1h") + peerZone("share", shareLimit, "%WINDOW%") + "\t}\n",
			shares: []share{{"caddy-ratelimit", "/share"}},
		},
		{
			name: "redis_rate", binary: o.peer,
			site:   redisRate("v1", 20000, "1m") + redisRate("once", 1, "1h") + redisRate("share", shareLimit, "%WINDOW%"),
			shares: []share{{"redis_rate", "/share"}},
		},
	}
	for _, p := range all {
		p.site += "\trespond ok\n"
	}
	return slices.DeleteFunc(all, func(p *product) bool { return p.binary == "" })
}

const ourOptions = `	order metrics first
	rate_limit {
		redis cluster {
			address %ADDRESSES%
			key_prefix %FLEET%
		}
	}
`

func ourZone(name, limit string) string {
	const text = `	rate_limit /NAME* {
		zone NAME {
			key {http.request.header.X-Api-Key}
			limit LIMIT
		}
	}
`
	return strings.NewReplacer("NAME", name, "LIMIT", limit).Replace(text)
}

func peerZone(name string, events int, window string) string {
	const text = `		zone NAME {
			match {
				path /NAME*
			}
			key {http.request.header.X-Api-Key}
			events EVENTS
			window WINDOW
		}
`
	return strings.NewReplacer("NAME", name, "EVENTS", fmt.Sprint(events), "WINDOW", window).Replace(text)
}

func redisRate(name string, events int, window string) string {
	return fmt.Sprintf("\tredis_rate /%s* %d %s %%ADDRESSES%%\n", name, events, window)
}
