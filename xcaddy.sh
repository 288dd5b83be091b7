#!/bin/sh
# Builds Caddy with this module, using xcaddy if it is installed, and checks that the binary has
# the module.
# Usage: ./xcaddy.sh [output]
set -eu

module=github.com/fleetlimit/fleetlimit
output=${1:-bin/caddy}
case $output in /*) ;; *) output=$PWD/$output ;; esac
cd "$(dirname "$0")"
mkdir -p "$(dirname "$output")"

if command -v xcaddy >/dev/null; then
	xcaddy build --with "$module=." --output "$output"
else
	go build -o "$output" ./cmd/caddy
fi

"$output" version
modules=$("$output" list-modules)
for id in http.handlers.rate_limit rate_limit; do
	echo "$modules" | grep -qx "$id" || { echo "$output has no module $id" >&2; exit 1; }
done
echo "$output has http.handlers.rate_limit and rate_limit"
