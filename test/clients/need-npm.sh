#!/bin/sh
# Sees to it that node, npm and the clients of package-lock.json are there. Where there is neither
# node nor npm, this installs Debian's with apt-get if it may without a question, as root or by
# sudo without a password. It exits with status 75 and one sentence on standard error when the
# clients cannot be had here, which is no fault of the project, and with 1 when something is wrong.
set -eu
cd "$(dirname "$0")"

needed=$(sed -n 's/.*"node": ">=\(.*\)".*/\1/p' package.json)

unavailable() { echo "Not checked with the clients from npm: $*" >&2; exit 75; }

has() { command -v "$1" >/dev/null; }

new_enough() { [ "$(printf '%s\n' "$needed" "$1" | sort -V | head -n 1)" = "$needed" ]; }

apt_get() {
	if [ "$(id -u)" -eq 0 ]; then set -- env DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@"
	else set -- sudo -n env DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@"; fi
	"$@" >/dev/null 2>&1
}

# offered prints the version of node that apt-get would install.
offered() { apt-cache policy nodejs | sed -n 's/^ *Candidate: \([0-9:]*:\)\{0,1\}\([0-9][0-9.]*\).*/\2/p'; }

install_node() {
	has apt-get || return 0
	version=$(offered)
	[ -n "$version" ] || { apt_get update || return 0; version=$(offered); } # the lists may be missing
	[ -n "$version" ] && new_enough "$version" || return 0
	echo "installing nodejs $version and npm with apt-get"
	apt_get install --no-install-recommends nodejs || return 0
	has npm || apt_get install --no-install-recommends npm || return 0 # in other builds, nodejs has npm
}

has node || has npm || install_node
has node && has npm || unavailable "node $needed and npm are not installed, get them from https://nodejs.org."
version=$(node --version | sed 's/^v//')
new_enough "$version" || unavailable "node $version is too old, get $needed or newer from https://nodejs.org."

# npm writes this file last.
if [ node_modules/.package-lock.json -nt package-lock.json ]; then exit 0; fi
printed=$(npm ci --ignore-scripts --no-audit --no-fund --prefer-offline \
	--fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=30000 2>&1) || {
	code=$(printf '%s\n' "$printed" | sed -n 's/^npm [a-zA-Z!]* code //p' | head -n 1)
	case $code in
	ENOTFOUND | EAI_AGAIN | ECONN* | *TIMEDOUT | *TIMEOUT | *UNREACH | E5??) unavailable "npm cannot reach its registry ($code)." ;;
	esac
	printf '%s\n' "$printed" >&2
	exit 1
}
