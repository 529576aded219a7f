// The files for spreadsheets behind the charts: what is in them, and who gets them.

import test from 'ava';
import { recordHistory } from '../../../../models/index.ts';
import { addDevice, addRule } from '../../../support/database/records.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { checkGuard, openConsole } from '../../../support/web/console.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const ABSENT = '01900000-0000-7000-8000-00000000dead';

for (const kind of firstKind()) {
  test(`${kind}: each chart is there as the file that the API makes`, async (t) => {
    const { admin, database, plainUser, send } = await openConsole(t, kind);
    const device = await addDevice(database, plainUser.id);
    const rule = await addRule(database, { destination: '10.0.0.0/8' });
    const { data: group } = (
      await send('POST', '/v0/groups', { body: { group: { name: 'carriers' } } })
    ).body;
    await send('PUT', `/v0/groups/${group.id}/members/${plainUser.id}`);
    const start = Math.floor(Date.now() / 600_000) * 600 - 3_600;
    const report = { start, counts: [1_500, 2_000_000] };
    await recordHistory(database, GATEWAY, 'device', [{ ...report, subject: device.id }]);
    await recordHistory(database, GATEWAY, 'gateway', [{ ...report, subject: '' }]);
    await recordHistory(database, GATEWAY, 'rule', [{ ...report, subject: rule.id }]);
    for (const [page, path] of [
      [`/devices/${device.id}`, `/v0/devices/${device.id}`],
      [`/users/${plainUser.id}`, `/v0/users/${plainUser.id}`],
      [`/users/groups/${group.id}`, `/v0/groups/${group.id}`],
      [`/rules/${rule.id.toUpperCase()}`, `/v0/rules/${rule.id}`],
      ['/dashboard', '/v0'],
    ]) {
      const { status, text, headers } = await admin.get(`${page}/traffic.csv`);
      t.is(status, 200, page);
      t.is(headers['content-type'], 'text/csv; charset=utf-8');
      t.is(headers['content-disposition'], 'attachment; filename="traffic.csv"');
      t.is(text, (await send('GET', `${path}/traffic?format=csv`)).text, page);
      t.regex(text, /,1500,2000000(,0)?\r\n/);
      const days = await admin.get(`${page}/traffic.csv?range=400d`);
      const lines = days.text.trim().split('\r\n').length - 1;
      t.true(lines === 400 || lines === 401, `${lines} days`);
    }
  });

  test(`${kind}: only administrators get them, of what there is`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database, plainUser } = console;
    const { id } = await addDevice(database, plainUser.id);
    await checkGuard(t, console, {
      pages: [
        '/dashboard/traffic.csv',
        `/devices/${id}/traffic.csv`,
        `/users/${plainUser.id}/traffic.csv`,
      ],
    });
    for (const page of ['devices', 'users', 'users/groups', 'rules'])
      for (const absent of [ABSENT, 'x', '..'])
        t.is((await admin.get(`/${page}/${absent}/traffic.csv`)).status, 404, `${page} ${absent}`);
    const without = await openConsole(t, kind, { HISTORY_RETENTION: 'off' });
    t.is((await without.admin.get('/dashboard/traffic.csv')).status, 404);
  });
}
