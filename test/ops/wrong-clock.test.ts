// A gateway starts on a host whose clock is two years ahead (with libfaketime) and runs until it has
// forgotten what it holds for old. When the clock is right again, nothing is missing: audit trail,
// sessions, history, what users carried this month, and used SAML assertions.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { connectDatabase, monthOf, recordHistory, recordQuotaUsage } from '../../models/index.ts';
import { FIRST_ADMIN, startGateway } from '../support/gateway/gateway-process.ts';
import { until } from '../support/gateway/postern.ts';
import { countsOfOldRows, fillWithOldRows } from '../support/database/old-rows.ts';
import { addDevice, addUser } from '../support/database/records.ts';
import { LastingFile } from '../support/suite/lasting.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';
import { atGateway, Visitor } from '../support/web/visitor.ts';

const DAY_MS = 86_400_000;
const AHEAD_DAYS = 730;
const GATEWAY = '01900000-0000-7000-8000-000000000001';
const FORGET_SOON = new URL('../support/gateway/forget-soon.ts', import.meta.url).href;

/** The host whose clock is wrong; its monotonic clocks are right, as they always are. */
const WRONG_CLOCK = {
  LD_PRELOAD: '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  FAKETIME: `+${AHEAD_DAYS}d`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  DONT_FAKE_MONOTONIC: '1',
};

test('a start with a clock two years ahead deletes nothing, and is said', async (t) => {
  t.timeout(180_000);
  const folder = temporaryFolder('postern-data-');
  const settings = {
    DATA_DIR: folder,
    AUDIT_RETENTION_DAYS: '30',
    NODE_OPTIONS: `--import=${FORGET_SOON}`,
  };
  /** Serves for as long as something takes. */
  const serving = async (
    more: Record<string, string>,
    during: (gateway: Awaited<ReturnType<typeof startGateway>>) => Promise<void>,
  ): Promise<void> => {
    const lasting = new LastingFile();
    try {
      await during(await startGateway(lasting, { ...settings, ...more }));
    } finally {
      await lasting.end();
    }
  };

  const boss = { cookies: new Map<string, string>() };
  await serving({}, async ({ url, call }) => {
    const visitor = new Visitor(atGateway(url));
    t.is((await visitor.signIn(FIRST_ADMIN.email, FIRST_ADMIN.password)).status, 303);
    boss.cookies = visitor.cookies;
    t.is((await call('POST', '/v0/users', { user: { email: 'ann@example.com' } })).status, 201);
  });
  const key = readFileSync(join(folder, 'encryption.key'), 'utf8');
  const database = await connectDatabase({
    url: `sqlite:${join(folder, 'postern.sqlite')}`,
    encryptionKey: Buffer.from(key, 'base64'),
  });
  t.teardown(() => database.close());
  const nowMs = Date.now();
  await fillWithOldRows(database, nowMs);
  const before = await countsOfOldRows(database);
  t.true(Object.values(before).every((count) => count > 0));
  // What is old by the right clock too: when it is gone, all kinds were looked at, the last one too.
  const { id: userId } = await addUser(database);
  const { id: subject } = await addDevice(database, userId);
  const oldMs = nowMs - 1_000 * DAY_MS;
  const old = { subject, start: Math.floor(oldMs / DAY_MS) * 86_400, counts: [1, 1] } as const;
  await recordHistory(database, GATEWAY, 'device', [old]);
  await recordQuotaUsage(database, GATEWAY, [{ userId, month: monthOf(oldMs), bytes: 9 }]);
  const isForgotten = async (): Promise<boolean> => {
    const [rows] = await database.sequelize.query(
      `SELECT 1 FROM device_traffic WHERE start = ${old.start}`,
    );
    return rows.length === 0;
  };
  t.false(await isForgotten());

  await serving(WRONG_CLOCK, async (gateway) => {
    await until('old rows are forgotten', isForgotten);
    const now = await gateway.call('GET', '/healthz');
    const { date = '' } = now.headers;
    t.true(Date.parse(String(date)) - Date.now() > (AHEAD_DAYS - 1) * DAY_MS, 'it is wrong');
    const said = gateway.output().split('\n');
    t.is(said.filter((line) => /the clock is days after the last time/.test(line)).length, 1);
    const { text } = await gateway.call('GET', '/metrics');
    t.regex(text, /^wg_gateway_clock_jumps_total\{reason="ahead"\} 1$/m);
    t.regex(
      await gateway.command('doctor'),
      /^warning +forgetting +the clock is 7\d\d days ahead/m,
    );
  });
  const { history = 0, ...others } = await countsOfOldRows(database);
  const { history: wanted = 0, ...rest } = before;
  // Entries of the trail are also made by the starts themselves, if they make any.
  t.true((others['entries'] ?? 0) >= (rest['entries'] ?? 0));
  t.deepEqual({ ...others, entries: 0 }, { ...rest, entries: 0 });
  t.true(history >= wanted - 2, `${history} of ${wanted}: those of a day became longer steps`);

  await serving({}, async ({ url, call }) => {
    const visitor = new Visitor(atGateway(url));
    for (const [name, value] of boss.cookies) visitor.cookies.set(name, value);
    t.is((await visitor.get('/devices')).status, 200, 'the administrator is still signed in');
    const entries = (await call('GET', '/v0/audit')).text;
    t.regex(entries, /ann@example\.com/);
  });
});
