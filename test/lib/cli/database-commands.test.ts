// The command `database compact`: what it says, and when it refuses and changes nothing.

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import test from 'ava';
import { compact } from '../../../lib/cli/database-commands.ts';
import { readFileSpace } from '../../../models/index.ts';
import { GatewayRunsError } from '../../../models/queries/gateways.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { leaveFree, openOldFile } from '../../support/database/free-pages.ts';
import { enterGateway, startBeating } from '../../support/database/heartbeat.ts';

test('it says what the file took and takes', async (t) => {
  const { place, database } = await openOldFile(t);
  await leaveFree(database);
  const { text, data, note } = await compact(database);
  const file = place.url.slice('sqlite:'.length);
  const { bytes_before: before, bytes_after: after } = data as Record<string, number>;
  t.deepEqual(data, { file, bytes_before: before, bytes_after: statSync(file).size });
  t.true((before ?? 0) > 8_000_000 && (after ?? 0) < 1_000_000, `${before} ${after}`);
  t.regex(text, /takes 0\.\d MiB; before it took \d\.\d MiB\. From now on it shrinks by itself/);
  t.is(note, undefined);
});

test('it refuses where the disk lacks room for twice what is held, free space left out', async (t) => {
  const { database } = await openOldFile(t);
  await leaveFree(database);
  const before = await readFileSpace(database);
  const asked: string[] = [];
  const held = (before?.bytes ?? 0) - (before?.freeBytes ?? 0);
  const roomFor = (bytes: number) => (folder: string) => {
    asked.push(folder);
    return bytes;
  };
  const needed = 2 * held + 16 * 1_048_576;
  await t.throwsAsync(compact(database, { room: roomFor(needed - 1) }), {
    message:
      /^\d+\.\d MiB are free on the disk of .* and \d+\.\d MiB are needed .* free space there/,
  });
  t.deepEqual(await readFileSpace(database), before);
  t.deepEqual(asked, [dirname(before?.path ?? '')]);
  await compact(database, { room: roomFor(needed) });
  t.like(await readFileSpace(database), { freeBytes: 0, canShrink: true });
});

test('it refuses while a gateway runs, and goes on where one has stopped', async (t) => {
  const { database } = await openOldFile(t);
  const beating = startBeating(t, database, await enterGateway(database));
  await t.throwsAsync(compact(database), { instanceOf: GatewayRunsError });
  t.like(await readFileSpace(database), { canShrink: false });
  await beating.stop();
  // With a file system that does not know what is free.
  await compact(database, { watchMs: 0, room: () => null });
  t.like(await readFileSpace(database), { canShrink: true });
});

for (const kind of databaseKinds().filter((one) => one !== 'sqlite'))
  test(`${kind}: it names what a server has for this`, async (t) => {
    const database = await openDatabase(t, kind);
    await t.throwsAsync(compact(database), {
      message: /^the database is on a server, .* OPTIMIZE TABLE audit_entries$/,
    });
  });
