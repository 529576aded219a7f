// Limits, as they are typed: what commands set is what the API shows, and what it refuses they refuse.

import test from 'ava';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import { deviceLimits, userLimits } from '../../../lib/cli/limit-fields.ts';
import type { Options } from '../../../lib/cli/run.ts';
import { UsageError } from '../../../lib/kit/process/usage-error.ts';
import {
  monthOf,
  newId,
  readAuditEntries,
  readDevices,
  readOrCreateConfiguration,
  readUsers,
  recordQuotaUsage,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../../support/database/records.ts';
import { runTyped } from '../../support/gateway/typed-command.ts';

async function optionsOf(line: string): Promise<Options> {
  const parsed = await parseCommandLine(line.split(' '));
  if (!('command' in parsed)) throw new Error(`not understood: ${line}`);
  return parsed.command.options;
}

test('what was typed is sent, and none removes a limit', async (t) => {
  t.deepEqual(userLimits(await optionsOf('user limit --email a@b --down none --quota 1000000')), {
    limit_down: null,
    quota: '1000000',
  });
  t.deepEqual(deviceLimits(await optionsOf('device limit --id x --up 64000')), {
    limit_up: '64000',
  });
});

test('nothing typed is wrong usage', async (t) => {
  const is = { instanceOf: UsageError };
  const [ofUser, ofDevice] = [
    await optionsOf('user limit --email a@b'),
    await optionsOf('device limit --id x'),
  ];
  t.throws(() => userLimits(ofUser), { ...is, message: /--quota/ });
  t.throws(() => deviceLimits(ofDevice), {
    ...is,
    message: /--down, --up/,
  });
});

for (const kind of databaseKinds()) {
  test(`${kind}: a device and a user get limits, and lose them`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'ann@b.example' });
    const { id } = await addDevice(database, user.id, { name: 'laptop' });
    const made = await runTyped(database, `device limit --id ${id} --down 10000000 --up 64000`);
    t.is(made.text, 'laptop: download 10000000 bits per second, upload 64000 bits per second.');
    t.deepEqual(made.data, { id, limit_down: 10_000_000, limit_up: 64_000 });
    const less = await runTyped(database, `device limit --id ${id} --down none`);
    t.regex(less.text, /^laptop: download what its owner or the settings say, upload 64000 bits/);
    const of = await runTyped(database, 'user limit --email Ann@b.example --up 100000000000');
    t.regex(
      of.text,
      /^Each device of ann@b.example: download what the settings say, upload 1000000/,
    );
    t.like((await readDevices(database))[0], { limit_down: null, limit_up: 64_000 });
    t.like((await readUsers(database))[0], { limit_down: null, limit_up: 100_000_000_000 });
    const [latest] = await readAuditEntries(database, { limit: 1 });
    t.true(JSON.stringify(latest).includes('limit_up'), JSON.stringify(latest));
  });

  test(`${kind}: a user gets a quota, and loses it`, async (t) => {
    const database = await openDatabase(t, kind);
    await readOrCreateConfiguration(database);
    const { id } = await addUser(database, { email: 'ann@b.example' });
    const made = await runTyped(database, 'user limit --email ann@b.example --quota 1000000');
    t.regex(made.text, / say\. All of them together carry 1000000 bytes in a month\.$/);
    t.deepEqual(made.data, { id, limit_down: null, limit_up: null, quota: 1_000_000 });
    const [latest] = await readAuditEntries(database, { limit: 1 });
    t.true(JSON.stringify(latest).includes('quota'), JSON.stringify(latest));
    const gone = await runTyped(database, 'user limit --email ann@b.example --quota none');
    t.regex(gone.text, / carry what the settings say in a month\.$/);
    t.like((await readUsers(database))[0], { quota: null });
    const list = await runTyped(database, 'user list');
    t.like((list.data as object[])[0], { quota: null, quota_used: 0, quota_exceeded: false });
    t.false(list.text.includes('over the quota'));
    await runTyped(database, 'user limit --email ann@b.example --quota 1000000');
    const bytes = 1_000_000;
    await recordQuotaUsage(database, newId(), [{ userId: id, month: monthOf(Date.now()), bytes }]);
    t.regex((await runTyped(database, 'user list')).text, /enabled, over the quota/);
  });

  test(`${kind}: what is no limit is refused, and says what to give`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'ann@b.example' });
    const { id } = await addDevice(database, user.id);
    for (const [line, message] of [
      [`device limit --id ${id}`, /^give --down, --up or both: 50Mbit\/s, or none$/],
      [
        `device limit --id ${id} --down 10M`,
        /^--down is in a unit that is not known\. Did you mean 10Mbit\/s\?$/,
      ],
      [`device limit --id ${id} --up 1`, /^limit_up: must be greater than or equal to 64000$/],
      [
        'device limit --id 0190 --up none',
        /^there is no device 0190; DEVICE is .*; see: .*device list$/,
      ],
      [`device limit --id ${id} --down 5MB/s`, /^--down is in a unit .* It is the same as 40Mbit/],
      [
        `device limit --id ${id} --down soon`,
        /^limit_down: is invalid; give --down 50Mbit\/s\|none/,
      ],
      [
        'user limit --email ann@b.example --quota 1Mbit/s',
        /^--quota is a speed, and not an amount/,
      ],
      ['user limit --email nobody@b.example --up none', /nobody@b\.example/],
      ['user limit --email ann@b.example', /^give --down or --up: .*; or --quota: .*, or none$/],
      ['user limit --email ann@b.example --quota 9', /^quota: must be .* or equal to 1000000$/],
      [
        'user limit --email ann@b.example --quota 1G',
        /^--quota is in a unit that is not known\. Did you mean 1GB\?$/,
      ],
    ] as const)
      await t.throwsAsync(runTyped(database, line), { message }, line);
    t.like((await readDevices(database))[0], { limit_down: null, limit_up: null });
  });
}

test('units are those of the console', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const user = await addUser(database, { email: 'ann@b.example' });
  const { id } = await addDevice(database, user.id);
  const line = `device limit --id ${id} --down 50Mbit/s --up 1,5Gbit/s`;
  t.like((await runTyped(database, line)).data, {
    limit_down: 50_000_000,
    limit_up: 1_500_000_000,
  });
  const quota = await runTyped(database, 'user limit --email ann@b.example --quota 100GB');
  t.like(quota.data, { quota: 100_000_000_000 });
  const screen = { width: 80, isColoured: false, widthOf: (text: string) => text.length, nowMs: 0 };
  const shown = await runTyped(database, `device limit --id ${id} --up none`);
  t.regex(shown.onScreen?.(screen) ?? '', /: download 50 Mbit\/s, upload what its owner/);
  t.regex(quota.onScreen?.(screen) ?? '', / carry 100 GB in a month\.$/);
});
