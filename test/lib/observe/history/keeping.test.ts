// The history of a whole gateway: what devices carry and when they are connected, across its stop,
// a kill and a database without any.

import { randomBytes } from 'node:crypto';
import { mock } from 'node:test';
import test, { type ExecutionContext } from 'ava';
import { MemoryGateway, MemoryNetwork } from '../../../../dataplane/memory/index.ts';
import { forgetHistory, startHistory } from '../../../../lib/observe/history/keeping.ts';
import { serve } from '../../../../lib/start/serve.ts';
import { TestGateway } from '../../../../lib/testing/gateway.ts';
import { type LogLine, logInto } from '../../../../lib/testing/log.ts';
import { testSettings } from '../../../../lib/testing/settings.ts';
import {
  type Database,
  newId,
  openMemoryDatabase,
  readConnections,
  readHistory,
  readRefusals,
  recordConnections,
  recordHistory,
  registerGateway,
} from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const OTHER = '01900000-0000-7000-8000-00000000beef';
const DAY_MS = 86_400_000;
const EVER = { from: 0, to: 4_000_000_000, step: 86_400 } as const;

const sum = (sums: ReadonlyMap<number, readonly number[]>): number[] =>
  [...sums.values()].reduce<number[]>((all, counts) => counts.map((n, i) => n + (all[i] ?? 0)), []);

/** A gateway whose database is still there when it has stopped. */
async function startOn(database: Database, settings: Record<string, string> = {}) {
  const { config, administrator } = testSettings(settings);
  const log: LogLine[] = [];
  const network = new MemoryNetwork();
  const running = await serve(config, database, logInto(log), {
    createGateway: async (dataplane) => new MemoryGateway(network, dataplane),
    identity: { id: GATEWAY, name: 'test' },
    passwordCost: 4,
    listens: false,
  });
  const close = () => running.stop();
  return new TestGateway({ config, administrator, log, network, running, close });
}

async function openMemory(t: ExecutionContext): Promise<Database> {
  const database = await openMemoryDatabase({ encryptionKey: randomBytes(32) });
  t.teardown(() => database.close());
  return database;
}

test('what devices carry, rules decide and nobody gets is there after a stop', async (t) => {
  const database = await openMemory(t);
  const gateway = await startOn(database);
  gateway.host('10.0.0.5');
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const idle = await gateway.addDevice({ user: 'bob@example.com' });
  const rule = await gateway.api.post('/v0/rules', {
    rule: { action: 'drop', destination: '10.0.0.6' },
  });
  t.is(String(await laptop.udp('10.0.0.5', 9, 'x'.repeat(1_000))), 'x'.repeat(1_000));
  await t.throwsAsync(laptop.ping('10.0.0.6'));
  const metrics = (await gateway.inject('GET', '/metrics')).text;
  t.regex(metrics, /^wg_gateway_history_rows_lost_total 0$/m);
  t.regex(metrics, /^wg_gateway_history_rows_written_total \d+$/m);
  t.regex(metrics, /^wg_gateway_history_rows_waiting \d+$/m);
  await gateway.close();
  const of = (subject: string) => ({ kind: 'device', subject, ...EVER }) as const;
  const [rx = 0, tx = 0] = sum(await readHistory(database, of(laptop.id)));
  // The answer, and both of what was asked; padded to 16 bytes, without headers and handshakes.
  t.is(tx, 1_040);
  t.true(rx > 1_040 && rx < 1_300, String(rx));
  t.deepEqual(sum(await readHistory(database, of(idle.id))), []);
  t.deepEqual(sum(await readHistory(database, { kind: 'gateway', ...EVER })), [rx, tx]);
  const hits = { kind: 'rule', subject: String(rule['id']), ...EVER } as const;
  t.is(sum(await readHistory(database, hits))[0], 1);
  t.is((await readRefusals(database, EVER)).get('rule_drop'), 1);
  for (const { id } of [laptop, idle]) {
    const [connection, ...others] = await readConnections(database, id, 9);
    t.deepEqual(others, []);
    t.like(connection, { gatewayId: GATEWAY, reason: 'gateway_stopped' });
    t.regex(connection?.remoteIp ?? '', /^198\.18\./);
    t.true((connection?.disconnectedAt ?? 0) >= (connection?.connectedAt ?? 0));
  }
});

