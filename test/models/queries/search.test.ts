// Searching records, on every database: in any case, as text and never as a pattern, page by page.

import test from 'ava';
import {
  countDevices,
  countFound,
  hasSeveralUsers,
  type Device,
  monthOf,
  newId,
  readFleetStatus,
  readLatestHandshakes,
  recordQuotaUsage,
  recordStatus,
  searchEveryId,
  searchIds,
  writeTransaction,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser, write } from '../fixtures.ts';

const ALL = { text: '', offset: 0, limit: 50 };

/** Sessions that do not end; a handshake of this moment is online. */
const service = (onlineSince: Date) => ({
  now: new Date(),
  onlineSince,
  sessionsSince: null,
  requireSignIn: false,
});

for (const kind of databaseKinds()) {
  test(`${kind}: users are found by a part of their e-mail, and shown by it`, async (t) => {
    const database = await openDatabase(t, kind);
    const zoe = await addUser(database, { email: 'Zoë_K@example.com' });
    const adam = await addUser(database, { email: 'adam%x@example.com', role: 'admin' });
    const find = (text: string) => searchIds(database, 'users', { ...ALL, text });
    t.deepEqual(await find(''), [adam.id, zoe.id]);
    t.deepEqual(await find('ZOË'), [zoe.id]);
    t.deepEqual(await find('Zoë'), [zoe.id]);
    t.deepEqual(await find('zo'), [zoe.id]);
    t.deepEqual(await find('%'), [adam.id]);
    t.deepEqual(await find('_'), [zoe.id]);
    t.deepEqual(await find("' OR 1=1 --"), []);
    t.deepEqual(await find('\\'), []);
    t.deepEqual(await searchIds(database, 'users', { ...ALL, offset: 1, limit: 1 }), [zoe.id]);
  });

  test(`${kind}: devices whose file is old are those that the search is given`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const devices = await Promise.all(
      ['one', 'two', 'three'].map((name) => addDevice(database, user, { name })),
    );
    const [one, two] = devices.map(({ id }) => id) as [string, string];
    const find = (oldFiles: readonly string[], wish: object = {}) =>
      searchIds(database, 'devices', {
        ...ALL,
        state: 'old_file',
        order: 'name',
        oldFiles,
        ...wish,
      });
    t.deepEqual(await find([]), []);
    t.deepEqual(await find([two, one, newId()]), [one, two]);
    t.deepEqual(await find([two, one], { text: 'tw' }), [two]);
    t.deepEqual(await find([two, one], { ids: [one] }), [one]);
    const wish = { text: '', state: 'old_file', oldFiles: [one] };
    t.is(await countFound(database, 'devices', wish), 1);
    t.deepEqual(await searchEveryId(database, 'devices', wish, 9), [one]);
    t.is(await countFound(database, 'devices', { text: '', state: 'old_file' }), 0);
  });

  test(`${kind}: by name no key is found; a device is quiet without a handshake for 90 days`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const [quiet, seen, fresh] = await Promise.all(
      ['quiet', 'seen', 'fresh'].map((name) => addDevice(database, user, { name })),
    );
    const at = (device: Device | undefined, days: number) => ({
      deviceId: device!.id,
      latestHandshake: new Date(Date.now() - days * 86_400_000),
      remoteIp: null,
      remotePort: null,
      rxBytes: 0,
      txBytes: 0,
    });
    await recordStatus(database, 'g', [at(quiet, 91), at(seen, 89)]);
    const find = (wish: object) => searchIds(database, 'devices', { ...ALL, ...wish });
    const state = { state: 'quiet', service: service(new Date()) };
    t.deepEqual(await find(state), [quiet!.id], 'neither the one seen nor the new one');
    t.deepEqual(await find({ ...state, quietMs: 92 * 86_400_000 }), []);
    const longer = await find({ ...state, quietMs: 88 * 86_400_000 });
    t.deepEqual(longer.toSorted(), [quiet!.id, seen!.id].toSorted());
    const text = fresh!.public_key.slice(0, 20);
    t.deepEqual(await find({ text }), [fresh!.id]);
    t.deepEqual(await find({ text, byName: true }), []);
    t.deepEqual(await find({ text: 'FRESH', byName: true }), [fresh!.id]);
  });

  test(`${kind}: every id is found once, of those that match, while others come and go`, async (t) => {
    const database = await openDatabase(t, kind);
    const users = await Promise.all(
      Array.from({ length: 5 }, (_, i) => addUser(database, { email: `u${i}@x.test` })),
    );
    const ids = users.map(({ id }) => id).toSorted();
    const every = (wish: object, limit = 10) =>
      searchEveryId(database, 'users', { text: '', ...wish }, limit);
    t.deepEqual(await every({}), ids);
    t.deepEqual(await every({}, 3), ids.slice(0, 3));
    t.deepEqual(await every({ text: 'u3@' }), [users[3]?.id]);
    t.deepEqual(await every({ ids: ids.slice(1, 3) }), ids.slice(1, 3));
    t.deepEqual(await every({ ids: [] }), []);
    t.deepEqual(await every({ ids, state: 'disabled' }), []);
  });

  test(`${kind}: API tokens are found by how they stand, and sorted`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const day = 86_400_000;
    const add = (name: string, expires_at: Date | null, last_used_at: Date | null) =>
      writeTransaction(database, (transaction) =>
        database.models.ApiToken.create(
          { user_id: user.id, name, sha256: name.repeat(64), expires_at, last_used_at },
          { transaction },
        ),
      );
    const now = Date.now();
    await add('a', new Date(now + day), new Date(now));
    await add('b', new Date(now - day), null);
    await add('c', null, new Date(now - day));
    const find = async (wish: object) => {
      const ids = await searchIds(database, 'api_tokens', { ...ALL, ...wish });
      const rows = await database.models.ApiToken.findAll();
      return ids.map((id) => rows.find((row) => row.id === id)?.name).join('');
    };
    t.is(await find({ state: 'live', order: 'name' }), 'ac');
    t.is(await find({ state: 'over' }), 'b');
    t.is(await find({ state: 'never_used' }), 'b');
    t.is(await find({ order: 'until' }), 'cba');
    t.is(await find({ order: 'used', isDescending: true }), 'acb');
    t.is((await find({ order: 'owner' })).length, 3);
  });

  test(`${kind}: devices and rules are found by what is theirs and by their owner`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database, { email: 'bob@b.test' })];
    const first = await addDevice(database, ann, { name: 'Laptop', ipv4: '100.64.0.2' });
    const second = await addDevice(database, bob);
    const find = (text: string, userId?: string) =>
      searchIds(database, 'devices', { ...ALL, text, ...(userId && { userId }) });
    t.deepEqual(await find(''), [second.id, first.id]);
    t.deepEqual(await find('', ann.id), [first.id]);
    t.deepEqual(await find('lapTOP'), [first.id]);
    t.deepEqual(await find('lapTOP', bob.id), []);
    t.deepEqual(await find('BOB@'), [second.id]);
    t.deepEqual(await find('64.0.2'), [first.id]);
    const rule = await addRule(database, { destination: '10.0.0.0/8', user_id: bob.id });
    const everyones = await addRule(database, { destination: 'fd00::/8' });
    const rules = (text: string) => searchIds(database, 'rules', { ...ALL, text });
    t.deepEqual(await rules(''), [rule.id, everyones.id]);
    t.deepEqual(await rules('bob'), [rule.id]);
    t.deepEqual(await rules('FD00'), [everyones.id]);
    const group = await write(database, (transaction) =>
      database.models.Group.create({ name: 'Engineering' }, { transaction }),
    );
    const team = await addRule(database, { destination: '9.0.0.0/8', group_id: group.id });
    t.deepEqual(await rules('engineer'), [team.id]);
    t.is(await countFound(database, 'rules', { text: 'engineer' }), 1);
    // As they are asked: of the owner, of groups, of everyone; with ports first; accept first.
    const open = await addRule(database, { destination: '8.0.0.0/8', action: 'accept' });
    const ports = { port_type: 'tcp', port_start: 1, port_end: 1 } as const;
    const port = await addRule(database, { destination: '8.0.0.0/8', ...ports });
    const asked = [rule, team, port, open, everyones].map(({ id }) => id);
    t.deepEqual(await rules(''), asked);
    t.deepEqual(await searchIds(database, 'api_tokens', ALL), []);
    t.deepEqual([...(await countDevices(database, [ann.id, 'x']))], [[ann.id, 1]]);
    t.is((await countDevices(database, [])).size, 0);
    t.true(await hasSeveralUsers(database));
  });

  test(`${kind}: the fleet is summed up, and its latest handshakes found`, async (t) => {
    const database = await openDatabase(t, kind);
    t.deepEqual(await readFleetStatus(database, service(new Date())), {
      devices: 0,
      online: 0,
      rxBytes: 0,
      txBytes: 0,
    });
    t.false(await hasSeveralUsers(database));
    const user = await addUser(database);
    t.false(await hasSeveralUsers(database));
    const devices = [await addDevice(database, user), await addDevice(database, user)];
    await addDevice(database, user);
    const [late, early] = devices.map(({ id }) => id);
    const report = (deviceId = '', time: string) => ({
      deviceId,
      latestHandshake: new Date(time),
      remoteIp: null,
      remotePort: null,
      rxBytes: 10,
      txBytes: 5_000_000_000,
    });
    await recordStatus(database, 'g', [
      report(late, '2026-11-21T08:00:00Z'),
      report(early, '2026-11-21T07:00:00Z'),
    ]);
    t.deepEqual(await readFleetStatus(database, service(new Date('2026-11-21T07:30:00Z'))), {
      devices: 3,
      online: 1,
      rxBytes: 20,
      txBytes: 10_000_000_000,
    });
    t.deepEqual(await readLatestHandshakes(database, 5), [late, early]);
    t.deepEqual(await readLatestHandshakes(database, 1), [late]);
  });

  test(`${kind}: devices are found by their state, counted and ordered`, async (t) => {
    const database = await openDatabase(t, kind);
    const now = new Date('2026-11-21T08:00:00Z');
    const ago = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
    const ann = await addUser(database, { email: 'ann@a.test', last_signed_in_at: ago(10) });
    const bob = await addUser(database, { email: 'bob@b.test', last_signed_in_at: ago(90) });
    // They signed in while the clock of a gateway was far ahead.
    const fay = await addUser(database, { email: 'fay@f.test', last_signed_in_at: ago(-1e6) });
    const cid = await addUser(database, { email: 'cid@c.test' });
    const eve = await addUser(database, { email: 'eve@e.test', disabled_at: ago(1) });
    const make = async (name: string, owner = ann, values: object = {}) =>
      (await addDevice(database, owner, { name, ...values })).id;
    const ids: Record<string, string> = {
      online: await make('b-online'),
      offline: await make('a-offline'),
      never: await make('c-never', cid),
      off: await make('off', ann, { disabled_at: ago(5), expires_at: ago(5) }),
      ended: await make('ended', eve, { expires_at: now }),
      session: await make('session', bob),
      ahead: await make('d-ahead'),
      future: await make('e-future', fay),
      owner: await make('owner', eve),
    };
    const seen = (deviceId = '', minutes = 0) => ({
      deviceId,
      latestHandshake: ago(minutes),
      remoteIp: null,
      remotePort: null,
      rxBytes: 10 * minutes,
      txBytes: 0,
    });
    const { online, offline, never, off, ended, session, owner, ahead, future } = ids;
    await recordStatus(database, 'g', [
      seen(online, 1),
      seen(offline, 9),
      seen(session, 1),
      seen(ahead, -1e6),
    ]);
    const rules = { now, onlineSince: ago(3), sessionsSince: ago(60), requireSignIn: false };
    const find = async (state: string, further: object = {}) => {
      const wish = { ...ALL, state, service: { ...rules, ...further } };
      const found = await searchIds(database, 'devices', wish);
      t.is(await countFound(database, 'devices', wish), found.length, state);
      return found;
    };
    t.deepEqual(await find('online'), [online]);
    t.deepEqual(await find('offline'), [ahead, offline]);
    t.deepEqual(await find('never_seen'), [never]);
    t.deepEqual(await find('off'), [off]);
    t.deepEqual(await find('ended'), [ended]);
    t.deepEqual(await find('session_ended'), [future, session]);
    t.deepEqual(await find('owner_disabled'), [owner]);
    t.deepEqual(await find('session_ended', { requireSignIn: true }), [future, session, never]);
    t.deepEqual(await find('session_ended', { sessionsSince: null }), []);
    t.is((await find('nonsense')).length, 9);
    t.is((await readFleetStatus(database, rules)).online, 1, 'an ended session is not online');
    const order = (by: string, isDescending = false, limit = 3) =>
      searchIds(database, 'devices', { ...ALL, limit, order: by, isDescending });
    t.deepEqual(await order('name'), [offline, online, never]);
    const latest = [session, online, offline].toSorted(byLatest);
    t.deepEqual(await order('handshake', true, 4), [ahead, ...latest]);
    t.deepEqual(await order('traffic', true, 1), [offline]);
    t.is((await order('owner', true))[0], future);
    t.deepEqual((await order('owner', true)).slice(1), [owner, ended]);
    t.is((await order('; DROP TABLE devices', false, 50)).length, 9);

    /** Two share their handshake: the later id comes first. */
    function byLatest(left = '', right = ''): number {
      if (left === offline || right === offline) return left === offline ? 1 : -1;
      return left < right ? 1 : -1;
    }
  });

  test(`${kind}: users are found who did not use their one-time link`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob, carol] = [
      await addUser(database, { email: 'ann@a.test' }),
      await addUser(database, { email: 'bob@b.test' }),
      await addUser(database, { email: 'carol@c.test' }),
    ];
    const now = new Date();
    const expires_at = new Date(now.getTime() - 1);
    for (const [i, link] of [
      { user_id: ann.id, purpose: 'enrolment', used_at: now } as const,
      { user_id: ann.id, purpose: 'password_reset' } as const,
      { user_id: bob.id, purpose: 'enrolment', mail_fault: 'The server refuses it.' } as const,
      { user_id: carol.id, purpose: 'enrolment' } as const,
    ].entries())
      await database.models.OneTimeLink.create({
        created_by: null,
        expires_at,
        inserted_at: now,
        sha256: String(i).padStart(64, '0'),
        ...link,
      });
    const users = (state: string) => searchIds(database, 'users', { ...ALL, state });
    t.deepEqual(await users('invited'), [bob.id, carol.id]);
    t.deepEqual(await users('unsent'), [bob.id]);
    t.is(await countFound(database, 'users', { text: 'carol', state: 'invited' }), 1);
    const invitations = (wish: object) => searchIds(database, 'invitations', { ...ALL, ...wish });
    const everyone = await invitations({ order: 'email' });
    t.true(everyone.includes(bob.id) && everyone.includes(carol.id));
    t.deepEqual(await invitations({ state: 'unsent' }), [bob.id]);
    const states = await Promise.all(
      ['open', 'over', 'used'].map((state) => invitations({ state, order: 'email' })),
    );
    t.deepEqual(states.flat().toSorted(), everyone.toSorted(), 'each is in one state');
    t.deepEqual(await invitations({ text: 'carol' }), [carol.id]);
    t.deepEqual(
      (await searchEveryId(database, 'invitations', { text: '' }, 9)).length,
      everyone.length,
    );
  });

  test(`${kind}: users over their quota are found, by their own and by the default`, async (t) => {
    const database = await openDatabase(t, kind);
    const month = monthOf(Date.now());
    const carried = async (email: string, quota: number | null, ...bytes: number[]) => {
      const user = await addUser(database, { email, quota });
      for (const one of bytes)
        await recordQuotaUsage(database, newId(), [{ userId: user.id, month, bytes: one }]);
      const former = { userId: user.id, month: month - 100, bytes: 9_000_000 };
      await recordQuotaUsage(database, newId(), [former]);
      return user.id;
    };
    const ann = await carried('ann@a.test', 2_000_000, 1_500_000, 500_000);
    await carried('bob@b.test', 4_000_000, 3_999_999);
    const carol = await carried('carol@c.test', null, 3_000_000);
    await carried('dave@d.test', null);
    const over = (defaultQuota?: number | null) => {
      const facts = defaultQuota === undefined ? {} : { defaultQuota };
      return searchIds(database, 'users', { ...ALL, ...facts, state: 'over_quota' });
    };
    t.deepEqual(await over(3_000_000), [ann, carol]);
    t.deepEqual(await over(3_000_001), [ann]);
    t.deepEqual(await over(null), [ann]);
    t.deepEqual(await over(), [ann]);
  });

  test(`${kind}: users and rules have states and orders too`, async (t) => {
    const database = await openDatabase(t, kind);
    const ann = await addUser(database, { email: 'ann@a.test', role: 'admin' });
    const bob = await addUser(database, { email: 'bob@b.test', disabled_at: new Date() });
    await addDevice(database, bob);
    const users = (wish: object) => searchIds(database, 'users', { ...ALL, ...wish });
    t.deepEqual(await users({ state: 'enabled' }), [ann.id]);
    t.deepEqual(await users({ state: 'disabled' }), [bob.id]);
    t.deepEqual(await users({ state: 'administrators' }), [ann.id]);
    t.deepEqual(await users({ order: 'devices', isDescending: true }), [bob.id, ann.id]);
    t.deepEqual(await users({ order: 'email', isDescending: true }), [bob.id, ann.id]);
    const own = await addRule(database, {
      destination: '10.0.0.0/8',
      user_id: ann.id,
      action: 'accept',
    });
    const all = await addRule(database, { destination: '9.0.0.0/8', action: 'drop' });
    const rules = (wish: object) => searchIds(database, 'rules', { ...ALL, ...wish });
    t.deepEqual(await rules({ state: 'drop' }), [all.id]);
    t.deepEqual(await rules({ state: 'accept' }), [own.id]);
    t.deepEqual(await rules({ state: 'everyone' }), [all.id]);
    t.deepEqual(await rules({ state: 'one_user', order: 'owner' }), [own.id]);
    const now = Date.now();
    const at = (hours: number): Date => new Date(now + hours * 3_600_000);
    const timed = { destination: '8.0.0.0/8' };
    const over = await addRule(database, { ...timed, ends_at: at(-1) });
    const waiting = await addRule(database, { ...timed, starts_at: at(1), ends_at: at(2) });
    await addRule(database, { ...timed, starts_at: at(-1), ends_at: at(1) });
    t.deepEqual(await rules({ state: 'over' }), [over.id]);
    t.deepEqual(await rules({ state: 'waiting' }), [waiting.id]);
    const staged = await addRule(database, { ...timed, enforced: false });
    t.deepEqual(await rules({ state: 'staged' }), [staged.id]);
    t.is(await countFound(database, 'rules', { text: 'ann@' }), 1);
  });
}
