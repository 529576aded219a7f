// Which other gateways run, what a write would cut off there, and the words for both.

import test from 'ava';
import {
  cutsOffElsewhere,
  type OtherGateway,
  othersInWords,
  readOthers,
} from '../../../lib/dry-run/other-gateways.ts';
import { registerGateway } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../../support/database/records.ts';
import { peer } from '../../support/dataplane/simulation.ts';

const MINUTE = 60_000;

for (const kind of databaseKinds())
  test(`${kind}: gateways that run, and devices that are cut off there`, async (t) => {
    const database = await openDatabase(t, kind);
    const nowMs = Date.now();
    const user = await addUser(database);
    const idOf = new Map<string, string>();
    for (const [name, gateway_id, agoMs] of [
      ['cut', 'there', MINUTE],
      ['changed', 'there', MINUTE],
      ['silent', 'there', 3 * MINUTE],
      ['own', 'here', MINUTE],
    ] as const) {
      const { id } = await addDevice(database, user.id, { name });
      idOf.set(name, id);
      const at = new Date(nowMs - agoMs);
      const seen = { gateway_id, latest_handshake: at, updated: at };
      await database.models.DeviceStatus.create({ device_id: id, ...seen });
    }
    const live = { id: 'here', deviceIdOf: (key: string) => idOf.get(key) ?? null };
    const peers = new Map([
      ['cut', null],
      ['changed', peer({ key: 'changed', ipv4: '10.0.0.2', ipv6: 'fd00::2' })],
      ['silent', null],
      ['own', null],
      ['unknown', null],
    ]);
    await registerGateway(database, { id: 'here', name: 'here', startedAt: new Date(nowMs) });
    t.deepEqual(await readOthers(database, live, { peers }, nowMs), []);
    for (const [id, agoMs] of [
      ['there', 0],
      ['killed', 2 * MINUTE],
    ] as const)
      await registerGateway(database, { id, name: id, startedAt: new Date(nowMs - agoMs) });
    const found = await readOthers(database, live, { peers }, nowMs);
    t.deepEqual(found, [{ id: 'there', name: 'there', cut_off_device_count: 1 }]);
    const [idle] = await readOthers(database, live, { peers: new Map() }, nowMs);
    t.is(idle?.cut_off_device_count, 0);
  });

test('one gateway, several, and many, in words', (t) => {
  const other = (name: string, cut = 0): OtherGateway => ({
    id: name,
    name,
    cut_off_device_count: cut,
  });
  t.is(othersInWords([]), null);
  t.is(
    othersInWords([other('berlin')]),
    'Only flows at this gateway are counted. berlin runs too: ask it what ends there.',
  );
  t.is(
    othersInWords([other('berlin', 1), other('paris', 2)]),
    'Only flows at this gateway are counted. berlin, paris run too: ask each of them what ends there. It cuts off 1 device that is connected to berlin. It cuts off 2 devices that are connected to paris.',
  );
  const many = othersInWords(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => other(name)));
  t.regex(String(many), / a, b, c, d, e and 2 more run too: /);
  t.false(cutsOffElsewhere([other('berlin')]));
  t.true(cutsOffElsewhere([other('berlin'), other('paris', 1)]));
});
