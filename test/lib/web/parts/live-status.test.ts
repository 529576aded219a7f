// Live values: one look at the database for all who look, and an end with the session, the device
// and the server.

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import type { LiveList } from '../../../../lib/web/parts/live-list.ts';
import type { Viewer } from '../../../../lib/auth/sessions.ts';
import { LiveStatus } from '../../../../lib/web/parts/live-status.ts';
import {
  type Database,
  newId,
  recordStatus,
  registerGateway,
  removeDevices,
  writeTransaction,
} from '../../../../models/index.ts';
import { RecentTraffic } from '../../../../lib/observe/history/recent-traffic.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { fakeLive } from '../../../support/observe/fake-gateway.ts';
import { openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { Listener } from '../../../support/web/listener.ts';
import { addOwn, visit } from '../../../support/web/portal.ts';
import { addPerson, Visitor } from '../../../support/web/visitor.ts';
import { configOf, listen, openServer } from '../../../support/api/server.ts';

const ANN = 'ann@example.com';
const VERSION = 'of-a-test';

/** Who looks with a session. */
function viewerOf({ id, user_id }: { id: string; user_id: string }): Viewer {
  return { sessionId: id, userId: user_id, isAdministrator: false };
}

/** Makes a user an administrator, past the rules that end the session with the role. */
async function promote({ sequelize }: Database, id: string): Promise<void> {
  await sequelize.query("UPDATE users SET role = 'admin' WHERE id = :id", { replacements: { id } });
}

for (const kind of firstKind()) {
  test(`${kind}: a page hears each second what the gateways saw`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const { id } = await addOwn(server, ann);
    const session = await server.database.models.Session.findOne({ rejectOnEmpty: true });
    const live = new LiveStatus(server.services, new Recall(server.database), VERSION);
    t.teardown(() => live.close());
    const page = new Listener(live.follow(id, viewerOf(session)));
    await page.until(() => page.statuses.length === 1);
    t.like(page.statuses[0], { state: 'Never seen', remote: 'unknown', rxBytes: 0 });
    const report = { deviceId: id, latestHandshake: new Date(), remoteIp: '192.0.2.9' };
    const counts = { remotePort: 7, rxBytes: 5_000, txBytes: 3 };
    await recordStatus(server.database, newId(), [{ ...report, ...counts }]);
    await page.until(() => page.statuses.length === 2);
    t.like(page.statuses[1], { state: 'Online', remote: '192.0.2.9:7', uploaded: '5.0\u00a0kB' });
    const heard = page.text.length;
    await sleep(2_500);
    t.is(page.text.length, heard, 'nothing is sent of what the page has');
    await recordStatus(server.database, newId(), [{ ...report, ...counts, rxBytes: 6_000 }]);
    await page.until(() => page.statuses.length === 3);
    t.deepEqual(page.statuses[2], {
      downloaded: '6\u00a0B',
      uploaded: '11.0\u00a0kB',
      rxBytes: 11_000,
      txBytes: 6,
    });
  });

  test(`${kind}: the first event has the whole chart, each later one what is new`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const { id, public_key: key } = await addOwn(server, ann);
    const session = await server.database.models.Session.findOne({ rejectOnEmpty: true });
    await promote(server.database, session.user_id);
    let wallMs = Date.UTC(2026, 10, 30, 2);
    const from = wallMs / 1_000;
    const recent = new RecentTraffic({ deviceIdOf: () => id, wallMs: () => wallMs });
    const carried = { publicKey: key, latestHandshakeMs: null, endpoint: null };
    const observe = (rxBytes: number): void => {
      wallMs += 1_000;
      const bytes = { rxBytes, txBytes: 9, rxInnerBytes: 1, txInnerBytes: 1 };
      recent.observe({ peers: [{ ...carried, ...bytes }], rules: [], drops: {}, forgotten: {} });
    };
    for (let i = 0; i < 3; i += 1) observe(1_000);
    const live = new LiveStatus(
      { ...server.services, recent },
      new Recall(server.database),
      VERSION,
    );
    t.teardown(() => live.close());
    const [all, one] = [null, id].map((of) => new Listener(live.follow(of, viewerOf(session))));
    if (all === undefined || one === undefined) throw new Error('two pages');
    const chartOf = ({ statuses }: Listener): unknown => statuses.at(-1)?.['chart'];
    await all.until(() => all.statuses.length === 1 && one.statuses.length === 1);
    const three = { down: [9, 9, 9], up: [1_000, 1_000, 1_000] };
    t.deepEqual(chartOf(all), { from, step: 1, ...three });
    t.deepEqual(chartOf(one), { from, step: 5, down: [9], up: [1_000] });
    observe(5_000);
    await all.until(() => all.statuses.length === 2 && one.statuses.length === 2);
    t.deepEqual(chartOf(all), { from: from + 2, step: 1, down: [9, 9], up: [1_000, 5_000] });
    t.deepEqual(chartOf(one), { from, step: 5, down: [9], up: [2_000] });
    const late = new Listener(live.follow(null, viewerOf(session)));
    await late.until(() => late.statuses.length === 1);
    t.like(chartOf(late), { from, up: [1_000, 1_000, 1_000, 5_000] }, 'it has none yet');
  });

  test(`${kind}: pages say where the chart is of one gateway among several`, async (t) => {
    const live = fakeLive('here');
    const console = await openConsole(t, kind, {}, { live });
    const { admin, user, database, plainUser } = console;
    const { id } = await addDevice(database, plainUser);
    const pages = [
      [admin, '/dashboard'],
      [admin, `/devices/${id}`],
      [user, `/user_devices/${id}`],
    ] as const;
    await registerGateway(database, { id: 'here', name: 'berlin', startedAt: new Date() });
    for (const [visitor, path] of pages) {
      const { text } = await visitor.get(path);
      t.true(text.includes('>No traffic in the last five minutes.<'), path);
      t.false(text.includes('this gateway carries'), path);
    }
    await registerGateway(database, { id: 'there', name: 'paris', startedAt: new Date() });
    for (const [visitor, path] of pages) {
      const { text } = await visitor.get(path);
      t.true(text.includes('>No traffic at this gateway in the last five minutes.<'), path);
      t.true(text.includes('The chart shows what this gateway carries.'), path);
    }
  });

  test(`${kind}: a dashboard hears of all devices, until its session ends`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    await addOwn(server, ann);
    const { Session } = server.database.models;
    const session = await Session.findOne({ rejectOnEmpty: true });
    await promote(server.database, session.user_id);
    const live = new LiveStatus(server.services, new Recall(server.database), VERSION);
    t.teardown(() => live.close());
    const page = new Listener(live.follow(null, viewerOf(session)));
    await page.until(() => page.statuses.length === 1);
    t.like(page.status, { devices: '1', online: '0', drops: [], problems: [] });
    await addOwn(server, ann);
    await page.until(() => page.statuses.length === 2);
    t.deepEqual(page.statuses[1], { devices: '2' });
    t.like(await live.fleet(), { devices: '2' });
    await Session.destroy({ where: {} });
    await page.until(() => page.hasEnded);
    t.true(page.text.includes('event: end'));
  });

  test(`${kind}: a stream ends with its session, and with its device`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const ann = await visit(server, ANN);
    const [first, second] = [await addOwn(server, ann), await addOwn(server, ann)];
    const session = await database.models.Session.findOne({ rejectOnEmpty: true });
    const live = new LiveStatus(server.services, new Recall(server.database), VERSION);
    t.teardown(() => live.close());
    const [a, b] = [first, second].map(
      ({ id }) => new Listener(live.follow(id, viewerOf(session))),
    );
    if (a === undefined || b === undefined) throw new Error('two pages');
    await a.until(() => a.statuses.length > 0 && b.statuses.length > 0);
    await writeTransaction(database, (transaction) =>
      removeDevices(database, [first.id], transaction),
    );
    await a.until(() => a.hasEnded);
    t.true(a.text.endsWith('event: end\ndata: {}\n\n'));
    t.false(b.hasEnded);
    await session.update({ seen_at: new Date(Date.now() - 9 * 3_600_000) });
    await b.until(() => b.hasEnded);
    t.true(b.text.endsWith('event: end\ndata: {}\n\n'), 'nobody was there for eight hours');
    t.is(live.lookers, 0);
  });

  test(`${kind}: a stream ends with the right to see it`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const { id } = await addOwn(server, await visit(server, ANN));
    const boss = await addPerson(database, 'boss@example.com', { role: 'admin' });
    const visitor = new Visitor(server);
    t.is((await visitor.signIn(boss.email)).status, 303);
    const sessions = await database.models.Session.findAll();
    const [owners, admins] = [false, true].map((isAdmin) =>
      sessions.find(({ user_id }) => (user_id === boss.id) === isAdmin),
    );
    if (owners === undefined || admins === undefined) throw new Error('two sessions');
    const live = new LiveStatus(server.services, new Recall(database), VERSION);
    t.teardown(() => live.close());
    const [own, foreign, fleet] = [
      new Listener(live.follow(id, viewerOf(owners))),
      new Listener(live.follow(id, viewerOf(admins))),
      new Listener(live.follow(null, viewerOf(admins))),
    ];
    await fleet.until(() => [own, foreign, fleet].every(({ statuses }) => statuses.length > 0));
    await writeTransaction(database, (transaction) =>
      database.models.Device.update({ user_id: boss.id }, { where: { id }, transaction }),
    );
    await own.until(() => own.hasEnded);
    t.true(own.text.endsWith('event: end\ndata: {}\n\n'), 'the device is of somebody else');
    t.false(foreign.hasEnded);
    await writeTransaction(database, (transaction) =>
      database.models.Device.update({ user_id: owners.user_id }, { where: { id }, transaction }),
    );
    // Written past the rules that end the session with the role: the streams look for themselves.
    await database.sequelize.query("UPDATE users SET role = 'unprivileged' WHERE id = :id", {
      replacements: { id: boss.id },
    });
    await fleet.until(() => foreign.hasEnded && fleet.hasEnded);
    t.is(live.lookers, 0);
  });

  test(`${kind}: the route answers its person, until they sign out`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const { id } = await addOwn(server, ann);
    const asked = ann.get(`/user_devices/${id}/live`);
    await sleep(300);
    const { csrf, session } = { csrf: ann.token, session: new Map(ann.cookies) };
    await ann.send('POST', '/sign_out', { csrf_token: csrf });
    const { status, headers, text } = await asked;
    t.is(status, 200);
    t.is(headers['content-type'], 'text/event-stream; charset=utf-8');
    t.is(headers['cache-control'], 'no-store');
    t.is(headers['content-encoding'], undefined, 'it asks for none');
    t.is(headers['vary'], 'accept-encoding');
    t.regex(text, /^event: version\ndata: [\w-]{16}\n\nevent: status\ndata: \{.*\}\n\n/);
    t.true(text.endsWith('event: end\ndata: {}\n\n'));
    for (const [name, value] of session) ann.cookies.set(name, value);
    t.is((await ann.get(`/user_devices/${id}/live`)).status, 302);
  });
}

