// Command caddy is Caddy with its standard modules and the rate_limit handler.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/fleetlimit/fleetlimit"
)

func main() { caddycmd.Main() }
