// The table of all devices: badges that tell the truth, states, orders, pages and the file.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { newId, noteClientFile, recordStatus, writeTransaction } from '../../../../models/index.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { configure } from '../../../support/web/portal.ts';
import { addPerson } from '../../../support/web/visitor.ts';

/** Of a page with fifty devices. */
const ROWS_BYTES_MAX = 52_000;

for (const kind of firstKind()) {
  test(`${kind}: whose session ended is not online, on any page`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, user, database, plainUser } = console;
    const { id } = await addDevice(database, plainUser, { name: 'laptop' });
    const seen = { latestHandshake: new Date(), remoteIp: '192.0.2.9', remotePort: 4711 };
    await recordStatus(database, 'g', [{ deviceId: id, ...seen, rxBytes: 1, txBytes: 2 }]);
    const pages = [
      async () => (await admin.get('/devices')).text,
      async () => (await admin.get(`/devices/${id}`)).text,
      async () => (await user.get('/user_devices')).text,
      async () => (await user.get(`/user_devices/${id}`)).text,
    ];
    const badges = async (): Promise<(string | undefined)[]> =>
      Promise.all(
        pages.map(async (page) => {
          const text = await page();
          const shown = /class="badge [a-z]+"[^>]*>([^<]*)</.exec(text);
          return (shown ?? /<td [^>]*class=state>\s*([^<]*?)\s*</.exec(text))?.[1];
        }),
      );
    t.deepEqual(await badges(), ['Online', 'Online', 'Online', 'Online']);
    const last_signed_in_at = new Date(Date.now() - 7_200_000);
    await writeTransaction(database, (transaction) =>
      plainUser.update({ last_signed_in_at }, { transaction }),
    );
    await configure(console, { vpn_session_duration: 3_600 });
    t.deepEqual(await badges(), Array(4).fill('VPN session ended'));
    const found = async (state: string) =>
      (await admin.get(`/devices?state=${state}`)).text.includes('>laptop</a>');
    t.false(await found('online'));
    t.true(await found('session_ended'));
    await configure(console, { vpn_session_duration: 0 });
    t.true(await found('online'));
  });

  test(`${kind}: a row has its owner, how long ago it was heard, and a menu`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const { id } = await addDevice(database, plainUser, { name: 'laptop' });
    const seen = { latestHandshake: new Date(Date.now() - 7_200_000), remoteIp: '192.0.2.9' };
    const report = { deviceId: id, ...seen, remotePort: 4711, rxBytes: 1, txBytes: 2 };
    await recordStatus(database, 'g', [report]);
    const { text } = await admin.get('/devices');
    t.true(text.includes('<small class=below>user@example.com</small>'));
    t.regex(text, / datetime="20[^".]+Z" data-ago>2 hours ago<\/time>/);
    // A script puts the id of a row in its place.
    for (const path of ['file', 'edit', 'capture'])
      t.true(text.includes(`<a href="/devices/*/${path}">`), path);
    const own = (await admin.get(`/devices?menu=${id}`)).text;
    for (const path of ['file', 'edit', 'capture'])
      t.true(own.includes(`<a href="/devices/${id}/${path}">`), path);
    const button = (change: string): string => `form="row" name="do" value="${change}"`;
    t.true(own.includes(button('off')) && own.includes(button('remove')));
    t.false(own.includes(button('on')));
    const [, form = ''] = own.match(/<form [^>]* id="row">(.*?)<\/form>/s) ?? [];
    t.true(form.includes(`name="id" value="${id}"`) && form.includes('name="csrf_token"'));
    await admin.post('/devices/many', { do: 'off', id, back: '/devices' });
    t.true((await admin.get(`/devices?menu=${id}`)).text.includes(button('on')));
    t.false((await admin.get('/devices?menu=<b>')).text.includes('<b>'));
  });

  test(`${kind}: devices whose file is out of date are found, as a page, a file and to change`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const names = ['laptop', 'tablet', 'camera', 'printer'];
    const devices = [];
    for (const name of names) devices.push(await addDevice(database, plainUser, { name }));
    const [laptop, tablet, camera] = devices.map(({ id }) => id) as [string, string, string];
    const [old, found] = ['0'.repeat(64), '/devices?state=old_file'];
    const shown = async (path: string) => {
      const { text } = await admin.get(path);
      return names.filter((name) => text.includes(`>${name}</a>`)).join(' ');
    };
    t.is(await shown(found), '', 'of no file it is known');
    for (const id of [laptop, tablet, camera]) await noteClientFile(database, id, old);
    t.is(await shown(found), 'laptop tablet camera');
    t.is(await shown(`${found}&q=tab`), 'tablet');
    t.is(await shown(`${found}&owner=${newId()}`), '');
    const [all, some] = [await admin.get('/devices'), await admin.get(found)];
    t.true(some.text.includes('A file is out of date when '), 'the page says why');
    t.false(all.text.includes('A file is out of date when '));
    t.regex(all.text, /<option value="old_file">File out of date</);
    t.regex(some.text, /<option value="old_file" selected>File out of date</);
    const csv = await admin.get('/devices.csv?state=old_file&sort=name');
    const lines = csv.text.trim().split('\r\n').slice(1);
    t.deepEqual(
      lines.map((line) => line.split(',')[1]),
      ['camera', 'laptop', 'tablet'],
    );

    const fields = { do: 'off', all: 'true', state: 'old_file', back: found };
    const asked = await admin.post('/devices/many', fields);
    t.true(asked.text.includes('3 devices'));
    const [, job = ''] = /name="job" value="([^"]+)"/.exec(asked.text) ?? [];
    // Meanwhile the camera gets its present file.
    const { text } = await admin.get(`/devices/${camera}/file`);
    const [, hash = ''] = /name="hash" value="([0-9a-f]{64})"/.exec(text) ?? [];
    await noteClientFile(database, camera, hash);
    const { location } = await admin.post('/devices/many', { job, sure: 'true' });
    let ended = await admin.get(String(location));
    while (ended.text.includes('<progress')) {
      await sleep(5);
      ended = await admin.get(String(location));
    }
    t.regex(ended.text, /2 devices are switched off/);
    t.regex(ended.text, /1 device is left alone/);
    t.is(await shown(found), 'laptop tablet');
    t.is(await database.models.Device.count({ where: { disabled_at: null } }), 2);
  });

  test(`${kind}: fifty rows are small`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const reports = [];
    for (let i = 0; i < 50; i += 1) {
      const owner = await addPerson(database, `some.body-${i}@department.example.com`);
      const { id } = await addDevice(database, owner, {
        name: `telephone ${i} of this house`,
        ipv4: `100.124.107.${i + 2}`,
        ipv6: `fd00:ffff::7:${i}`,
      });
      const seen = { latestHandshake: new Date(Date.now() - 7_200_000), remoteIp: '198.51.100.99' };
      reports.push({ deviceId: id, ...seen, remotePort: 54_711, rxBytes: 1e9, txBytes: 2e9 });
    }
    await recordStatus(database, 'g', reports);
    const { text } = await admin.get('/devices');
    t.is(text.match(/data-ago/g)?.length, 50);
    t.is(text.match(/id="menu"/g)?.length, 1, 'one menu for all');
    const bytes = Buffer.byteLength(text);
    t.log(`${bytes} bytes`);
    t.true(bytes <= ROWS_BYTES_MAX, `${bytes} bytes`);
  });

  test(`${kind}: a page beyond the last is the last, and the total is said`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    for (let i = 0; i < 51; i += 1)
      await addDevice(database, plainUser, { name: `printer-${i}-x` });
    const last = await admin.get('/devices?page=99&sort=name');
    t.regex(last.text, /51 to 51 of 51/);
    t.is(last.text.match(/>printer-\d+-x</g)?.length, 1);
    t.false(last.text.includes('No devices yet'));
    t.regex(
      last.text,
      /href="\/devices\?sort=name" rel="prev"|rel="prev" href="\/devices\?sort=name"/,
    );
    const { text, headers } = await admin.get('/devices.csv?q=printer-1&sort=-name');
    t.is(headers['content-type'], 'text/csv; charset=utf-8');
    const lines = text.trim().split('\r\n');
    t.is(lines.length, 12);
    t.regex(String(lines[1]), /,printer-19-x,/);
    t.regex(String(lines[1]), /,user@example\.com,/);
  });
}