test('however many look, the database is asked once a second, and by nobody not at all', async (t) => {
  const server = await openServer(t, 'sqlite');
  const ann = await visit(server, ANN);
  const { id } = await addOwn(server, ann);
  const { Device, Session } = server.database.models;
  const session = await Session.findOne({ rejectOnEmpty: true });
  let looks = 0;
  const findAll = Device.findAll.bind(Device);
  t.teardown(() => Object.assign(Device, { findAll }));
  Object.assign(Device, {
    findAll: (...options: Parameters<typeof findAll>) => {
      looks += 1;
      return findAll(...options);
    },
  });
  const live = new LiveStatus(server.services, new Recall(server.database), VERSION);
  t.teardown(() => live.close());
  const pages = Array.from({ length: 24 }, () => new Listener(live.follow(id, viewerOf(session))));
  const elsewhere = { ...viewerOf(session), sessionId: newId() };
  t.throws(() => live.follow(id, elsewhere), { message: 'too many live pages' }, 'of one user');
  await pages[23]?.until(() => looks === 3);
  t.true(pages.every(({ statuses }) => statuses.length === 1));
  for (const { stream } of pages) stream.destroy();
  await sleep(1_500);
  t.is(live.lookers, 0);
  t.true(looks <= 4, `${looks} looks`);
});

