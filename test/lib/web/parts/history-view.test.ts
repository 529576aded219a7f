// What was carried over time, on the pages of administrators: a table, and what a chart is drawn from.

import test from 'ava';
import {
  newId,
  recordConnections,
  recordHistory,
  registerGateway,
} from '../../../../models/index.ts';
import { RecentTraffic } from '../../../../lib/observe/history/recent-traffic.ts';
import { fakeLive } from '../../../support/observe/fake-gateway.ts';
import { addDevice, addRule } from '../../../models/fixtures.ts';
import { checkText, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const nowS = (): number => Math.floor(Date.now() / 1_000);
const ten = (time: number): number => time - (time % 600);

for (const kind of firstKind()) {
  test(`${kind}: devices, users, rules and the dashboard show what was carried`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const device = await addDevice(database, plainUser);
    const rule = await addRule(database, { destination: '10.0.0.0/8' });
    const start = ten(nowS() - 7_200);
    const report = { start, counts: [1_500, 2_000_000] };
    await recordHistory(database, GATEWAY, 'device', [{ ...report, subject: device.id }]);
    await recordHistory(database, GATEWAY, 'gateway', [{ ...report, subject: '' }]);
    await recordHistory(database, GATEWAY, 'rule', [{ ...report, subject: rule.id }]);
    await recordHistory(database, GATEWAY, 'refusal', [
      { start, counts: [77], subject: 'rule_drop' },
    ]);
    const line = (cells: string): string => `<tr role="row" data-at="${start}">${cells}`;
    const cell = (name: string, count: number, words: string): string =>
      `<td role="cell" class="number" data-label="${name}" data-count="${count}"><span>${words}</span></td>`;
    for (const [path, cells] of [
      [
        `/devices/${device.id}/connections`,
        cell('Download', 2_000_000, '2.0\u00a0MB') + cell('Upload', 1_500, '1.5\u00a0kB'),
      ],
      [
        `/users/${plainUser.id}/traffic`,
        cell('Download', 2_000_000, '2.0\u00a0MB') + cell('Upload', 1_500, '1.5\u00a0kB'),
      ],
      [
        `/rules/${rule.id}`,
        cell('Bytes', 2_000_000, '2.0\u00a0MB') + cell('Packets', 1_500, '1500'),
      ],
      [
        '/dashboard',
        cell('Download', 2_000_000, '2.0\u00a0MB') +
          cell('Upload', 1_500, '1.5\u00a0kB') +
          cell('Packets refused', 77, '77'),
      ],
    ] as const) {
      const page = await admin.get(path);
      t.is(page.status, 200);
      t.true(page.text.includes(line('')), path);
      t.true(page.text.includes(cells), path);
      t.regex(page.text, /data-history data-from="\d+" data-to="\d+" data-step="600"/);
      t.regex(page.text, /\/history\.js"/, path);
      t.true(page.text.includes(`<a href="${path}?range=24h#history" aria-current="page">`), path);
      checkText(t, page, path);
      const hour = await admin.get(`${path}?range=1h`);
      t.true(hour.text.includes('No traffic in the last hour.'), path);
      t.false(hour.text.includes('data-history'));
      t.false(hour.text.includes('/traffic.csv'));
      const file = `${path.replace(/\/(connections|traffic)$/, '')}/traffic.csv?range=24h`;
      t.true(page.text.includes(`<a href="${file}" download>Download as CSV</a>`), path);
      const days = await admin.get(`${path}?range=14d`);
      t.regex(days.text, /data-step="3600"/);
      const year = await admin.get(`${path}?range=400d`);
      t.regex(year.text, /data-step="86400"/);
      const unknown = await admin.get(`${path}?range=<script>`);
      t.true(unknown.text.includes(line('')), 'an unknown time is that of the beginning');
      t.false(unknown.text.includes('<script>'));
    }
  });

  test(`${kind}: where packets were only refused, no chart is drawn, and the table has them`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const refused = { start: ten(nowS() - 7_200), counts: [77], subject: 'rule_drop' };
    await recordHistory(database, GATEWAY, 'refusal', [refused]);
    const { text } = await admin.get('/dashboard');
    t.true(text.includes('No traffic in the last 24 hours.'));
    t.false(text.includes('data-history'));
    t.true(text.includes('data-count="77"'));
    t.true(text.includes('/traffic.csv'));
  });

  test(`${kind}: the last hour has sixty points, which a file has too`, async (t) => {
    const recent = new RecentTraffic({
      deviceIdOf: (key) => key,
      wallMs: () => Date.now() - 120_000,
    });
    const live = fakeLive(GATEWAY);
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { recent, live });
    const { id } = await addDevice(database, plainUser);
    const bytes = { rxBytes: 9, txBytes: 9, rxInnerBytes: 7, txInnerBytes: 2_000 };
    const peer = { publicKey: id, latestHandshakeMs: null, endpoint: null, ...bytes };
    recent.observe({ peers: [peer], rules: [], drops: {}, forgotten: {} });
    for (const path of [
      '/dashboard',
      `/devices/${id}/connections`,
      `/users/${plainUser.id}/traffic`,
    ]) {
      const { text } = await admin.get(`${path}?range=1h`);
      const [, from, to] = text.match(/data-from="(\d+)" data-to="(\d+)" data-step="60"/) ?? [];
      t.is(Number(to) - Number(from), 3_600, path);
      t.true(text.includes('data-count="2000"'), path);
      t.false(text.includes('Traffic at this gateway'), path);
    }
    const { text: file } = await admin.get(`/devices/${id}/traffic.csv?range=1h`);
    t.is(file.trim().split('\r\n').length, 61);
    t.regex(file, /,7,2000\r\n/);
    await registerGateway(database, { id: 'there', name: 'paris', startedAt: new Date() });
    const page = await admin.get('/dashboard?range=1h');
    t.true(page.text.includes('data-title="Traffic at this gateway of the last hour"'));
    t.true(page.text.includes('The last hour is what this gateway carried.'));
    const day = await admin.get('/dashboard?range=24h');
    t.false(day.text.includes('what this gateway carried'));
  });

  test(`${kind}: where no history is kept, no page has one`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind, { HISTORY_RETENTION: 'off' });
    const { id } = await addDevice(database, plainUser);
    for (const path of [
      '/dashboard',
      `/devices/${id}/connections`,
      `/users/${plainUser.id}/traffic`,
    ]) {
      const { status, text } = await admin.get(path);
      t.is(status, 200);
      t.false(text.includes('Traffic over time'), path);
      t.false(text.includes('<h2 id="connections">'), path);
    }
    t.false((await admin.get('/rules/new')).text.includes('Traffic over time'));
  });

  test(`${kind}: the page of a device lists its connections`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const { id } = await addDevice(database, plainUser);
    t.true((await admin.get(`/devices/${id}/connections`)).text.includes('Never connected'));
    const over = {
      id: newId(),
      deviceId: id,
      gatewayId: GATEWAY,
      connectedAt: Date.UTC(2026, 10, 25),
      disconnectedAt: Date.UTC(2026, 10, 25, 1),
      remoteIp: '2001:db8::1',
      remotePort: 7,
      reason: 'silent' as const,
    };
    const lasting = {
      ...over,
      id: newId(),
      connectedAt: Date.UTC(2026, 10, 26),
      disconnectedAt: null,
      remoteIp: null,
      reason: null,
    };
    await recordConnections(database, [over, lasting]);
    const page = await admin.get(`/devices/${id}/connections`);
    const from = page.text.indexOf('2026-11-26T00:00:00.000Z');
    t.true(from > 0 && from < page.text.indexOf('2026-11-25T00:00:00.000Z'));
    for (const part of ['2026-11-25T01:00:00.000Z', '[2001:db8::1]:7', 'It was silent.'])
      t.true(page.text.includes(part), part);
    t.regex(page.text, /data-label="Until"><span class="cell short">\s*now\s*<\/span>/);
    checkText(t, page, 'a device with connections');
  });
}
