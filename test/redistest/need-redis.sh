#!/bin/sh
# Sees to it that redis-server 7.0 or newer is in PATH, which the tests start. Where there is none, this installs it with
# the system's package manager if it may without a question, as root or by sudo without a password; else it says in one
# sentence what to install. A redis-server that is too old is somebody's own, and is left alone.
set -eu

version() { redis-server --version 2>/dev/null | sed -n 's/.* v=\([0-9][0-9.]*\).*/\1/p'; }

# new_enough leaves the version in have, which is empty where there is no redis-server.
new_enough() {
	have=$(version)
	[ -n "$have" ] && [ "${have%%.*}" -ge 7 ]
}

say_what_to_do() {
	if [ -n "$have" ]; then
		problem="$(command -v redis-server) has version $have"
	else
		problem="none is in PATH"
	fi
	echo "The tests need redis-server 7.0 or newer, and $problem: install the package redis-server or redis if the system has" \
		"it that new (Debian 12 and Ubuntu 24.04 do, Ubuntu 22.04 ships 6.0), else that of https://packages.redis.io," \
		"or build it from https://github.com/redis/redis." >&2
	exit 1
}

# quietly runs a command, and shows what it printed only when it fails.
quietly() { printed=$("$@" 2>&1) || { printf '%s\n' "$printed" >&2; return 1; }; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

has() { command -v "$1" >/dev/null; }

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -y "$@"; }

# The lists of packages may be missing, as in a fresh container, or too old.
install_by_apt() {
	quietly apt_get install --no-install-recommends redis-server 2>/dev/null || {
		quietly apt_get update && quietly apt_get install --no-install-recommends redis-server
	}
}

# install runs the package manager of the system. It fails where there is none, or none that it may run.
install() {
	if has apt-get || has dnf || has apk || has pacman; then
		as_root true 2>/dev/null || return 1
	fi
	if has apt-get; then
		install_by_apt
	elif has dnf; then
		quietly as_root dnf install -y redis
	elif has apk; then
		quietly as_root apk add --no-cache redis
	elif has pacman; then
		quietly as_root pacman -S --noconfirm --needed redis
	else
		has brew && quietly brew install redis # which does not want to be root
	fi
}

if new_enough; then exit 0; fi
if [ -n "$have" ] || ! install; then say_what_to_do; fi
hash -r # forget where redis-server was not
if ! new_enough; then say_what_to_do; fi
echo "installed redis-server $have"