test('users leave some of the streams for administrators, and nobody takes all of them', async (t) => {
  const server = await openServer(t, 'sqlite');
  const live = new LiveStatus(server.services, new Recall(server.database), VERSION);
  t.teardown(() => live.close());
  const open = (person: number, isAdministrator: boolean): boolean => {
    try {
      live.follow(null, { sessionId: newId(), userId: `${person}`, isAdministrator });
      return true;
    } catch {
      return false;
    }
  };
  const opened = (people: number, isAdministrator: boolean): number =>
    Array.from({ length: 25 * people }, (_, i) => open(Math.floor(i / 25), isAdministrator)).filter(
      Boolean,
    ).length;
  t.is(opened(1, false), 24);
  t.is(opened(100, false), 800 - 24);
  t.false(open(100, false));
  t.is(opened(100, true), 200);
  t.false(open(100, true));
});

test('a database that is away ends nothing, and a reader that does not read is cut off', async (t) => {
  const server = await openServer(t, 'sqlite');
  const ann = await visit(server, ANN);
  const { id } = await addOwn(server, ann);
  const { Device, Session } = server.database.models;
  const session = await Session.findOne({ rejectOnEmpty: true });
  const live = new LiveStatus(server.services, new Recall(server.database), VERSION);
  t.teardown(() => live.close());
  const findAll = Device.findAll.bind(Device);
  Object.assign(Device, { findAll: () => Promise.reject(new Error('away')) });
  const page = new Listener(live.follow(id, viewerOf(session)));
  await page.until(() => page.text.includes(': the database is out of reach\n\n'));
  Object.assign(Device, { findAll });
  await page.until(() => page.statuses.length > 0);
  t.true(server.log.some(({ message }) => message === 'live values could not be read'));

  const idle = live.follow(id, viewerOf(session));
  idle.push('x'.repeat(70_000));
  await once(idle, 'close');
  t.is(live.lookers, 1);
});

