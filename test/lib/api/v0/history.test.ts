// The history over the API: what is asked, what is answered, as JSON and as a file. What is kept in
// which steps: ../../../models/queries/roll-up.test.ts.

import test from 'ava';
import {
  newId,
  recordConnections,
  recordHistory,
  rollUpHistory,
} from '../../../../models/index.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../../support/database/records.ts';
import { openServer } from '../../../support/api/server.ts';

const GATEWAYS = ['01900000-0000-7000-8000-00000000000a', '01900000-0000-7000-8000-00000000000b'];
const ABSENT = '01900000-0000-7000-8000-00000000dead';
const HOUR = 3_600;
const DAY = 86_400;
const nowS = (): number => Math.floor(Date.now() / 1_000);
const floor = (time: number, step: number): number => time - (time % step);
const iso = (second: number): string => new Date(second * 1_000).toISOString();
const shown = (second: number): string => iso(second).replace('Z', '000Z');

type Points = { at: string; [count: string]: number | string }[];

for (const kind of databaseKinds()) {
  test(`${kind}: devices, users, rules and all gateways have a history, which adds up`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const user = await addUser(database);
    const [phone, laptop] = [
      await addDevice(database, user.id),
      await addDevice(database, user.id),
    ];
    const rule = await addRule(database, { destination: '10.0.0.0/8' });
    const start = floor(nowS() - 2 * HOUR, 600);
    const report = (subject: string, ...counts: number[]) => [{ subject, start, counts }];
    for (const gateway of GATEWAYS) {
      await recordHistory(database, gateway, 'device', report(phone.id, 100, 10));
      await recordHistory(database, gateway, 'device', report(laptop.id, 5, 6));
      await recordHistory(database, gateway, 'rule', report(rule.id, 7, 800));
      await recordHistory(database, gateway, 'gateway', report('', 105, 16));
      await recordHistory(database, gateway, 'refusal', report('rule_drop', 3));
      await recordHistory(database, gateway, 'refusal', report('no_peer', 4));
    }
    const read = async (path: string) => {
      const { status, body, text, headers } = await send('GET', path);
      t.is(status, 200, text);
      t.is(headers['cache-control'], 'no-store');
      const { points, totals, ...rest } = body.data as {
        points: Points;
        totals: Record<string, number>;
      };
      t.deepEqual(
        Object.keys(points[0]!).filter((name) => name !== 'at'),
        Object.keys(totals),
      );
      const [point, ...others] = points.filter(({ at: _at, ...counts }) =>
        Object.values(counts).some((count) => count !== 0),
      );
      t.deepEqual(others, []);
      t.deepEqual(point, { at: shown(start), ...totals });
      return { totals, points, ...rest } as Record<string, unknown>;
    };
    const device = await read(`/v0/devices/${phone.id.toUpperCase()}/traffic`);
    t.deepEqual(device['totals'], { rx_bytes: 200, tx_bytes: 20 });
    t.is(device['step'], 600);
    const count = (device['points'] as Points).length;
    t.true(count === 144 || count === 145, String(count));
    t.deepEqual((await read(`/v0/users/${user.id}/traffic`))['totals'], {
      rx_bytes: 210,
      tx_bytes: 32,
    });
    const made = await send('POST', '/v0/groups', { body: { group: { name: 'carriers' } } });
    const { id: groupId } = made.body.data;
    const ofGroup = `/v0/groups/${groupId}/traffic`;
    t.deepEqual((await send('GET', ofGroup)).body.data.totals, { rx_bytes: 0, tx_bytes: 0 });
    await send('PUT', `/v0/groups/${groupId}/members/${user.id}`);
    t.deepEqual((await read(ofGroup))['totals'], { rx_bytes: 210, tx_bytes: 32 });
    t.deepEqual((await read(`/v0/rules/${rule.id}/traffic`))['totals'], {
      packets: 14,
      bytes: 1600,
    });
    const all = await read('/v0/traffic');
    t.deepEqual(all['totals'], { rx_bytes: 210, tx_bytes: 32, refused_packets: 14 });
    t.deepEqual(all['refusals'], [
      { reason: 'no_peer', packets: 8 },
      { reason: 'rule_drop', packets: 6 },
    ]);
    const one = await read('/v0/traffic?reason=rule_drop');
    t.deepEqual(one['totals'], { rx_bytes: 210, tx_bytes: 32, refused_packets: 6 });
    t.deepEqual(one['refusals'], [{ reason: 'rule_drop', packets: 6 }]);
    await send('DELETE', `/v0/devices/${laptop.id}`);
    t.deepEqual((await read(`/v0/users/${user.id}/traffic`))['totals'], {
      rx_bytes: 200,
      tx_bytes: 20,
    });
    t.deepEqual((await read('/v0/traffic'))['totals'], all['totals']);
  });

  test(`${kind}: the step is the shortest that is kept since, or the one that is asked for`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { id } = await addDevice(database, (await addUser(database)).id);
    const now = nowS();
    for (const age of [HOUR, 3 * DAY, 30 * DAY])
      await recordHistory(database, GATEWAYS[0]!, 'device', [
        { subject: id, start: floor(now - age, 600), counts: [1, 2] },
      ]);
    await rollUpHistory(database, 400 * DAY);
    const read = async (query: string) => {
      const { body, text } = await send('GET', `/v0/devices/${id}/traffic${query}`);
      t.truthy(body.data, text);
      const { step, totals, points, from, to } = body.data;
      t.is(points.length, (Date.parse(to) - Date.parse(from)) / 1_000 / step);
      t.is(points[0].at, from);
      return [step, totals.rx_bytes];
    };
    t.deepEqual(await read(''), [600, 1]);
    t.deepEqual(await read('?step=86400'), [86_400, 1]);
    t.deepEqual(await read(`?from=${iso(now - 48 * HOUR + 60)}`), [600, 1]);
    t.deepEqual(await read(`?from=${iso(now - 4 * DAY)}`), [3_600, 2]);
    t.deepEqual(await read(`?from=${iso(now - 4 * DAY)}&to=${iso(now - 2 * DAY)}`), [3_600, 1]);
    t.deepEqual(await read(`?from=${iso(now - 60 * DAY)}`), [86_400, 3]);
    const offset = new Date((now - 4 * DAY + 7_200) * 1_000).toISOString().slice(0, -1);
    t.deepEqual(await read(`?from=${offset}+02:00&to=2999-01-01T00:00Z`), [3_600, 2]);
  });

  test(`${kind}: what cannot be answered is refused by its field, in words`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { id } = await addDevice(database, (await addUser(database)).id);
    const now = nowS();
    const time = 'is not a time such as 2026-11-25T10:00:00Z';
    const cases: [query: string, errors: object][] = [
      ['from=yesterday&to=1', { from: [time], to: [time] }],
      ['from=2026-02-30T00:00:00Z', { from: [time] }],
      ['from=2026-11-25T10:00:00', { from: [time] }],
      ['step=60', { step: ['must be 600, 3600 or 86400'] }],
      ['step=x', { step: ['must be 600, 3600 or 86400'] }],
      ['format=xml', { format: ['should be one of json, csv'] }],
      ['step=600&step=3600', { step: ['must be 600, 3600 or 86400'] }],
      ['from=', { from: ['is invalid'] }],
      [`from=${iso(now + DAY)}`, { from: ['must be before `to`, and not in the future'] }],
      [
        `from=${iso(now - HOUR)}&to=${iso(now - HOUR)}`,
        { from: ['must be before `to`, and not in the future'] },
      ],
      ['from=1969-12-31T00:00:00Z', { from: [time] }],
      ['to=1970-01-01T10:00:00Z', { from: ['must be after 1970'] }],
      [
        'from=1990-01-01T00:00:00Z',
        { from: ['must be later: there would be more than 4000 points'] },
      ],
      [
        `from=${iso(now - 3 * DAY)}&step=600`,
        {
          step: ['must be at least 3600, because shorter steps of that time are not kept'],
        },
      ],
      [
        `from=${iso(now - 30 * DAY)}&step=3600`,
        {
          step: ['must be at least 86400, because shorter steps of that time are not kept'],
        },
      ],
    ];
    for (const path of [`/v0/devices/${id}/traffic`, '/v0/traffic'])
      for (const [query, errors] of cases) {
        const { status, body } = await send('GET', `${path}?${query}`);
        t.is(status, 422, query);
        t.deepEqual(body, { errors }, query);
      }
    for (const reason of ['none', 'x', "'"])
      t.regex(
        (await send('GET', `/v0/traffic?reason=${reason}`)).body.errors.reason[0],
        /^should be one of the words that \/v0\/openapi\.json lists, such as [a-z_]+$/,
      );
    for (const path of ['devices', 'users', 'rules'])
      for (const one of [ABSENT, 'x', '%00'])
        t.is((await send('GET', `/v0/${path}/${one}/traffic`)).status, 404, path);
    t.is((await send('GET', '/v0/traffic', { token: null })).status, 401);
    const log = `/v0/devices/${id}/connections`;
    t.is((await send('GET', log, { token: null })).status, 401);
    t.is((await send('GET', `/v0/devices/${ABSENT}/connections`)).status, 404);
    t.deepEqual((await send('GET', `${log}?limit=0`)).body.errors, {
      limit: ['must be greater than or equal to 1'],
    });
    t.is((await send('GET', `${log}?limit=1001`)).status, 422);
  });

  test(`${kind}: a history comes as a file where that is asked for`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { id } = await addDevice(database, (await addUser(database)).id);
    const start = floor(nowS() - HOUR, 600);
    const report = { subject: id, start, counts: [123, 45] };
    await recordHistory(database, GATEWAYS[0]!, 'device', [report]);
    const path = `/v0/devices/${id}/traffic`;
    const csv = { headers: { accept: 'text/csv' } };
    for (const [query, sent] of [
      ['?format=csv', {}],
      ['', csv],
    ] as const) {
      const { status, text, headers } = await send('GET', path + query, sent);
      t.is(status, 200);
      t.is(headers['content-type'], 'text/csv; charset=utf-8');
      t.is(headers['content-disposition'], 'attachment; filename="traffic.csv"');
      t.true(text.startsWith('at,rx_bytes,tx_bytes\r\n'));
      t.true(text.includes(`${shown(start)},123,45\r\n`));
    }
    const both = { headers: { accept: 'application/json, text/csv;q=0.5' } };
    for (const [query, sent] of [
      ['?format=json', csv],
      ['', both],
      ['', {}],
    ] as const)
      t.is((await send('GET', path + query, sent)).body.data.totals.rx_bytes, 123);
  });

  test(`${kind}: connections are listed, the latest first`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { id } = await addDevice(database, (await addUser(database)).id);
    const connection = {
      id: newId(),
      deviceId: id,
      gatewayId: GATEWAYS[0]!,
      connectedAt: 1_000_000,
      disconnectedAt: 2_000_000,
      remoteIp: '192.0.2.7',
      remotePort: 4_711,
      reason: 'silent' as const,
    };
    const lasting = {
      ...connection,
      id: newId(),
      connectedAt: 3_000_000,
      disconnectedAt: null,
      remoteIp: null,
      remotePort: null,
      reason: null,
    };
    await recordConnections(database, [connection, lasting]);
    const path = `/v0/devices/${id}/connections`;
    const { status, body } = await send('GET', path);
    t.is(status, 200);
    const [first, second] = body.data;
    t.deepEqual(first, {
      connected_at: shown(3_000),
      disconnected_at: null,
      reason: null,
      gateway_id: GATEWAYS[0],
      remote_ip: null,
      remote_port: null,
    });
    t.deepEqual(second, {
      connected_at: shown(1_000),
      disconnected_at: shown(2_000),
      reason: 'silent',
      gateway_id: GATEWAYS[0],
      remote_ip: '192.0.2.7',
      remote_port: 4_711,
    });
    t.is((await send('GET', `${path}?limit=1`)).body.data.length, 1);
    const { text } = await send('GET', `${path}?format=csv`);
    const [head, ...lines] = text.split('\r\n');
    t.is(head, 'connected_at,disconnected_at,reason,gateway_id,remote_ip,remote_port');
    t.deepEqual(lines, [
      `${shown(3_000)},,,${GATEWAYS[0]},,`,
      `${shown(1_000)},${shown(2_000)},silent,${GATEWAYS[0]},192.0.2.7,4711`,
      '',
    ]);
  });
}
