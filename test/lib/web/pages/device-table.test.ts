// The table of all devices: badges that tell the truth, states, orders, pages and the file.

import test from 'ava';
import { recordStatus, writeTransaction } from '../../../../models/index.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { configure } from '../../../support/web/portal.ts';

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
        pages.map(async (page) => /class="badge [a-z]+"[^>]*>([^<]*)</.exec(await page())?.[1]),
      );
    t.deepEqual(await badges(), ['Online', 'Online', 'Online', 'Online']);
    const last_signed_in_at = new Date(Date.now() - 7_200_000);
    await writeTransaction(database, (transaction) =>
      plainUser.update({ last_signed_in_at }, { transaction }),
    );
    await configure(console, { vpn_session_duration: 3_600 });
    t.deepEqual(await badges(), Array(4).fill('VPN session ended'));
    const found = async (state: string) =>
      (await admin.get(`/devices?state=${state}`)).text.includes('laptop');
    t.false(await found('online'));
    t.true(await found('session_ended'));
    await configure(console, { vpn_session_duration: 0 });
    t.true(await found('online'));
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
