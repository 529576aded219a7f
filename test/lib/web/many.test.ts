// What is done with many records at once, through the tables of the console.

import test from 'ava';
import { readDevices } from '../../../models/index.ts';
import { addDevice } from '../../models/fixtures.ts';
import { judgeGuard, judgeText, NASTY, openConsole } from '../../support/console.ts';
import type { Visitor } from '../../support/visitor.ts';

test('nothing selected, an unknown deed or a bad end changes nothing and says so', async (t) => {
  const console = await openConsole(t, 'sqlite');
  const { admin, database, plainUser } = console;
  await judgeGuard(t, console, { forms: ['/devices/many'] });
  const { id } = await addDevice(database, plainUser);
  const said = async (fields: Record<string, string>): Promise<string> => {
    const { location } = await admin.post('/devices/many', fields);
    return (await admin.get(String(location))).text;
  };
  await admin.get('/devices');
  t.regex(await said({ do: 'off' }), /Nothing was selected/);
  t.regex(await said({ do: 'off', id: 'x' }), /Nothing was selected/);
  t.regex(await said({ do: 'burn', id }), /Nothing was chosen/);
  t.regex(await said({ do: 'expire', expires_at: 'x', id }), /is no time such as/);
  const [device] = await readDevices(database);
  t.like(device, { id, disabled_at: null, expires_at: null });
});

test('it goes back to the page that it came from, and to no other site', async (t) => {
  const { admin, database, plainUser } = await openConsole(t, 'sqlite');
  const { id } = await addDevice(database, plainUser);
  await admin.get('/devices');
  const back = async (to: string) =>
    (await admin.post('/devices/many', { do: 'off', id, back: to })).location;
  t.is(await back('/devices?state=off&page=2'), '/devices?state=off&page=2');
  for (const bad of ['//x.test/devices', 'https://x.test', '/users', '/devices-x', ''])
    t.is(await back(bad), '/devices', bad);
});

test('what cannot be undone is asked first, and names are text', async (t) => {
  const { admin, database, plainUser } = await openConsole(t, 'sqlite');
  const { id } = await addDevice(database, plainUser, { name: NASTY });
  const kept = await addDevice(database, plainUser, { name: 'kept' });
  await admin.get('/devices');
  const asked = await admin.post('/devices/many', { do: 'remove', id });
  t.is(asked.status, 200);
  t.regex(asked.text, /Delete these devices\?/);
  t.regex(asked.text, /1 device:/);
  judgeText(t, asked, 'the question');
  t.is((await readDevices(database)).length, 2);
  const fields = { do: 'remove', id, sure: 'true' };
  t.is((await admin.post('/devices/many', fields)).status, 303);
  t.deepEqual(
    (await readDevices(database)).map((row) => row.id),
    [kept.id],
  );
  t.regex((await admin.get('/devices')).text, /1 device is deleted/);
  await admin.post('/devices/many', fields);
  t.regex((await admin.get('/devices')).text, /0 devices are deleted/);
});

test('many devices are switched and given an end, each on record', async (t) => {
  const console = await openConsole(t, 'sqlite');
  const { admin, database, plainUser } = console;
  for (let i = 0; i < 3; i += 1) await addDevice(database, plainUser);
  const ids = (await readDevices(database)).map(({ id }) => id);
  await admin.get('/devices');
  await postMany(admin, ids.slice(0, 2), { do: 'off' });
  t.regex((await admin.get('/devices')).text, /2 devices are switched off/);
  const isOff = async () => (await readDevices(database)).map((row) => row.disabled_at !== null);
  t.deepEqual(await isOff(), [true, true, false]);
  await postMany(admin, ids, { do: 'on' });
  t.deepEqual(await isOff(), [false, false, false]);
  await postMany(admin, ids, { do: 'expire', expires_at: '2030-01-01T00:00' });
  for (const row of await readDevices(database))
    t.deepEqual(row.expires_at, new Date('2030-01-01T00:00Z'));
  const entries = await database.models.AuditEntry.count({ where: { record_id: ids[0] ?? '' } });
  t.true(entries >= 3);
});

/** A form with one field several times. */
function postMany(admin: Visitor, ids: readonly string[], fields: Record<string, string>) {
  return admin.postPairs('/devices/many', [
    ...ids.map((id): [string, string] => ['id', id]),
    ...Object.entries(fields),
  ]);
}
