#!/bin/sh
# Checks that the server programs of PostgreSQL 14 or newer, which the tests start, are in PATH or
# where the packages of systems have them. If there are none, this installs them with the system's
# package manager, as root or by sudo without a password, without starting a server. If it may not,
# it prints what to install. It does not replace programs that are too old.
set -eu
. "${0%need-postgres.sh}../package-manager.sh"

# NEED_POSTGRES_ROOT is for the test of this script.
root=${NEED_POSTGRES_ROOT:-}

# search sets have to the newest version and folder of the programs, or to nothing. programs.go
# searches the same folders.
search() {
	have= folder=
	IFS=:
	for dir in $PATH "$root"/usr/lib/postgresql/*/bin "$root"/usr/pgsql-*/bin "$root"/usr/libexec/postgresql* \
		"$root"/opt/homebrew/opt/postgresql*/bin "$root"/usr/local/opt/postgresql*/bin; do
		[ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] || continue
		version=$("$dir/postgres" --version 2>/dev/null | sed -n 's/^postgres (PostgreSQL) \([0-9]*\).*/\1/p')
		if [ "${version:-0}" -gt "${have:-0}" ]; then have=$version folder=$dir; fi
	done
	unset IFS
}

new_enough() {
	search
	[ "${have:-0}" -ge 14 ]
}

print_remedy() {
	if [ -n "$have" ]; then
		problem="$folder has version $have"
	else
		problem="there is none"
	fi
	echo "The tests need the server of PostgreSQL 14 or newer, and $problem: use the package postgresql or" \
		"postgresql-server of the system, or that of https://www.postgresql.org/download/." >&2
	exit 1
}

# install keeps Debian's package from making a cluster and starting it.
install() {
	drop_in=$root/etc/postgresql-common/createcluster.d/fleetlimit.conf
	if has apt-get; then
		as_root mkdir -p "${drop_in%/*}" 2>/dev/null && as_root sh -c 'echo "create_main_cluster = false" >"$0"' "$drop_in" || return 1
	fi
	installed=yes
	install_package postgresql postgresql-server postgresql postgresql postgresql || installed=
	if has apt-get; then as_root rm "$drop_in"; fi
	[ "$installed" ]
}

if new_enough; then exit 0; fi
if [ -n "$have" ] || ! install; then print_remedy; fi
if ! new_enough; then print_remedy; fi
echo "installed the server of PostgreSQL $have"
