#!/usr/bin/env bash
# npm run test:all - everything, on a fresh Debian or Ubuntu machine. As root it installs what the tests
# need and lacks, starts a private MariaDB on a temporary folder and port, checks types, lint and
# format, runs the unit tests on both databases, the tests in a real browser (screenshots stay in
# test/artefacts), the end-to-end tests, attacks, and those of operation (faults, several gateways on
# one database), and prints what each phase and its slowest files took; test/artefacts/seconds.txt
# has all files.
# Without root it runs what needs none and says what it left out; with CI=true that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

packages=(wireguard-go wireguard-tools iproute2 iputils-ping iperf3 nftables tcpdump mariadb-server procps chromium prometheus
  podman runc netavark debootstrap iptables openssl systemd systemd-container caddy curl galera-4 rsync lsof libfaketime
  debian-archive-keyring docker-compose passt
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
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  complete=
  say 'not root on Debian or Ubuntu: MariaDB, the browser and the end-to-end tests are left out'
  if [ "${CI:-}" = true ]; then exit 1; fi
fi

seconds=test/artefacts/seconds
rm -rf $seconds test-*.tap test-*.err
mkdir -p $seconds

# Runs one phase and notes what it took. Its TAP report goes to test-NAME.tap if it is one of AVA, and
# all else that it prints to test-NAME.err.
phase() { # NAME COMMAND...
  local name=$1 status=0 report TIMEFORMAT='"wall":%R,"user":%U,"sys":%S'
  shift
  say "$name"
  if [[ " $* " = *' --tap '* ]]; then report=test-$name.tap; else report=test-$name.err; fi
  { time TEST_SECONDS=$PWD/$seconds/$name.jsonl "$@" >>"$report" 2>>"test-$name.err"; } \
    2>"$seconds/$name.time" || status=$?
  echo "{\"phase\":\"$name\",$(cat "$seconds/$name.time"),\"status\":$status}" >>$seconds/phases.jsonl
  if [ $status -ne 0 ]; then say "$name failed"; fi
}

checks() {
  phase types npm run -s typecheck
  phase lint npm run -s lint
  phase format npm run -s format:check
}

if [ -z "$complete" ]; then
  checks
  phase unit npx ava --tap
else
  # The checks need no packages.
  install_packages &
  checks
  wait $!
  TEST_MARIADB_URL=$(node test/support/database/mariadb.ts start)
  export TEST_MARIADB_URL DATABASES=sqlite,mariadb
  trap 'node test/support/database/mariadb.ts stop' EXIT
  trap 'trap "" TERM; kill 0; exit 1' INT TERM
  # Five rows of phases at the same time: unit tests compute, the others mostly wait, each on a network
  # of its own. The first tests of operation want a MariaDB there. The test that fetches a package needs
  # the network of the machine, where no other test makes hosts.
  export ALONE=later
  apart='env DATABASES=sqlite test/apart.sh npx ava --tap'
  phase unit npx ava --tap --concurrency 4 &
  {
    phase e2e $apart --config test/e2e/ava.config.js
    ALONE= phase fetching npx ava --tap --config test/e2e/ava.config.js test/e2e/interoperation.test.ts
  } &
  phase ops test/apart.sh npx ava --tap --config test/ops/ava.config.js 'test/ops/[a-d]*.test.ts' &
  {
    phase ops-2 $apart --config test/ops/ava.config.js 'test/ops/[e-z]*.test.ts'
    phase browser $apart --config test/browser/ava.config.js
  } &
  phase attacks $apart --config test/attacks/ava.config.js &
  wait
  # What judges how soon something happens has the machine for itself, and the network of the machine.
  phase alone npx ava --config test/alone.config.js --tap
fi
node test/support/suite/summary.ts
