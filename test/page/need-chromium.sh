#!/bin/sh
# Checks that Chromium or Chrome, which the test of the operator's page drives, is in PATH. If there
# is none, this installs Chromium with the system's package manager, as root or by sudo without a
# password. If it may not, it prints what to install.
set -eu
. "${0%need-chromium.sh}../package-manager.sh"

# The names that chromedp looks for.
found() { has chromium || has chromium-browser || has google-chrome || has google-chrome-stable; }

if found; then exit 0; fi
if ! install_package chromium chromium chromium chromium chromium; then
	echo "The test of the operator's page needs Chromium or Chrome, and none is in PATH: use the package chromium." >&2
	exit 1
fi
hash -r # search PATH again
found || { echo "The package chromium was installed, and no chromium is in PATH: use google-chrome." >&2; exit 1; }
echo "installed chromium"
