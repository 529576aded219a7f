// The history of one gateway on its way into real databases, in virtual time.

import test from 'ava';
import { History } from '../../../lib/reconcile/history.ts';
import { type LogLine, logInto } from '../../../lib/testing/log.ts';
import {
  connectDatabase,
  type Database,
  readConnections,
  readHistory,
  recordConnections,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const START = 1_800_000_000;

/** A history in virtual time, which goes on by seconds. */
function virtual(database: Database, waitingMax?: number) {
  const lines: LogLine[] = [];
  let ms = 0;
  const history = new History({
    database,
    gatewayId: GATEWAY,
    log: logInto(lines),
    wallMs: () => START * 1_000 + ms,
    nowMs: () => ms,
    ...(waitingMax === undefined ? {} : { waitingMax }),
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i += 1) {
      ms += 1_000;
      await history.write();
    }
  };
  return { history, pass, lines };
}

const WISH = { from: START, to: START + 86_400, step: 600 } as const;

for (const kind of databaseKinds()) {
  test(`${kind}: what is carried is written within a minute, once, in its ten minutes`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addDevice(database, (await addUser(database)).id);
    const rule = await addRule(database, { destination: '10.0.0.0/8' });
    const { history, pass } = virtual(database);
    const read = () => readHistory(database, { kind: 'device', subject: id, ...WISH });
    history.device(id, 100, 10);
    history.device(id, 0, 0);
    history.rule({ id: rule.id, packets: 2, bytes: 3, lastHitMs: 0 });
    history.refusals({ no_peer: 4 });
    await pass(59);
    t.is((await read()).size, 0);
    t.is(history.counts.waiting, 4);
    // Two statements a second.
    await pass(2);
    t.deepEqual([...(await read())], [[START, [100, 10]]]);
    t.deepEqual(history.counts, { written: 4, lost: 0, waiting: 0 });
    history.device(id, 1, 1);
    await pass(600);
    history.device(id, 7, 7);
    await pass(70);
    t.deepEqual(
      [...(await read())].toSorted((a, b) => (String(a) < String(b) ? -1 : 1)),
      [
        [START, [101, 11]],
        [START + 600, [7, 7]],
      ],
    );
    const whole = await readHistory(database, { kind: 'gateway', ...WISH });
    t.deepEqual(
      [...whole].toSorted((a, b) => (String(a) < String(b) ? -1 : 1)),
      [
        [START, [101, 11]],
        [START + 600, [7, 7]],
      ],
    );
    const refused = await readHistory(database, { kind: 'refusal', subject: 'no_peer', ...WISH });
    t.deepEqual([...refused], [[START, [4]]]);
    const hits = await readHistory(database, { kind: 'rule', subject: rule.id, ...WISH });
    t.deepEqual([...hits], [[START, [2, 3]]]);
  });

  test(`${kind}: a device that keeps its path open alone, and one that is gone, leave nothing`, async (t) => {
    const database = await openDatabase(t, kind);
    const { history, pass } = virtual(database);
    const gone = '01900000-0000-7000-8000-00000000dead';
    for (let i = 0; i < 100; i += 1) history.device(gone, 0, 0);
    t.is(history.counts.waiting, 0);
    history.device(gone, 5, 5);
    history.connected(gone, null);
    await pass(62);
    t.is((await readHistory(database, { kind: 'device', subject: gone, ...WISH })).size, 0);
    t.deepEqual(await readConnections(database, gone, 9), []);
  });

  test(`${kind}: connections are written with their ends; a stop ends what lasts and writes all`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const [phone, laptop] = [
      await addDevice(database, user.id),
      await addDevice(database, user.id),
    ];
    const { history, pass } = virtual(database);
    history.connected(phone.id, { address: '192.0.2.1', port: 5 });
    history.connected(laptop.id, { address: '192.0.2.2', port: 6 });
    await pass(1);
    history.disconnected(phone.id, 'silent');
    history.device(laptop.id, 8, 9);
    await pass(1);
    await history.stop();
    const seen = async (id: string) =>
      (await readConnections(database, id, 9)).map((one) => [
        (one.disconnectedAt ?? 0) - START * 1_000,
        one.reason,
        one.remoteIp,
      ]);
    t.deepEqual(await seen(phone.id), [[1_000, 'silent', '192.0.2.1']]);
    t.deepEqual(await seen(laptop.id), [[2_000, 'gateway_stopped', '192.0.2.2']]);
    const wish = { kind: 'device', subject: laptop.id, ...WISH } as const;
    t.deepEqual([...(await readHistory(database, wish))], [[START, [8, 9]]]);
  });

  test(`${kind}: 10,000 devices take at most two statements a second, and none waits for long`, async (t) => {
    const database = await openDatabase(t, kind);
    let statements = 0;
    database.sequelize.addHook('beforeQuery', () => void (statements += 1));
    const { history, pass } = virtual(database);
    const id = (i: number): string => `01900000-0000-7000-8000-${String(i).padStart(12, '0')}`;
    let most = 0;
    let waiting = 0;
    for (let second = 0; second < 180; second += 1) {
      for (let i = second % 10; i < 10_000; i += 10) history.device(id(i), 1, 1);
      statements = 0;
      await pass(1);
      most = Math.max(most, statements);
      waiting = Math.max(waiting, history.counts.waiting);
    }
    t.true(most <= 2, String(most));
    t.true(waiting <= 10_001, String(waiting));
    // All of them, twice at least, and not much more often than once a minute.
    const { written } = history.counts;
    t.true(written >= 20_000 && written <= 35_000, String(written));
  });
}