test('a list that cannot be read stops no other list', async (t) => {
  const server = await openServer(t, 'sqlite');
  await addOwn(server, await visit(server, ANN));
  const session = await server.database.models.Session.findOne({ rejectOnEmpty: true });
  const live = new LiveStatus(server.services, new Recall(server.database), VERSION);
  t.teardown(() => live.close());
  const listOf = (read: LiveList['read']): LiveList => ({ isForAdministrators: false, read });
  const page = { query: {}, rows: new Map([['a', '']]), userId: session.user_id };
  const rows = new Map([['a', [{ text: 'x' }]]]);
  const lists = [
    listOf(async () => {
      throw new Error('no data plane');
    }),
    listOf(async (pages) => new Map(pages.map((one) => [one, { rows }]))),
  ];
  const [broken, other] = lists.map(
    (list) => new Listener(live.followList(list, page, viewerOf(session))),
  );
  await other?.until(() => other.events('rows').length === 1);
  t.deepEqual(other?.events('rows'), [{ cells: [[0, 0, { text: 'x' }]] }]);
  t.false(other?.text.includes('could not be read'));
  t.true(broken?.text.includes(': this list could not be read\n\n'));
  t.true(server.log.some(({ message }) => message === 'a live list could not be read'));
});

test('a server that stops ends its streams at once, and a browser that leaves its own', async (t) => {
  const config = listen(configOf({ API_RATE_LIMIT: '0' }));
  const server = await openServer(t, 'sqlite', {}, { config });
  const ann = await visit(server, ANN);
  const { id } = await addOwn(server, ann);
  await server.server.start();
  const url = `${server.server.info.uri}/user_devices/${id}/live`;
  const cookie = [...ann.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const { Device } = server.database.models;
  const findAll = Device.findAll.bind(Device);
  let looks = 0;
  Object.assign(Device, {
    findAll: (...options: Parameters<typeof findAll>) => {
      looks += 1;
      return findAll(...options);
    },
  });
  const leaver = new AbortController();
  const left = await fetch(url, { headers: { cookie }, signal: leaver.signal });
  t.is(left.status, 200);
  await sleep(100);
  leaver.abort();
  await sleep(1_200);
  looks = 0;
  await sleep(1_200);
  t.is(looks, 0, 'nobody is there any more');
  const stayed = await fetch(url, { headers: { cookie } });
  await sleep(100);
  const begun = performance.now();
  const [text] = await Promise.all([stayed.text(), server.server.stop({ timeout: 5_000 })]);
  const elapsed = performance.now() - begun;
  t.true(elapsed < 1_000, `${elapsed} ms`);
  t.true(text.includes('event: status'));
  t.false(text.includes('event: end'), 'the browser asks again once a gateway is there');
});
