// What one change reads: an administrator's request, and the turn that puts it in force, ask and
// read the same with ten times the users, devices and rules. Counted are statements, the rows that
// they return, and pages of the file, which also those rows cost that a statement only passes by.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Amendment } from '../../../dataplane/index.ts';
import { Reconciler } from '../../../lib/reconcile/reconciler.ts';
import { registerGateway, writeTransaction } from '../../../models/index.ts';
import { SqliteConnection } from '../../../models/storage/sqlite-connection.ts';
import { addManyDevices, addManyRules } from '../../support/database/many-devices.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';
import { settings } from '../../support/reconcile/rows.ts';
import { logInto, newKey, serverOn, type TestServer } from '../../support/api/server.ts';
import { fakeObserved } from '../../support/observe/fake-gateway.ts';

const FEW = 1_000;
const MANY = 10_000;
const PAGE_BYTES = 4_096;
const WAIT_MS = 10_000;
/** What a poll may add. */
const STATEMENTS_MORE = 3;
const ROWS_MORE = 5;
/** Trees have a level more, three where there were two; a scan more than doubles most. */
const PAGES_FACTOR = 1.6;
/** Each change is made so often, and what it cost least is what it needs: a poll may meet any. */
const ROUNDS = 4;

/** What was asked of the database. */
interface Cost {
  readonly statements: number;
  readonly rows: number;
  readonly pages: number;
}

/** What was asked since the process began. */
const asked = { statements: 0, rows: 0 };
const withoutCache = new WeakSet<SqliteConnection>();
let isFilled = false;
// oxlint-disable-next-line typescript/unbound-method -- called with a connection below
const execute = SqliteConnection.prototype.execute;

// Connections keep no pages once the crowd is there, so that whatever a statement looks at is read
// from the file.
SqliteConnection.prototype.execute = async function (method, sql, parameters) {
  if (isFilled && !withoutCache.has(this)) {
    withoutCache.add(this);
    await execute.call(this, 'run', 'PRAGMA cache_size = 1', undefined);
  }
  const outcome = await execute.call(this, method, sql, parameters);
  asked.statements += 1;
  asked.rows += outcome.rows.length;
  return outcome;
};

/** What has been asked so far; nothing but SQLite reads whole pages here. */
function costSoFar(): Cost {
  const bytes = Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))![1]);
  return { ...asked, pages: Math.floor(bytes / PAGE_BYTES) };
}

/** What a test asks of. */
type Opened = TestServer & {
  readonly reconciler: Reconciler;
  readonly amendments: readonly Amendment[];
};

/** A gateway that obeys a database of as many users, devices and rules. */
async function open(t: ExecutionContext, count: number): Promise<Opened> {
  isFilled = false;
  const database = await openDatabase(t, 'sqlite');
  const { id } = await addUser(database);
  await writeTransaction(database, (transaction) =>
    database.models.User.bulkCreate(
      Array.from({ length: count }, (_, i) => ({ email: `crowd-${i}@example.test` })),
      { transaction },
    ),
  );
  await addManyDevices(database, id, count);
  await addManyRules(database, count);
  isFilled = true;
  const gatewayId = crypto.randomUUID();
  await registerGateway(database, { id: gatewayId, name: 'test', startedAt: new Date() });
  const amendments: Amendment[] = [];
  const nowMs = Date.now();
  const reconciler = new Reconciler({
    database,
    gateway: {
      amend: async (amendment) => void amendments.push(amendment),
      release: () => undefined,
    },
    settings: { ...settings, gatewayId },
    clockFloorMs: 0,
    log: logInto([]),
    // Housekeeping comes once, at the beginning.
    wallMs: () => nowMs,
  });
  await reconciler.start();
  t.teardown(() => reconciler.stop());
  const server = await serverOn(
    database,
    {},
    {
      whenApplied: (revision, ms) => reconciler.whenApplied(revision, ms),
      observed: fakeObserved({ deviceCount: () => reconciler.deviceCount }),
    },
  );
  return { ...server, reconciler, amendments };
}

