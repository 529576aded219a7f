// Live lists as pages follow them: what changes comes, to those who may see it, and the database is
// asked the same for ten pages as for one.

import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import {
  monthOf,
  newId,
  NO_REVISION,
  recordHeartbeat,
  recordQuotaUsage,
  recordStatus,
  registerGateway,
  writeTransaction,
} from '../../../../models/index.ts';
import { RecentTraffic } from '../../../../lib/observe/history/recent-traffic.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { configOf, listen, type TestServer } from '../../../support/api/server.ts';
import { databaseKinds, firstKind } from '../../../support/database/databases.ts';
import {
  fakeLive,
  fakeObserved,
  flowOf,
  refusalOf,
} from '../../../support/observe/fake-gateway.ts';
import { openConsole } from '../../../support/web/console.ts';
import { Listener } from '../../../support/web/listener.ts';
import { addPerson, type Visitor } from '../../../support/web/visitor.ts';

/** Opens a stream over a socket, as a browser does; it ends with the test. */
async function listenTo(
  t: ExecutionContext,
  { server }: TestServer,
  visitor: Visitor,
  path: string,
): Promise<Listener> {
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const leaver = new AbortController();
  t.teardown(() => leaver.abort());
  const url = `${server.info.uri}${path}`;
  const answer = await fetch(url, { headers: { cookie }, signal: leaver.signal });
  const { status, headers, body } = answer;
  if (status !== 200 || body === null) throw new Error(`${path}: ${status}`);
  t.is(headers.get('content-encoding'), 'gzip');
  const stream = Readable.fromWeb(body as never);
  stream.on('error', () => undefined);
  return new Listener(stream);
}

async function startServer(t: ExecutionContext, { server }: TestServer): Promise<void> {
  await server.start();
  t.teardown(() => server.stop({ timeout: 1_000 }));
}

/** The path of the stream that a page names, with the rows that it shows. */
function streamOf(text: string): string {
  const values = /data-live="([^"]+)"/.exec(text)?.[1];
  if (values !== undefined) return `${values}?`;
  const path = /data-list="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const ids = [...text.matchAll(/name=menu value="([^"]+)"/g)].map(([, id]) => id);
  const marks = [...text.matchAll(/data-row="([^"]+)"/g)].map(([, name = '']) => name);
  const names = marks.map((name, i) => (name.startsWith('.') ? `${ids[i]}${name}` : name));
  return `${path}${path.includes('?') ? '&' : '?'}rows=${names.join(',')}`;
}

/** How long pages are listened to while much changes: a long list may come early. */
const SECONDS = 10;

/** Pages that are live, beside those of one device. */
const LIVE_PAGES = [
  '/dashboard',
  '/devices',
  '/users',
  '/gateways',
  '/flows',
  '/refusals',
  '/user_devices',
];

for (const kind of databaseKinds())
  test(`${kind}: a list hears what changed in the rows that it shows, and of others that there are more`, async (t) => {
    const config = listen(configOf({ API_RATE_LIMIT: '0' }));
    const console = await openConsole(t, kind, {}, { config });
    const { admin, database, plainUser } = console;
    await startServer(t, console);
    const { id } = await addDevice(database, plainUser, { name: 'laptop' });
    await addDevice(database, plainUser, { name: 'phone' });
    const { text } = await admin.get('/devices?sort=name');
    const page = await listenTo(t, console, admin, streamOf(text));
    await sleep(2_500);
    t.deepEqual(page.events('rows'), [], 'the page has all of it');
    t.true(page.text.length < 100, 'bytes of 2.5 seconds in which nothing changes');
    const seen = { latestHandshake: new Date(), remoteIp: '192.0.2.9', remotePort: 7 };
    const report = (rxBytes: number) =>
      recordStatus(database, 'g', [{ deviceId: id, ...seen, rxBytes, txBytes: 0 }]);
    await report(0);
    await page.until(() => page.events('rows').length === 1);
    const cells = page.events('rows')[0]?.['cells'] as [number, number, object][];
    const places = cells.map(([row, column]) => `${row} ${column}`);
    t.deepEqual(places, ['0 0', '0 2', '0 3']);
    await report(50_000);
    await page.until(() => page.events('rows').length === 2);
    t.regex(JSON.stringify(page.events('rows')[1]), /50\.0\u00a0kB, \d+\.\d\u00a0kB\/s/);
    await addDevice(database, plainUser, { name: 'a new one' });
    await page.until(() => page.events('rows').some(({ changes }) => changes === 1));
    t.false(page.text.includes('a new one'), 'no row comes under the reader');
    const users = streamOf((await admin.get('/users?state=enabled')).text);
    const people = await listenTo(t, console, admin, users);
    await writeTransaction(database, (transaction) =>
      plainUser.update({ disabled_at: new Date() }, { transaction }),
    );
    await people.until(() => people.events('rows').some(({ changes }) => changes === 1));
    // The state may have been read before the write, and the order of the rows after it.
    await people.until(() => people.text.includes('"text":"Disabled"'));
  });

