// All devices in the console: every field by the rules of the API, the switches, the live values.

import test from 'ava';
import { newId, readDevices, recordStatus } from '../../../../models/index.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { newKey } from '../../../support/api/server.ts';
import { fakeLive } from '../../../support/observe/fake-gateway.ts';

for (const kind of firstKind()) {
  test(`${kind}: only administrators see and change all devices`, async (t) => {
    const console = await openConsole(t, kind);
    const { id } = await addDevice(console.database, console.plainUser);
    const here = `/devices/${id}`;
    await checkGuard(t, console, {
      pages: ['/devices', '/devices/new', here, `${here}/edit`],
      forms: ['/devices/new', `${here}/edit`, `${here}/switches`, `${here}/delete`],
    });
    t.is((await console.user.get(`${here}/live`)).status, 403);
    const [row] = await readDevices(console.database);
    t.like(row, { id, disabled_at: null, expires_at: null });
    for (const bad of ['x', '00000000-0000-0000-0000-000000000000'])
      for (const form of ['edit', 'switches', 'delete'])
        t.is((await console.admin.post(`/devices/${bad}/${form}`)).status, 404, form);
  });

  test(`${kind}: a device with every field is created for a user, and changed`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const form = (await admin.get('/devices/new')).text;
    t.regex(form, /name="user"[^>]* data-combobox="\/users\/groups\/people"/);
    t.regex(form, /\/combobox\.js"/);
    const public_key = newKey();
    const typed = { user: 'USER@example.com', name: 'printer', public_key };
    const fields = { ...typed, ipv4: '100.64.9.9', mtu: '1400' };
    const made = await admin.post('/devices/new', fields);
    t.is(made.status, 303, made.text);
    const [row] = await readDevices(database);
    t.is(made.location, `/devices/${row?.id}/file`);
    t.like(row, { user_id: plainUser.id, ipv4: '100.64.9.9', mtu: 1_400, use_default_dns: true });
    const again = await admin.post('/devices/new', { ...fields, again: 'true' });
    t.is(again.location, made.location, 'the first answer was lost: nothing is added twice');
    t.is((await admin.post('/devices/new', fields)).status, 422);
    const edit = await admin.get(`/devices/${row?.id}/edit`);
    t.false(edit.text.includes(String(row?.preshared_key)), 'it is never sent to a browser');
    const changes = { ...fields, name: 'scanner', ipv4: '100.64.9.8', ipv6: String(row?.ipv6) };
    const changed = await admin.post(`/devices/${row?.id}/edit`, changes);
    t.is(changed.status, 303, changed.text);
    const [after] = await readDevices(database);
    t.like(after, { name: 'scanner', ipv4: '100.64.9.8', preshared_key: row?.preshared_key });
    await admin.post(`/devices/${row?.id}/delete`);
    t.deepEqual(await readDevices(database), []);
  });

  test(`${kind}: an administrator limits a device, and both see it; its owner cannot change it`, async (t) => {
    const { admin, user, database, plainUser } = await openConsole(t, kind);
    const addresses = { ipv4: '100.64.0.9', ipv6: 'fd00::9' };
    const { id } = await addDevice(database, plainUser, { name: 'laptop', ...addresses });
    await admin.get(`/devices/${id}/edit`);
    const typed = { name: 'laptop', limit_down: '1500000', limit_up: '' };
    const [before] = await readDevices(database);
    const fields = { ...typed, ...addresses, public_key: String(before?.public_key) };
    const refused = await admin.post(`/devices/${id}/edit`, { ...fields, limit_up: '64k' });
    t.is(refused.status, 422);
    t.true(refused.text.includes('“64k” is in a unit that is not known. Did you mean 64 kbit/s?'));
    const saved = await admin.post(`/devices/${id}/edit`, fields);
    t.is(saved.status, 303, saved.text);
    const edited = { name: 'phone', limit_down: '', limit_up: '64000' };
    await user.get(`/user_devices/${id}/edit`);
    t.is((await user.post(`/user_devices/${id}/edit`, edited)).status, 303);
    t.like((await readDevices(database))[0], {
      name: 'phone',
      limit_down: 1_500_000,
      limit_up: null,
    });
    const paths = [`/devices/${id}/network`, `/user_devices/${id}`] as const;
    for (const page of [await admin.get(paths[0]), await user.get(paths[1])]) {
      t.regex(page.text, /<dt>Download limit<\/dt><dd>1\.5 Mbit\/s<\/dd>/);
      t.regex(page.text, /<dt>Upload limit<\/dt><dd>none<\/dd>/);
    }
  });

  test(`${kind}: an error is shown at its field, and what was typed is kept`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    await admin.get('/devices/new');
    const bad = {
      user: 'nobody@x',
      name: NASTY,
      description: NASTY,
      public_key: 'x',
      ipv4: '1.1.1.1',
    };
    const answer = await admin.post('/devices/new', bad);
    t.is(answer.status, 422);
    for (const message of [
      'No user has the e-mail “nobody@x”',
      'Nothing was saved.',
      'This should have 44 characters',
      'not in the network of the devices, 100.64.0.0/10',
    ])
      t.true(answer.text.includes(message), message);
    t.true(answer.text.includes('value="nobody@x"'));
    checkText(t, answer, 'the form');
    const { id } = await addDevice(database, plainUser, { name: NASTY });
    for (const path of ['/devices', `/devices/${id}`, `/devices/${id}/edit`])
      checkText(t, await admin.get(path), path);
    checkText(t, await admin.get(`/devices/new?user=${encodeURIComponent(NASTY)}`), 'the query');
    const refused = await admin.post(`/devices/${id}/edit`, { public_key: 'x' });
    t.is(refused.status, 422);
    t.true(refused.text.includes('This should have 44 characters'));
  });

  test(`${kind}: a form that forgets a preshared key says so, where the key is typed again`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const { id } = await addDevice(database, plainUser, { name: 'laptop' });
    const keySection = (text: string) =>
      /<details class="settings"([^>]*)>\s*<summary>Keys and addresses[^]*?<\/details>/.exec(text);
    await admin.get('/devices/new');
    // The form came without a public key: it was sent before the script of the page had run.
    for (const path of ['/devices/new', `/devices/${id}/edit`]) {
      const typed = { user: plainUser.email, name: 'phone', public_key: '' };
      const preshared_key = newKey();
      const refused = await admin.post(path, { ...typed, preshared_key });
      t.is(refused.status, 422, path);
      t.false(refused.text.includes(preshared_key), path);
      const [section = '', attributes] = keySection(refused.text) ?? [];
      t.is(attributes, ' open', path);
      t.regex(section, /keys are not shown again: please type them once more/, path);
      const [without = ''] = keySection((await admin.post(path, typed)).text) ?? [];
      t.regex(without, /Preshared key/, path);
      t.notRegex(without, /not shown again/, path);
    }
  });

  test(`${kind}: a device whose preshared key does not open is switched off`, async (t) => {
    const live = fakeLive(newId());
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { live });
    const { id } = await addDevice(database, plainUser);
    await database.sequelize.query("UPDATE devices SET preshared_key = '1:00000000:AAAA'");
    const answer = await admin.post(`/devices/${id}/switches`, { do: 'off' });
    t.is(answer.location, `/devices/${id}`, answer.text);
    t.not((await readDevices(database))[0]?.disabled_at, null);
  });

  test(`${kind}: a device is disabled, enabled and given an end, and the audit trail keeps it`, async (t) => {
    const { admin, database, plainUser, adminUser, send } = await openConsole(t, kind);
    const { id } = await addDevice(database, plainUser);
    const here = `/devices/${id}`;
    const before = (await send('GET', `/v0/devices/${id}`)).body as { data: object };
    await admin.get(here);
    t.is((await admin.post(`${here}/switches`, { do: 'off' })).location, here);
    t.true((await admin.get(here)).text.includes('Switched off since'));
    t.true((await admin.get('/devices')).text.includes('Switched off'));
    await admin.post(`${here}/switches`, { do: 'on' });
    const set = { do: 'expire', expires_at: '2020-02-29T17:30' };
    t.is((await admin.post(`${here}/switches`, set)).status, 303);
    const [row] = await readDevices(database);
    t.like(row, { disabled_at: null, expires_at: new Date('2020-02-29T17:30Z') });
    t.true((await admin.get(here)).text.includes('It ended at'));
    const bad = await admin.post(`${here}/switches`, { do: 'expire', expires_at: NASTY });
    t.is(bad.status, 422);
    t.true(bad.text.includes('is no time such as'));
    checkText(t, bad, 'the date');
    await admin.post(`${here}/switches`, { do: 'expire', expires_at: '' });
    t.is((await readDevices(database))[0]?.expires_at, null);
    const { data } = (await send('GET', `/v0/devices/${id}`)).body as { data: object };
    t.deepEqual(Object.keys(data), Object.keys(before.data), '/v0 does not show them');
    const where = { record_id: id, action: 'update' };
    const entries = await database.models.AuditEntry.findAll({ where });
    t.is(entries.length, 4);
    t.true(entries.every(({ email }) => email === adminUser.email));
  });

  test(`${kind}: the table shows which devices are online, their address and their traffic`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const device = await addDevice(database, plainUser, { name: 'laptop' });
    const seen = { latestHandshake: new Date(), remoteIp: '192.0.2.9', remotePort: 4711 };
    const report = { deviceId: device.id, ...seen, rxBytes: 1_000, txBytes: 2_500_000 };
    await recordStatus(database, 'g', [report]);
    const { text } = await admin.get('/devices?q=192.0.2');
    for (const part of [
      'laptop',
      'Online',
      'from 192.0.2.9:4711',
      '↓ 2.5\u00a0MB',
      '↑ 1.0\u00a0kB',
    ])
      t.true(text.includes(part), part);
  });
}
