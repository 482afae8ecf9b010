#!/usr/bin/env bash
# Makes sure that the programs are there which the tests start: Postgres,
# PgBouncer, Redis, faketime, and a C compiler for the race detector and for what
# moves the clock of a Redis. Root on Debian or Ubuntu gets what is missing
# installed; others are told how.
#
# The tests start servers of their own, so nothing installed here is started.
# With CI=true a program that is missing in the end is an error; otherwise the
# tests that need it are skipped, and say so.
set -euo pipefail

# found NAME GLOB: the program is on the PATH, or where packages put it. Neither
# /usr/sbin nor the directory of Postgres' server is on everybody's PATH.
found() {
	command -v "$1" >/dev/null 2>&1 || compgen -G "$2" >/dev/null
}

missing=()
check() {
	missing=()
	found postgres '/usr/lib/postgresql/*/bin/postgres' || missing+=(postgresql)
	found psql '/usr/lib/postgresql/*/bin/psql' || missing+=(postgresql-client)
	found pgbouncer '/usr/sbin/pgbouncer' || missing+=(pgbouncer)
	found redis-server '/usr/sbin/redis-server' || missing+=(redis-server)
	found faketime '/usr/bin/faketime' || missing+=(faketime)
	# For the race detector, and the clock of a Redis. The package gcc alone has no header files.
	found gcc '/usr/bin/clang' || missing+=(gcc libc6-dev)
}

# install_debian keeps packages from starting their servers: a file that Debian
# asks for exactly this answers that no server may be started. An answer that
# somebody else gave is left alone.
install_debian() {
	local policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		trap "rm -f $policy" EXIT
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod +x "$policy"
	fi
	export DEBIAN_FRONTEND=noninteractive
	local options=(-q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
	apt-get "${options[@]}" update </dev/null
	apt-get "${options[@]}" install --no-install-recommends "${missing[@]}" </dev/null
}

check
if [ "${#missing[@]}" -eq 0 ]; then
	exit 0
fi

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "==> installing ${missing[*]} (about a minute)"
	begin=$SECONDS
	install_debian || echo "==> installing failed" >&2
	check
	if [ "${#missing[@]}" -eq 0 ]; then
		echo "==> installed in $((SECONDS - begin)) s"
		exit 0
	fi
fi

cat >&2 <<TEXT
==> missing for some tests: ${missing[*]}
    Debian, Ubuntu:  sudo apt-get install ${missing[*]}
    Fedora:          sudo dnf install postgresql-server pgbouncer redis libfaketime
    macOS:           brew install postgresql pgbouncer redis libfaketime
TEXT
if [ "${CI:-}" = true ]; then
	echo "==> CI=true: nothing may be skipped" >&2
	exit 1
fi
echo "    Their tests will be skipped." >&2
