#!/usr/bin/env bash
# test/apart.sh COMMAND... - runs a command as root in a network, and a list of named networks, of its
# own, so that it meets no other test. A private MariaDB of the host is out of reach there: where
# DATABASES names mariadb, the command gets another one.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${APART:-}" ]; then
  APART=yes exec unshare --net --mount "$0" "$@"
fi
mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
ip link set lo up
if [[ "${DATABASES:-}" = *mariadb* ]]; then
  TEST_MARIADB_URL=$(node test/support/mariadb.ts start)
  export TEST_MARIADB_URL
  trap 'node test/support/mariadb.ts stop' EXIT
fi
status=0
"$@" || status=$?
exit $status