/** Waits until nothing is asked of the database any more. */
async function settled(): Promise<void> {
  for (let last = -1; last !== asked.statements; await sleep(20)) last = asked.statements;
}

/** One round of changes, and what each cost. */
async function round(
  t: ExecutionContext,
  { send, database, reconciler, amendments }: Opened,
  number: number,
): Promise<Map<string, Cost>> {
  const owner = await addUser(database);
  for (let i = 0; i < 3; i++) {
    const addresses = { ipv4: `100.127.${number}.${i}`, ipv6: `fd00::3f:${number}${i}` };
    await addDevice(database, owner.id, addresses);
    const rule = { destination: `192.0.2.${i}`, user_id: owner.id };
    const { revision } = await addRule(database, rule);
    await reconciler.whenApplied(revision, WAIT_MS);
  }
  const costs = new Map<string, Cost>();
  const measure = async <T>(name: string, change: () => Promise<T>): Promise<T> => {
    await settled();
    const amended = amendments.length;
    const before = costSoFar();
    const result = await change();
    // What follows the answer is part of it.
    await settled();
    t.true(amendments.length > amended, name);
    const after = costSoFar();
    costs.set(name, {
      statements: after.statements - before.statements,
      rows: after.rows - before.rows,
      pages: after.pages - before.pages,
    });
    return result;
  };
  const call = async (method: string, path: string, body?: object): Promise<string> => {
    const answer = await measure(`${method} ${path.split('/').slice(0, 3).join('/')}`, () =>
      send(method, path, body && { body }),
    );
    t.true(answer.status < 300, answer.text);
    return (answer.body as { data: { id: string } } | null)?.data.id ?? '';
  };
  const disable = async (disabled_at: Date | null): Promise<void> => {
    const values = { disabled_at, disabled_by: disabled_at && ('administrator' as const) };
    const { revision } = await writeTransaction(database, (transaction) =>
      database.models.User.update(values, { where: { id: owner.id }, transaction }),
    );
    await reconciler.whenApplied(revision, WAIT_MS);
  };

  const rule = { action: 'drop', destination: '10.200.7.0/24', port_type: 'tcp', port_range: '9' };
  const ruleId = await call('POST', '/v0/rules', { rule });
  await call('PATCH', `/v0/rules/${ruleId}`, { rule: { destination: '10.200.8.0/24' } });
  await call('DELETE', `/v0/rules/${ruleId}`);
  const device = { user_id: owner.id, public_key: newKey() };
  const deviceId = await call('POST', '/v0/devices', { device });
  await call('PATCH', `/v0/devices/${deviceId}`, { device: { public_key: newKey() } });
  await call('DELETE', `/v0/devices/${deviceId}`);
  await measure('disable a user', () => disable(new Date()));
  await measure('enable a user', () => disable(null));
  await call('DELETE', `/v0/users/${owner.id}`);
  return costs;
}

/** What each change needs. */
async function needs(t: ExecutionContext, count: number): Promise<Map<string, Cost>> {
  const opened = await open(t, count);
  const least = new Map<string, Cost>();
  for (let number = 0; number < ROUNDS; number++)
    for (const [name, cost] of await round(t, opened, number)) {
      const { statements, rows, pages } = least.get(name) ?? cost;
      least.set(name, {
        statements: Math.min(statements, cost.statements),
        rows: Math.min(rows, cost.rows),
        pages: Math.min(pages, cost.pages),
      });
    }
  return least;
}

test('one change reads the same with ten times the users, devices and rules', async (t) => {
  const few = await needs(t, FEW);
  const many = await needs(t, MANY);
  for (const [name, cost] of many) {
    const least = few.get(name)!;
    const says = `${name}: ${JSON.stringify({ few: least, many: cost })}`;
    t.log(says);
    t.true(least.pages > least.statements, `pages are seen: ${says}`);
    t.true(cost.statements <= least.statements + STATEMENTS_MORE, says);
    t.true(cost.rows <= least.rows + ROWS_MORE, says);
    t.true(cost.pages <= least.pages * PAGES_FACTOR, says);
  }
});