for (const kind of firstKind()) {
  test(`${kind}: who may not see a list any more hears nothing more of it`, async (t) => {
    const config = listen(configOf({ API_RATE_LIMIT: '0' }));
    const console = await openConsole(t, kind, {}, { config });
    const { admin, adminUser, user, database, plainUser } = console;
    await startServer(t, console);
    const foreign = await addDevice(database, adminUser, { name: 'of somebody else' });
    await addDevice(database, plainUser, { name: 'laptop' });
    for (const path of ['/devices/live', '/users/live', '/gateways/live'])
      t.is((await user.get(path)).status, 403, path);
    const list = streamOf((await user.get('/user_devices')).text);
    const own = await listenTo(t, console, user, `${list},${foreign.id}.`);
    await own.until(() => own.events('rows').length > 0);
    t.like(own.events('rows'), [{ gone: [1] }], 'a device of another person is none');
    const page = await listenTo(t, console, admin, streamOf((await admin.get('/devices')).text));
    // Written past the rules that end the session with the role: the stream looks for itself.
    await database.sequelize.query("UPDATE users SET role = 'unprivileged' WHERE id = :id", {
      replacements: { id: adminUser.id },
    });
    await page.until(() => page.hasEnded);
    t.true(page.text.endsWith('event: end\ndata: {}\n\n'));
    await database.models.Session.destroy({ where: { user_id: plainUser.id } });
    await own.until(() => own.hasEnded);
  });

  test(`${kind}: ten live pages ask the database as often as one, and hear little where nothing changes`, async (t) => {
    const config = listen(configOf({ API_RATE_LIMIT: '0' }));
    const recent = new RecentTraffic({ deviceIdOf: () => null });
    const idle = { peers: [], rules: [], drops: {}, forgotten: {} };
    const samples = setInterval(() => recent.observe(idle), 1_000);
    t.teardown(() => clearInterval(samples));
    const console = await openConsole(t, kind, {}, { config, recent, live: fakeLive('here') });
    const { admin, database, adminUser } = console;
    await startServer(t, console);
    const { id } = await addDevice(database, adminUser);
    for (let i = 0; i < 4; i += 1) await addDevice(database, adminUser);
    let statements = 0;
    let opened: Listener[] = [];
    /** When each look began: statements so far, and what the first page had heard. */
    let looks: { readonly statements: number; readonly heard: number }[] = [];
    database.sequelize.addHook('beforeQuery', () => void (statements += 1));
    const { Session } = database.models;
    const findAll = Session.findAll.bind(Session);
    t.teardown(() => Object.assign(Session, { findAll }));
    Object.assign(Session, {
      findAll: (...options: Parameters<typeof findAll>) => {
        looks.push({ statements, heard: opened[0]?.text.length ?? 0 });
        return findAll(...options);
      },
    });
    for (const page of [...LIVE_PAGES, `/devices/${id}`, `/user_devices/${id}`]) {
      const path = streamOf((await admin.get(page)).text);
      const asked: number[] = [];
      // A list that has not changed sends nothing further.
      const begun = /dashboard|devices\/./.test(page) ? 'event: status' : 'event: version';
      opened = [];
      for (const pages of [1, 10]) {
        // Half of them search for something else.
        for (let i = opened.length; i < pages; i += 1)
          opened.push(await listenTo(t, console, admin, i % 2 === 0 ? path : `${path}&q=${i}`));
        await opened[0]?.until(() => looks.length > 1 && opened[0]!.text.includes(begun));
        looks = [];
        while (looks.length < 3) await sleep(50);
        const [first, , last] = looks;
        asked.push((last!.statements - first!.statements) / 2);
        const bytes = (last!.heard - first!.heard) / 2;
        t.true(bytes <= 100, `${page}: ${bytes} bytes a second in which nothing changes`);
      }
      for (const { stream } of opened) stream.destroy();
      const [one = 0, ten = 99] = asked;
      t.log(`${page}: ${one} and ${ten} statements for each look`);
      // One statement for each page, beside that about the sessions, would be more.
      t.true(one >= 1 && ten <= one + 1, `${page}: ${one} and ${ten}`);
      await sleep(100);
    }
  });

  test(`${kind}: each live page is sent less than a thousand bytes a second while much changes, and no secret`, async (t) => {
    const config = listen(configOf({ API_RATE_LIMIT: '0' }));
    let second = 0;
    const gateway = newId();
    const flows = Array.from({ length: 30 }, (_, i) => flowOf('key', { sourcePort: 50_000 + i }));
    const busiest = async () =>
      flows.map((flow, i) => ({ ...flow, sentBytes: second * 99_999, rate: second * 1_000 + i }));
    const refusals = async () =>
      [22, 23, 25, 80].map((port) => refusalOf('key', { port, count: second * port + 1 }));
    let id = '';
    const recent = new RecentTraffic({ deviceIdOf: () => id });
    const live = fakeLive(gateway, { busiest, refusals });
    const observed = fakeObserved({
      drops: () => ({ default_drop: second * 7, rule_drop: second }),
    });
    const console = await openConsole(t, kind, {}, { config, recent, live, observed });
    const { admin, adminUser, database } = console;
    await startServer(t, console);
    const [devices, owners] = [[] as string[], [] as string[]];
    for (let i = 0; i < 60; i += 1) {
      const owner = await addPerson(database, `person.${i}@example.com`);
      owners.push(owner.id);
      devices.push((await addDevice(database, i % 3 === 0 ? adminUser : owner)).id);
    }
    id = devices[0] ?? '';
    const carried = { publicKey: 'key', latestHandshakeMs: null, endpoint: null };
    const change = async (): Promise<void> => {
      second += 1;
      const bytes = { rxBytes: second * 98_765, txBytes: second * 12_345 };
      const peers = [{ ...carried, ...bytes, rxInnerBytes: bytes.rxBytes, txInnerBytes: 1 }];
      recent.observe({ peers, rules: [], drops: {}, forgotten: {} });
      const latestHandshake = new Date();
      const seen = { latestHandshake, remoteIp: `192.0.2.${second}`, remotePort: second, ...bytes };
      const reports = devices.map((deviceId) => ({ deviceId, ...seen }));
      await recordStatus(database, gateway, reports);
      const used = { month: monthOf(latestHandshake.getTime()), bytes: 99_999 };
      const usage = owners.map((userId) => ({ userId, ...used }));
      await recordQuotaUsage(database, gateway, usage);
      const seenAt = new Date();
      await recordHeartbeat(database, gateway, { seenAt, appliedRevision: NO_REVISION });
    };
    await registerGateway(database, { id: gateway, name: 'berlin', startedAt: new Date() });
    await change();
    const pages = new Map<string, Listener>();
    for (const page of [...LIVE_PAGES, `/devices/${id}`, `/user_devices/${id}`])
      pages.set(page, await listenTo(t, console, admin, streamOf((await admin.get(page)).text)));
    // The first event has all values and the whole chart.
    await sleep(1_500);
    const heard = new Map([...pages].map(([page, { text }]) => [page, Buffer.byteLength(text)]));
    for (let i = 0; i < SECONDS; i += 1) await Promise.all([change(), sleep(1_000)]);
    for (const [page, { text }] of pages) {
      const rate = Math.round((Buffer.byteLength(text) - (heard.get(page) ?? 0)) / SECONDS);
      t.log(`${page}: ${rate} bytes a second`);
    }
    for (const [page, { text }] of pages) {
      const bytes = Buffer.byteLength(text) - (heard.get(page) ?? 0);
      t.true(bytes > 0 && bytes <= 1_000 * SECONDS, `${page}: ${bytes} bytes in ${SECONDS} s`);
    }
    // They are compressed beside what people choose, which would tell about a secret.
    const [keys, sessions, users] = await Promise.all([
      database.models.Device.findAll(),
      database.models.Session.findAll(),
      database.models.User.findAll(),
    ]);
    const secrets = [
      admin.token,
      ...admin.cookies.values(),
      ...keys.map((one) => one.preshared_key),
      ...sessions.flatMap((one) => [one.id, one.sha256]),
      ...users.map(({ password_hash }) => password_hash),
    ].filter((secret) => typeof secret === 'string');
    t.true(secrets.length > 60);
    for (const [page, { text }] of pages) {
      t.deepEqual(
        secrets.filter((secret) => text.includes(secret)),
        [],
        page,
      );
      t.notRegex(text, /private|preshared|token|secret|password|csrf|cookie/i, page);
    }
  });
}