test('while the database is away all is kept, and then added; what is too much is counted', async (t) => {
  const url = 'sqlite::memory:';
  const away = await connectDatabase({ url, encryptionKey: Buffer.alloc(32, 1) });
  await away.close();
  const database = await openDatabase(t, 'sqlite');
  const user = await addUser(database);
  const devices = [];
  for (let i = 0; i < 4; i += 1) devices.push(await addDevice(database, user.id));
  let isAway = true;
  const switching = new Proxy(database, {
    get: (target, name) =>
      Reflect.get(isAway && name === 'sequelize' ? away : target, name) as unknown,
  });
  const { history, pass, lines } = virtual(switching, 5);
  for (let minutes = 0; minutes < 20; minutes += 10) {
    for (const { id } of devices.slice(0, 2)) history.device(id, 1, 1);
    history.connected(devices[0]!.id, null);
    await pass(600);
  }
  t.is(history.counts.written, 0);
  t.is(history.counts.lost, 0);
  for (const { id } of devices) history.device(id, 1, 1);
  t.is(history.counts.lost, 3);
  t.deepEqual(
    lines.map(({ level, message }) => [level, message]),
    [['warn', 'the history could not be written; it is kept and added later']],
  );
  isAway = false;
  await pass(70);
  t.is(history.counts.waiting, 0);
  t.is(lines.at(-1)?.message, 'the history is written again');
  const sums = await readHistory(database, { kind: 'gateway', ...WISH });
  t.deepEqual(
    [...sums.values()].map(([rx]) => rx),
    [2, 2, 4],
  );
  const ofUser = await readHistory(database, { kind: 'device', userId: user.id, ...WISH });
  t.is(
    [...ofUser.values()].reduce((sum, [rx = 0]) => sum + rx, 0),
    8 - 3,
  );
});

test('a connection that was written before is not written twice', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const { id } = await addDevice(database, (await addUser(database)).id);
  const { history, pass } = virtual(database);
  history.connected(id, null);
  await pass(1);
  await recordConnections(database, await readConnections(database, id, 9));
  history.disconnected(id, 'removed');
  await pass(1);
  t.is((await readConnections(database, id, 9)).length, 1);
});
