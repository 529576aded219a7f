// Actions on many records at once, in the tables of the console.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { readDevices, removeDevices, writeTransaction } from '../../../../models/index.ts';
import { PAGE_RECORDS } from '../../../../lib/web/kit/searched.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { addManyDevices } from '../../../support/database/many-devices.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addPerson, type Shown, Visitor } from '../../../support/web/visitor.ts';

test('without a selection, with an unknown action or an invalid end nothing changes, and the page says why', async (t) => {
  const console = await openConsole(t, 'sqlite');
  const { admin, database, plainUser } = console;
  await checkGuard(t, console, { forms: ['/devices/many'] });
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

test('the browser returns to the page that it came from, and never to another site', async (t) => {
  const { admin, database, plainUser } = await openConsole(t, 'sqlite');
  const { id } = await addDevice(database, plainUser);
  await admin.get('/devices');
  const back = async (to: string) =>
    (await admin.post('/devices/many', { do: 'off', id, back: to })).location;
  t.is(await back('/devices?state=off&page=2'), '/devices?state=off&page=2');
  for (const bad of ['//x.test/devices', 'https://x.test', '/users', '/devices-x', ''])
    t.is(await back(bad), '/devices', bad);
});

test('what cannot be undone needs a confirmation, and names are shown as text', async (t) => {
  const { admin, database, plainUser } = await openConsole(t, 'sqlite');
  const { id } = await addDevice(database, plainUser, { name: NASTY });
  const kept = await addDevice(database, plainUser, { name: 'kept' });
  await admin.get('/devices');
  const asked = await admin.post('/devices/many', { do: 'remove', id });
  t.is(asked.status, 200);
  t.regex(asked.text, /Delete this device\?/);
  t.regex(asked.text, /It passes no packet from then on, and its file no longer works/);
  t.regex(asked.text, /1 device:/);

  checkText(t, asked, 'the question');
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

test('many devices are enabled, disabled and given an end, and the audit trail keeps each', async (t) => {
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

test('a form changes no more records than a page shows', async (t) => {
  const { admin, adminUser, database } = await openConsole(t, 'sqlite');
  const ids = await addManyDevices(database, adminUser.id, PAGE_RECORDS + 1);
  await admin.get('/devices');
  await postMany(admin, ids, { do: 'off' });
  t.regex(
    (await admin.get('/devices')).text,
    new RegExp(`${PAGE_RECORDS} devices are switched off`),
  );
  const on = (await readDevices(database)).filter((row) => row.disabled_at === null);
  t.deepEqual(
    on.map(({ id }) => id),
    ids.slice(PAGE_RECORDS),
  );
});

test('one device is said in the singular, several in the plural', async (t) => {
  const { admin, database, plainUser } = await openConsole(t, 'sqlite');
  for (let i = 0; i < 2; i += 1) await addDevice(database, plainUser);
  const ids = (await readDevices(database)).map(({ id }) => id);
  await admin.get('/devices');
  const said = async (some: string[], fields: Record<string, string>): Promise<string> => {
    await postMany(admin, some, fields);
    return (await admin.get('/devices')).text;
  };
  t.regex(
    await said(ids.slice(1), { do: 'off' }),
    /1 device is switched off: no packet passes any more\./,
  );
  t.regex(
    await said(ids, { do: 'off' }),
    /2 devices are switched off: no packet passes any more\./,
  );
  t.regex(
    await said(ids, { do: 'remove', sure: 'true' }),
    /2 devices are deleted: no packet passes any more\./,
  );
});

test('devices of one name are listed with owner and address', async (t) => {
  const { admin, adminUser, database, plainUser } = await openConsole(t, 'sqlite');
  const mine = await addDevice(database, adminUser, { name: 'kiosk-7', ipv4: '100.64.0.7' });
  const theirs = await addDevice(database, plainUser, { name: 'kiosk-7', ipv6: 'fd00::8' });
  await admin.get('/devices');
  const { text } = await postMany(admin, [mine.id, theirs.id], { do: 'remove' });
  t.regex(text, /Delete these devices\?/);
  t.true(text.includes(`<li>boss@example.com / kiosk-7 · 100.64.0.7</li>`));
  t.true(text.includes(`<li>user@example.com / kiosk-7 · fd00::8</li>`));
  const list = (await admin.get('/devices')).text;
  const [, label = ''] =
    new RegExp(`value="${mine.id}" aria-labelledby="([^"]+)"`).exec(list) ?? [];
  const named = label.split(' ').map((id) => {
    const [, text = ''] = new RegExp(` id="?${id}"?>(.*?)(?:<td|</span>)`, 's').exec(list) ?? [];
    return text
      .replaceAll(/<[^>]*>/g, ' ')
      .trim()
      .replaceAll(/\s+/g, ' ');
  });
  t.deepEqual(named, ['Select', 'kiosk-7 boss@example.com', '100.64.0.7']);
});

/** Asks for all that a search finds; returns the id of the job to confirm. */
async function ask(admin: Visitor, fields: Record<string, string>): Promise<[string, Shown]> {
  const asked = await admin.post('/devices/many', { all: 'true', ...fields });
  return [/name="job" value="([^"]+)"/.exec(asked.text)?.[1] ?? '', asked];
}

/** Confirms a job, and waits for its end. */
async function agree(admin: Visitor, job: string): Promise<Shown> {
  const { location } = await admin.post('/devices/many', { job, sure: 'true' });
  for (;;) {
    const shown = await admin.get(String(location));
    if (shown.status !== 200 || !shown.text.includes('<progress')) return shown;
    await sleep(5);
  }
}

for (const kind of firstKind())
  test(`${kind}: all records that a search finds are changed, on every page, and can be undone; the audit trail keeps each`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, adminUser, database, plainUser } = console;
    for (let i = 0; i < 53; i += 1) await addDevice(database, plainUser, { name: `printer-${i}` });
    const other = await addDevice(database, plainUser, { name: 'laptop' });
    const page = await admin.get('/devices?q=printer');
    t.regex(page.text, /All 53 devices that match this search, on every page/);
    t.regex((await admin.get('/devices')).text, /All 54 devices that there are, on every page/);
    t.notRegex((await admin.get('/devices?q=laptop')).text, /on every page/);
    const [job, asked] = await ask(admin, { do: 'off', q: 'printer', back: '/devices?q=printer' });
    t.regex(asked.text, /Switch these devices off\?/);
    t.regex(asked.text, /53 devices:/);
    t.regex(asked.text, /and 43 more/);
    t.is(await database.models.Device.count({ where: { disabled_at: null } }), 54, 'only asked');
    const ended = await agree(admin, job);
    t.regex(ended.text, /53 devices are switched off/);
    t.regex(ended.text, /href="\/devices\?q=printer"/);
    const rows = await database.models.Device.findAll({ where: { disabled_at: null } });
    t.deepEqual(
      rows.map(({ id }) => id),
      [other.id],
    );
    const where = { action: 'update', kind: 'device' };
    t.is(await database.models.AuditEntry.count({ where }), 53);
    const again = await agree(admin, job);
    t.is(await database.models.AuditEntry.count({ where }), 53, 'once');
    // Another session of the same person may see the page, and cannot undo it.
    const elsewhere = new Visitor(console);
    await elsewhere.signIn(adminUser.email);
    const { text } = await elsewhere.get(`/devices/many/${job}`);
    t.regex(text, /53 devices are switched off/);
    t.notRegex(text, /action="\/undo/);
    const path = /action="(\/undo\/[^"]+)"/.exec(ended.text)?.[1] ?? '';
    t.true(again.text.includes(`action="${path}"`), 'it is offered once');
    const undone = await admin.post(path, { back: '/devices?q=printer' });
    t.is(undone.location, '/devices?q=printer');
    t.regex((await admin.get('/devices')).text, /Undone: 53 records are as before/);
    t.is(await database.models.Device.count({ where: { disabled_at: null } }), 54);
  });

test('whose records were shown alone is kept, and what is not clear changes nothing', async (t) => {
  const { admin, adminUser, database, plainUser } = await openConsole(t, 'sqlite');
  for (let i = 0; i < 51; i += 1) await addDevice(database, plainUser, { name: `printer-${i}` });
  const other = await addDevice(database, adminUser, { name: 'printer-of-admin' });
  const path = `/devices?owner=${plainUser.id}`;
  const page = (await admin.get(path)).text;
  t.regex(page, /All 51 devices that match this search/);
  t.true(page.includes(`name="owner" value="${plainUser.id}"`));
  t.false(page.includes(`/devices/${other.id}`));
  const unclear = await admin.post('/devices/many', { do: 'off', all: 'true', owner: 'x' });
  t.is(unclear.status, 303);
  t.regex((await admin.get('/devices')).text, /is not clear/);
  const [job, asked] = await ask(admin, { do: 'off', owner: plainUser.id, back: path });
  t.regex(asked.text, /51 devices:/);
  await agree(admin, job);
  const rows = await database.models.Device.findAll({ where: { disabled_at: null } });
  t.deepEqual(
    rows.map(({ id }) => id),
    [other.id],
  );
});

test('users who no longer match, or who came later, are left alone', async (t) => {
  const { admin, database, plainUser } = await openConsole(t, 'sqlite');
  const names = ['printer-1', 'printer-2', 'printer-3'];
  const [first, second] = await Promise.all(
    names.map((name) => addDevice(database, plainUser, { name })),
  );
  await admin.get('/devices');
  const [job] = await ask(admin, { do: 'remove', q: 'printer' });
  await writeTransaction(database, async (transaction) => {
    await first?.update({ name: 'kept' }, { transaction });
    await removeDevices(database, [String(second?.id)], transaction);
  });
  await addDevice(database, plainUser, { name: 'printer-4' });
  const { text } = await agree(admin, job);
  t.regex(text, /1 device is deleted/);
  t.regex(text, /2 devices are left alone/);
  const left = (await readDevices(database)).map(({ name }) => name).toSorted();
  t.deepEqual(left, ['kept', 'printer-4']);
});

test('refused records are shown by name', async (t) => {
  const { admin, adminUser, database } = await openConsole(t, 'sqlite');
  await admin.get('/users');
  const { text } = await admin.post('/users/many', {
    all: 'true',
    do: 'disable',
    state: 'enabled',
  });
  const job = /name="job" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const { location } = await admin.post('/users/many_enabled', { job, sure: 'true' });
  t.is(location, '/users', 'a question of another form');
  t.is(await database.models.User.count({ where: { disabled_at: null } }), 3);
  const begun = await admin.post('/users/many', { job, sure: 'true' });
  t.regex(String(begun.location), /^\/users\/many\//);
  for (let shown = ''; !shown.includes('role="status"');) {
    shown = (await admin.get(String(begun.location))).text;
    if (!shown.includes('role="status"')) continue;
    t.regex(shown, /2 users are disabled/);
    t.regex(shown, /<strong>boss@example\.com<\/strong> <span>You cannot disable yourself/);
  }
  t.is((await adminUser.reload()).disabled_at, null);
});

test('a job belongs to its administrator, and an unknown filter selects nobody', async (t) => {
  const console = await openConsole(t, 'sqlite');
  const { admin, database, plainUser } = console;
  await addDevice(database, plainUser);
  await addPerson(database, 'other@example.com', { role: 'admin' });
  const other = new Visitor(console);
  await other.signIn('other@example.com');
  await other.get('/devices');
  await admin.get('/devices');
  const [job] = await ask(admin, { do: 'off' });
  t.is((await admin.get(`/devices/many/${job}`)).status, 404, 'nobody agreed yet');
  await other.post('/devices/many', { job, sure: 'true' });
  t.regex((await other.get('/devices')).text, /this question is too old/);
  await admin.post('/devices/many', { job, sure: 'true' });
  t.is((await other.get(`/devices/many/${job}`)).status, 404);
  const said = async (fields: Record<string, string>) => {
    await ask(admin, fields);
    return (await admin.get('/devices')).text;
  };
  t.regex(await said({ do: 'remove', state: 'of_another_version' }), /Please search again/);
  t.regex(await said({ do: 'remove', q: 'nothing like it' }), /Nothing matches any more/);
  t.is((await readDevices(database)).length, 1);
});

test('a job stops when the session of its administrator ends', async (t) => {
  const { admin, database, plainUser } = await openConsole(t, 'sqlite');
  for (let i = 0; i < 40; i += 1) await addDevice(database, plainUser);
  await admin.get('/devices');
  const [job] = await ask(admin, { do: 'off' });
  let ended: Promise<unknown> | null = null;
  database.onCommit(() => {
    ended ??= database.models.Session.destroy({ where: {} });
  });
  await admin.post('/devices/many', { job, sure: 'true' });
  const count = () => database.models.Device.count({ where: { disabled_at: null } });
  for (let last = -1, now = await count(); now !== last || ended === null; now = await count()) {
    last = now;
    await sleep(100);
  }
  t.true((await count()) >= 8, `${await count()} are as they were`);
  t.is((await admin.get(`/devices/many/${job}`)).status, 302);
});

/** A form in which one field has several values. */
function postMany(admin: Visitor, ids: readonly string[], fields: Record<string, string>) {
  return admin.postPairs('/devices/many', [
    ...ids.map((id): [string, string] => ['id', id]),
    ...Object.entries(fields),
  ]);
}
