#!/bin/sh
# Sees to it that the parsers and servers that make upstreams asks are there: those of Debian, and
# those of parsers/package-lock.json from npm.
set -eu
cd "$(dirname "$0")"
. ../package-manager.sh

has apt-get || { echo "make upstreams asks the parsers of Debian: use a machine with apt-get." >&2; exit 1; }
for package in php-cli php-symfony-http-foundation php-symfony-routing ruby-rack libmojolicious-perl libplack-perl \
	libcgi-pm-perl python3-django python3-starlette python3-werkzeug python3-webob python3-tornado python3-bottle \
	python3-falcon python3-waitress python3-gunicorn nginx-light tomcat10-common default-jdk-headless; do
	dpkg -s "$package" >/dev/null 2>&1 || install_by_apt "$package"
done
has node || install_by_apt nodejs
has npm || install_by_apt npm # in other builds, nodejs has npm
if [ parsers/node_modules/.package-lock.json -nt parsers/package-lock.json ]; then exit 0; fi
quietly npm ci --prefix parsers --ignore-scripts --no-audit --no-fund --prefer-offline
