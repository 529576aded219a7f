// Every answer of the API is as it was recorded, but for fields that came since, on every database;
// and the recordings hold every operation of the OpenAPI document with every status that it has.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { databaseKinds } from '../support/database/databases.ts';
import { operationOf, operations } from '../support/api/openapi.ts';
import { differenceOf } from './compare.ts';
import { readRecording, writeRecording } from './recording.ts';
import { openWorld, play } from './world.ts';

const FOLDER = join(import.meta.dirname, 'answers');
/** The listener answers it on the connection, before there is an operation: listener.test.ts. */
const WITHOUT_OPERATION = 408;
/**
 * Described for every removal; only the last administrator is ever refused so. Of members it
 * takes 16 groups, or a provider that names members: test/lib/domain/groups/members.test.ts.
 */
const NEVER_ANSWERED = [
  'DELETE /v0/devices/{id} 422',
  'DELETE /v0/users/{id}/enrolment 422',
  'DELETE /v0/rules/{id} 422',
  'DELETE /v0/policy_tests/{id} 422',
  'DELETE /v0/groups/{id} 422',
  'PUT /v0/groups/{id}/members/{user} 422',
  'DELETE /v0/groups/{id}/members/{user} 422',
  'DELETE /v0/api_tokens/{id} 422',
];

const files = readdirSync(FOLDER).map((name) => {
  const text = readFileSync(join(FOLDER, name), 'utf8');
  return { name, text, recording: readRecording(text) };
});

// One after the other: a recording of limits stops the clock of the whole process.
for (const kind of databaseKinds())
  test.serial(`${kind}: every answer is as it was recorded`, async (t) => {
    t.timeout(300_000);
    const world = await openWorld(t, kind);
    const differences: string[] = [];
    for (const { name, recording } of files)
      for await (const { exchange, answer, bindings } of play(world, recording)) {
        const { says, answer: recorded } = exchange;
        const difference =
          recorded === null ? 'is not recorded' : differenceOf(recorded, answer, bindings);
        if (difference !== null) differences.push(`${name}: ${says}: ${difference}`);
      }
    t.deepEqual(differences, []);
  });

test('every operation is recorded with every status that the document gives it', (t) => {
  const recorded = new Set(
    files.flatMap(({ recording: { exchanges } }) =>
      exchanges.map(({ method, path, answer }) => {
        const operation = operationOf(method, path);
        return `${operation?.method} ${operation?.path} ${answer?.status}`;
      }),
    ),
  );
  const described = operations.flatMap(({ method, path, part }) =>
    Object.keys(part.responses as object)
      .filter((status) => Number(status) !== WITHOUT_OPERATION)
      .map((status) => `${method} ${path} ${status}`),
  );
  t.true(described.length > 200);
  t.deepEqual(
    described.filter((one) => !recorded.has(one)),
    NEVER_ANSWERED,
  );
});

test('recordings are written as the recorder writes them, and say one thing once', (t) => {
  for (const { name, text, recording } of files) {
    t.is(writeRecording(recording), text, name);
    const says = recording.exchanges.map((exchange) => exchange.says);
    t.is(new Set(says).size, says.length, name);
  }
});
