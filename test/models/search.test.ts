// Searching records, on every database: in any case, as text and never as a pattern, page by page.

import test from 'ava';
import {
  countDevices,
  readFleetStatus,
  readLatestHandshakes,
  recordStatus,
  searchIds,
} from '../../models/index.ts';
import { databaseKinds, openDatabase } from '../support/databases.ts';
import { addDevice, addRule, addUser } from './fixtures.ts';

const ALL = { text: '', offset: 0, limit: 50 };

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
    t.deepEqual(await searchIds(database, 'api_tokens', ALL), []);
    t.deepEqual([...(await countDevices(database, [ann.id, 'x']))], [[ann.id, 1]]);
    t.is((await countDevices(database, [])).size, 0);
  });

  test(`${kind}: the fleet is summed up, and its latest handshakes found`, async (t) => {
    const database = await openDatabase(t, kind);
    t.deepEqual(await readFleetStatus(database, new Date()), {
      devices: 0,
      online: 0,
      rxBytes: 0,
      txBytes: 0,
    });
    const user = await addUser(database);
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
    t.deepEqual(await readFleetStatus(database, new Date('2026-11-21T07:30:00Z')), {
      devices: 3,
      online: 1,
      rxBytes: 20,
      txBytes: 10_000_000_000,
    });
    t.deepEqual(await readLatestHandshakes(database, 5), [late, early]);
    t.deepEqual(await readLatestHandshakes(database, 1), [late]);
  });
}
