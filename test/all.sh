#!/usr/bin/env bash
# npm run test:all - everything, on a fresh Debian or Ubuntu machine. As root it installs what the tests
# need and lacks, starts a private MariaDB on a temporary folder and port, checks types, lint and
# format, then runs the unit tests on both databases, the tests in a real browser (screenshots stay in
# test/artefacts), the end-to-end tests in network namespaces, and those of operation (faults, several
# gateways on one database).
# Without root it runs what needs none and says what it left out; with CI=true that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

packages=(wireguard-go wireguard-tools iproute2 iputils-ping iperf3 nftables tcpdump mariadb-server procps chromium prometheus
  podman runc netavark debootstrap iptables openssl systemd systemd-container caddy curl galera-4 rsync lsof libfaketime
  debian-archive-keyring docker-compose
  # Identity providers, and what they leave out unless it is asked for.
  lemonldap-ng starman liblasso-perl libglib-perl libio-string-perl libstring-random-perl libxml-simple-perl
  libcrypt-openssl-bignum-perl simplesamlphp php-cli php-xml php-mbstring)

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  # Packages must not start services: the tests start their own MariaDB and nothing else.
  local policy=/usr/sbin/policy-rc.d made=
  if [ ! -e $policy ]; then printf '#!/bin/sh\nexit 101\n' >$policy; chmod +x $policy; made=yes; fi
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  if [ -n "$made" ]; then rm -f $policy; fi
}

complete=yes
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  install_packages
else
  complete=
  say 'not root on Debian or Ubuntu: MariaDB, the browser and the end-to-end tests are left out'
  if [ "${CI:-}" = true ]; then exit 1; fi
fi

say 'types, lint, format'
npm run -s typecheck
npm run -s lint
npm run -s format:check

failed=0
if [ -n "$complete" ]; then
  say 'a private MariaDB'
  TEST_MARIADB_URL=$(node test/support/mariadb.ts start)
  export TEST_MARIADB_URL DATABASES=sqlite,mariadb
  trap 'node test/support/mariadb.ts stop' EXIT
fi

say 'unit tests'
npx ava --tap >test-unit.tap 2>test-unit.err || failed=1
if [ -n "$complete" ]; then
  say 'tests in a browser'
  npx ava --config test/browser/ava.config.js --tap >test-browser.tap 2>test-browser.err || failed=1
  say 'end-to-end tests'
  npx ava --config test/e2e/ava.config.js --tap >test-e2e.tap 2>test-e2e.err || failed=1
  say 'attacks'
  npx ava --config test/attacks/ava.config.js --tap >test-attacks.tap 2>test-attacks.err || failed=1
  say 'tests of operation'
  npx ava --config test/ops/ava.config.js --tap >test-ops.tap 2>test-ops.err || failed=1
fi
node test/support/summary.ts test-unit test-browser test-e2e test-attacks test-ops || failed=1
exit $failed
