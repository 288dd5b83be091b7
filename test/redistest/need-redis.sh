#!/bin/sh
# Checks that redis-server 7.0 or newer, which the tests start, is in PATH. If there is none, this
# installs it with the system's package manager, as root or by sudo without a password. If it may
# not, it prints what to install. It does not replace a redis-server that is too old.
set -eu

version() { redis-server --version 2>/dev/null | sed -n 's/.* v=\([0-9][0-9.]*\).*/\1/p'; }

# new_enough sets have to the version, or to nothing without redis-server.
new_enough() {
	have=$(version)
	[ -n "$have" ] && [ "${have%%.*}" -ge 7 ]
}

print_remedy() {
	if [ -n "$have" ]; then
		problem="$(command -v redis-server) has version $have"
	else
		problem="none is in PATH"
	fi
	echo "The tests need redis-server 7.0 or newer, and $problem: use the package redis-server or redis if the system has" \
		"that version (Debian 12 and Ubuntu 24.04 do, Ubuntu 22.04 ships 6.0), else that of https://packages.redis.io," \
		"or build it from https://github.com/redis/redis." >&2
	exit 1
}

# quietly runs a command, and prints its output only if it fails.
quietly() { printed=$("$@" 2>&1) || { printf '%s\n' "$printed" >&2; return 1; }; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

has() { command -v "$1" >/dev/null; }

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -y "$@"; }

# The package lists may be missing, as in a fresh container, or too old.
install_by_apt() {
	quietly apt_get install --no-install-recommends redis-server 2>/dev/null || {
		quietly apt_get update && quietly apt_get install --no-install-recommends redis-server
	}
}

# install runs the package manager of the system. It fails without one, and without the rights.
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
		has brew && quietly brew install redis # brew refuses to run as root
	fi
}

if new_enough; then exit 0; fi
if [ -n "$have" ] || ! install; then print_remedy; fi
hash -r # search PATH again
if ! new_enough; then print_remedy; fi
echo "installed redis-server $have"