test('where no history is kept, none is written, and what there was is deleted', async (t) => {
  const database = await openMemory(t);
  const { id } = await addDevice(database, (await addUser(database)).id);
  const start = Math.floor(Date.now() / 600_000) * 600;
  const report = { subject: id, start, counts: [1, 1] };
  await recordHistory(database, GATEWAY, 'device', [report]);
  await recordHistory(database, GATEWAY, 'gateway', [{ ...report, subject: '' }]);
  const settings = { HISTORY_RETENTION: 'off' };
  const gateway = await startOn(database, settings);
  gateway.host('10.0.0.5');
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  await laptop.ping('10.0.0.5');
  t.notRegex((await gateway.inject('GET', '/metrics')).text, /history_rows/);
  await gateway.close();
  t.is((await readHistory(database, { kind: 'device', subject: id, ...EVER })).size, 0);
  t.is((await readHistory(database, { kind: 'gateway', ...EVER })).size, 0);
  t.deepEqual(await readConnections(database, laptop.id, 9), []);
});

for (const kind of databaseKinds()) {
  test(`${kind}: connections to a process that was killed end when it was heard last`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, (await addUser(database)).id);
    const seen = new Date(Date.now() - 3 * 3_600_000);
    for (const gateway of [GATEWAY, OTHER])
      await database.models.Gateway.create({
        id: gateway,
        name: gateway,
        started_at: seen,
        seen_at: seen,
      });
    const lasting = (gatewayId: string) => ({
      id: newId(),
      deviceId: id,
      gatewayId,
      connectedAt: seen.getTime() - 5_000,
      disconnectedAt: null,
      remoteIp: null,
      remotePort: null,
      reason: null,
    });
    await recordConnections(database, [lasting(GATEWAY), lasting(OTHER)]);
    const log = logInto([]);
    const ends = async () =>
      (await readConnections(database, id, 9))
        .map(({ gatewayId, disconnectedAt, reason }) => [gatewayId, disconnectedAt, reason])
        .toSorted((a, b) => (String(a) < String(b) ? -1 : 1));
    const { config } = testSettings({});
    const { history } = await startHistory({ config, database, log }, GATEWAY);
    t.truthy(history);
    t.deepEqual(await ends(), [
      [OTHER, null, null],
      [GATEWAY, seen.getTime(), 'gateway_lost'],
    ]);
    await forgetHistory(database, 400, log, async () => new Date()).run(() => false);
    t.deepEqual((await ends())[0], [OTHER, seen.getTime(), 'gateway_lost']);
  });

  test(`${kind}: what is older than HISTORY_RETENTION is forgotten, and the log says so`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, (await addUser(database)).id);
    const lines: LogLine[] = [];
    const chore = forgetHistory(database, 30, logInto(lines), async () => new Date());
    await chore.run(() => false);
    t.deepEqual(lines, []);
    for (const days of [1, 29, 32, 500])
      await recordHistory(database, GATEWAY, 'device', [
        {
          subject: id,
          start: Math.floor((Date.now() - days * DAY_MS) / 600_000) * 600,
          counts: [days, 0],
        },
      ]);
    // A gateway that stops looks at no device any more.
    await chore.run(() => true);
    t.deepEqual(lines, []);
    await chore.run(() => false);
    t.like(lines[0], {
      message: 'the history was rolled up',
      fields: { forgotten: 2 },
    });
    const sums = await readHistory(database, { kind: 'device', subject: id, ...EVER });
    t.deepEqual(sum(sums), [30, 0]);
  });
}

for (const kind of databaseKinds().filter((one) => one === 'mariadb'))
  test.serial(`${kind}: a wrong clock ends no connection to a gateway that runs`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, (await addUser(database)).id);
    const startedAt = new Date();
    await registerGateway(database, { id: OTHER, name: 'other', startedAt });
    const lasting = {
      id: newId(),
      deviceId: id,
      gatewayId: OTHER,
      connectedAt: startedAt.getTime(),
      disconnectedAt: null,
      remoteIp: null,
      remotePort: null,
      reason: null,
    };
    await recordConnections(database, [lasting]);
    const chore = forgetHistory(database, 400, logInto([]), async () => startedAt);
    mock.timers.enable({ apis: ['Date'], now: startedAt.getTime() + 730 * DAY_MS });
    try {
      await chore.run(() => false);
    } finally {
      mock.timers.reset();
    }
    const [connection] = await readConnections(database, id, 1);
    t.is(connection?.disconnectedAt, null);
  });
