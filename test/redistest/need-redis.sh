#!/bin/sh
# Checks that redis-server 7.0 or newer, which the tests start, is in PATH. If there is none, this
# installs it with the system's package manager, as root or by sudo without a password. If it may
# not, it prints what to install. It does not replace a redis-server that is too old.
set -eu
. "${0%need-redis.sh}../package-manager.sh"

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

if new_enough; then exit 0; fi
if [ -n "$have" ] || ! install_package redis-server redis redis redis redis; then print_remedy; fi
hash -r # search PATH again
if ! new_enough; then print_remedy; fi
echo "installed redis-server $have"
