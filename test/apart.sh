#!/usr/bin/env bash
# test/apart.sh COMMAND... - runs a command as root in a network of its own, with its own list of named
# networks and its own sockets of WireGuard interfaces, so that it meets no other test. A private
# MariaDB of the host is out of reach there: where DATABASES names mariadb, the command gets another.
# OUTSIDE is the network of the machine, for a test that fetches something (nsenter --net).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${APART:-}" ]; then
  # This shell stays, and with it the way out: its network is that of the machine.
  status=0
  APART=yes OUTSIDE=/proc/$$/ns/net unshare --net --mount "$0" "$@" || status=$?
  exit $status
fi
for folder in /run/netns /run/wireguard; do
  mkdir -p $folder
  mount -t tmpfs tmpfs $folder
done
ip link set lo up
unset TEST_MARIADB_URL
if [[ "${DATABASES:-}" = *mariadb* ]]; then
  TEST_MARIADB_URL=$(node test/support/database/mariadb.ts start)
  export TEST_MARIADB_URL
  trap 'node test/support/database/mariadb.ts stop' EXIT
fi
status=0
"$@" || status=$?
exit $status
