# Functions of the scripts that install what tests need. They run the system's package manager as
# root or by sudo without a password.

# quietly runs a command, and prints its output only if it fails.
quietly() { printed=$("$@" 2>&1) || { printf '%s\n' "$printed" >&2; return 1; }; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

has() { command -v "$1" >/dev/null; }

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -y "$@"; }

# The package lists may be missing, as in a fresh container, or too old.
install_by_apt() {
	quietly apt_get install --no-install-recommends "$1" 2>/dev/null || {
		quietly apt_get update && quietly apt_get install --no-install-recommends "$1"
	}
}

# install_package installs a package, by its names for apt-get, dnf, apk, pacman and brew. It fails
# without a package manager, and without the rights.
install_package() {
	if has apt-get || has dnf || has apk || has pacman; then
		as_root true 2>/dev/null || return 1
	fi
	if has apt-get; then
		install_by_apt "$1"
	elif has dnf; then
		quietly as_root dnf install -y "$2"
	elif has apk; then
		quietly as_root apk add --no-cache "$3"
	elif has pacman; then
		quietly as_root pacman -S --noconfirm --needed "$4"
	else
		has brew && quietly brew install "$5" # brew refuses to run as root
	fi
}
