#!/usr/bin/env bash
# npm run test:all - everything, on a fresh Debian or Ubuntu machine. As root it installs what the tests
# need and lacks, starts a private MariaDB on a temporary folder and port, checks types, lint and
# format, makes the bundle that whole gateways run, runs the unit tests on both databases, the tests
# in a real browser (screenshots of errors stay in test/artefacts), the end-to-end tests, attacks,
# and those of operation (failures, several gateways on one database). What carries packets runs
# again with two workers, and where MANY_WORKERS is set with five too. It prints what each phase and
# its slowest files took; test/artefacts/seconds.txt has all files.
# Without root it runs what needs none and says what it left out; with CI=true that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

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
  if [ $status -ne 0 ]; then
    say "$name failed"
    # At once, for whoever ends the run early; summary.ts says it again.
    sed -n '/^not ok/,/^  \.\.\.$/p' "$report"
    if [[ $report = *.err ]]; then cat "$report"; fi
  fi
}

# Runs one kind of the tests that carry packets again, with so many workers.
several() { # KIND WORKERS
  export WORKERS=$2
  case $1 in
    dataplane) phase "dataplane-$WORKERS" npx ava --tap --config test/workers.config.js ;;
    e2e) phase "e2e-$WORKERS" $apart --config test/e2e/shared.config.js ;;
    alone) ALONE=only phase "alone-$WORKERS" $apart --config test/workers.config.js ;;
  esac
  unset WORKERS
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
  test/packages.sh &
  checks
  wait $!
  # What whole gateways run: made once, before anybody waits for it.
  phase bundle npm run -s bundle -- --if-older
  # Whoever waits for the database should not wait for a processor as well.
  TEST_MARIADB_URL=$(nice -n -5 node test/support/database/mariadb.ts start)
  export TEST_MARIADB_URL DATABASES=sqlite,mariadb
  trap 'node test/support/database/mariadb.ts stop' EXIT
  trap 'trap "" TERM; kill 0; exit 1' INT TERM
  # Four rows of phases at the same time, each but the first on a network of its own, so that nothing
  # that an ended run left on the machine is in the way. Unit tests compute; the others mostly wait for
  # something. The first tests of operation want a MariaDB there, and so do some that run alone.
  export ALONE=later
  apart='env DATABASES=sqlite test/apart.sh npx ava --tap'
  {
    phase unit npx ava --tap --config test/shared.config.js
    several dataplane 2
  } &
  phase e2e $apart --config test/e2e/shared.config.js &
  {
    phase attacks $apart --config test/attacks/shared.config.js
    several e2e 2
    phase browser $apart --config test/browser/shared.config.js
  } &
  {
    OPS_ROW=a-d phase ops test/apart.sh npx ava --tap --config test/ops/shared.config.js
    OPS_ROW=e-z phase ops-2 $apart --config test/ops/shared.config.js
  } &
  wait
  # What checks how soon something happens has the machine for itself.
  phase alone test/apart.sh npx ava --tap --config test/alone.config.js
  several alone 2
  if [ -n "${MANY_WORKERS:-}" ]; then
    for kind in dataplane e2e alone; do several $kind 5; done
  fi
fi
node test/support/report/summary.ts
