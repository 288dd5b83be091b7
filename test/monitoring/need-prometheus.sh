#!/bin/sh
# Checks that prometheus and promtool 2.42 or newer, which the tests of alerts and dashboards run,
# are in PATH. If they are not, this installs them with the system's package manager, as root or by
# sudo without a password, without starting a server. If it may not, it prints what to install. It
# does not replace programs that are too old.
set -eu
. "${0%need-prometheus.sh}../package-manager.sh"

needed=2.42

# policy is the program that Debian's packages ask whether they may start a server. The variable is
# for the test of this script.
policy=${NEED_PROMETHEUS_POLICY:-/usr/sbin/policy-rc.d}

version() { "$1" --version 2>&1 | sed -n "s/^$1, version \([0-9][0-9.]*\).*/\1/p"; }

# new_enough sets have to the older version of the two programs, or to nothing without one of them.
new_enough() {
	have=
	server=$(version prometheus) tool=$(version promtool)
	[ -n "$server" ] && [ -n "$tool" ] || return 1
	have=$(printf '%s\n' "$server" "$tool" | sort -V | head -n 1)
	[ "$(printf '%s\n' "$needed" "$have" | sort -V | head -n 1)" = "$needed" ]
}

print_remedy() {
	if [ -n "$have" ]; then
		problem="those in PATH have version $have"
	else
		problem="they are not both in PATH"
	fi
	echo "The tests need prometheus and promtool $needed or newer, and $problem: use the package prometheus of the system," \
		"or the programs of https://prometheus.io/download/." >&2
	exit 1
}

# install keeps Debian's package from starting a server on all interfaces. A policy that exists is
# left alone: it was made for the same purpose.
install() {
	made=
	if has apt-get && ! [ -e "$policy" ]; then
		as_root sh -c 'printf "#!/bin/sh\nexit 101\n" >"$0" && chmod +x "$0"' "$policy" 2>/dev/null || return 1
		made=yes
	fi
	installed=yes
	install_package prometheus golang-github-prometheus prometheus prometheus prometheus || installed=
	if [ "$made" ]; then as_root rm "$policy"; fi
	[ "$installed" ]
}

if new_enough; then exit 0; fi
if [ -n "$have" ] || ! install; then print_remedy; fi
hash -r # search PATH again
if ! new_enough; then print_remedy; fi
echo "installed prometheus $have"
