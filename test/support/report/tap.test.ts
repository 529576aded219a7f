// Reports of AVA: what passed, what failed with its details, and the command that repeats it.

import test from 'ava';
import { commandFor, isWhole, readTap } from './tap.ts';

const REPORT = `TAP version 13
ok 1 - artefacts › processes › unit › 1 › lib/auth/tokens › a token opens
# artefacts › processes › unit › 1 › a log line
not ok 2 - lib › auth › tokens › a token ends
  ---
    name: AssertionError
  ...
ok 3 - lib › later # SKIP
not ok 4 - lib/broken.test.ts exited due to SIGKILL

1..4
# tests 4
`;

test('each result is read, failures with their details', (t) => {
  t.deepEqual(
    readTap(REPORT).map(({ outcome, details }) => [outcome, details.length]),
    [
      ['passed', 0],
      ['failed', 3],
      ['skipped', 0],
      ['failed', 0],
    ],
  );
  t.is(readTap(REPORT)[1]?.details[1], '    name: AssertionError');
});

test('a report that is cut off is not whole', (t) => {
  t.true(isWhole(REPORT));
  t.false(isWhole(REPORT.slice(0, REPORT.indexOf('1..4'))));
});

const COMMANDS: [name: string, folder: string, command: string | null][] = [
  [
    'artefacts › processes › unit › 3 › lib/auth/tokens › sqlite: a token ends',
    'test/unit',
    "npx ava test/lib/auth/tokens.test.ts --match 'sqlite: a token ends'",
  ],
  [
    'lib › auth › tokens › mariadb: a › b',
    'test/unit',
    "DATABASES=mariadb npx ava test/lib/auth/tokens.test.ts --match 'mariadb: a › b'",
  ],
  [
    'tidy › words › a gateway’s `x` isn\'t "y"',
    'test/unit',
    "npx ava test/tidy/words.test.ts --match 'a gateway’s `x` isn'\\''t \"y\"'",
  ],
  ['tidy › a title', 'test/unit', "npx ava test/tidy.test.ts --match 'a title'"],
  [
    'limits › TCP comes to its limit',
    'test/e2e',
    "npx ava --config test/e2e/ava.config.js test/e2e/limits.test.ts --match 'TCP comes to its limit'",
  ],
  ['nowhere › a title', 'test/e2e', null],
];

for (const [i, [name, folder, command]] of COMMANDS.entries())
  test(`the command that repeats a failure, row ${i + 1}`, (t) => {
    t.is(commandFor(name, folder), command);
  });
