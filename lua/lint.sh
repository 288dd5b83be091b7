#!/bin/sh
# Checks the generated scripts in testdata for syntax errors and for global variables, which Redis
# refuses at run time. Installs luacheck with apt-get if it is missing and the user may.
set -eu
cd "$(dirname "$0")"

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@" >/dev/null; }

if ! command -v luacheck >/dev/null; then
	apt_get install --no-install-recommends lua-check 2>/dev/null ||
		{ apt_get update && apt_get install --no-install-recommends lua-check; } || {
		echo "luacheck is not installed: use the package lua-check, or luacheck from https://luarocks.org" >&2
		exit 1
	}
fi
luacheck --quiet --no-color --std lua51 --globals redis struct KEYS ARGV --only 0 1 -- testdata/*.lua
