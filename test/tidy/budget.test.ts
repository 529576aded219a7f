// The budget (test/budget.json) has a line for each room of unit tests, and none for a room that is
// gone. If a whole run (`npm run test:all`) has left its seconds here, no room of it grew by more than
// a tenth.

import { resolve } from 'node:path';
import test from 'ava';
import { readBudget, whatGrew } from '../support/report/budget.ts';
import { readPhases, readRooms, roomOf } from '../support/report/seconds-table.ts';
import { findTests, unitTests } from '../support/suite/sharing.ts';

const SECONDS = resolve(import.meta.dirname, '../artefacts/seconds');
/** The last phase of a whole run. */
const LAST = 'alone-2';
/** A room of so few files takes no CPU that could be measured. */
const FILES_MIN = 3;

test('the budget names the rooms that have unit tests, and no others', (t) => {
  const files = Map.groupBy(findTests(unitTests), roomOf);
  t.true(files.size > 30, `${files.size} rooms`);
  const named = [...readBudget().keys()].filter((line) => line.startsWith('unit '));
  const rooms = named.map((line) => line.slice('unit '.length));
  t.deepEqual(
    rooms.filter((room) => room !== 'artefacts' && !files.has(room)),
    [],
    'these rooms are gone: run npm run test:all and npm run budget',
  );
  for (const [room, { length }] of files)
    if (length >= FILES_MIN)
      t.true(rooms.includes(room), `${room} has no budget: npm run test:all, then npm run budget`);
});

test('no room of the last whole run grew by more than a tenth', (t) => {
  const isWhole = readPhases(SECONDS).some(({ phase }) => phase === LAST);
  t.deepEqual(isWhole ? whatGrew(readRooms(SECONDS), readBudget()) : [], []);
});

test('rooms are folders, in lib with the part of the house that they are in', (t) => {
  const rows: [file: string, room: string][] = [
    ['test/lib/kit/process/log.test.ts', 'lib/kit/process'],
    ['test/lib/web/index.test.ts', 'lib/web'],
    ['test/lib/auth/saml/key/rollover.test.ts', 'lib/auth/saml'],
    ['test/dataplane/io/netfilter/table.test.ts', 'dataplane/io'],
    ['test/e2e/mtu.test.ts', 'e2e'],
    ['test/artefacts/processes/e2e-1/1.test.ts', 'artefacts'],
    ['test/tidy.test.ts', 'test'],
  ];
  for (const [file, room] of rows) t.is(roomOf(file), room, file);
});
