// Reading what changed: the same as reading everything, and what did not change is the same object.

import test from 'ava';
import { readAll, readSince } from '../../../lib/reconcile/read.ts';
import { pruneChanges, removeUser, writeTransaction } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/databases.ts';
import { addDevice, addRule, addUser } from '../../support/records.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: reading what changed equals reading everything`, async (t) => {
    const database = await openDatabase(t, kind);
    const alice = await addUser(database);
    const bob = await addUser(database);
    await addDevice(database, alice.id);
    const kept = await addDevice(database, bob.id);
    const before = await readAll(database);
    await addDevice(database, bob.id);
    await addRule(database, { destination: '10.0.0.0/8' });
    await writeTransaction(database, (tx) => removeUser(database, alice.id, tx));
    const after = await readSince(database, before);
    t.deepEqual(after, await readAll(database));
    t.is(after.devices.size, 2);
    t.is(after.devices.get(kept.id), before.devices.get(kept.id));
  });

  test(`${kind}: nothing changed is the same object`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database);
    const before = await readAll(database);
    t.is(await readSince(database, before), before);
  });

  test(`${kind}: changes that are not known any more mean a full read`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = await readAll(database);
    const { id } = await addUser(database);
    for (let i = 0; i < 3; i++) await addUser(database);
    await pruneChanges(database, 1);
    const after = await readSince(database, before);
    t.is(after.users.size, 4);
    t.true(after.users.has(id));
  });

  test(`${kind}: changed settings of the configuration are read`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = await readAll(database);
    t.like(before, { vpnSessionDuration: 0, defaultClientMtu: null });
    await writeTransaction(database, (transaction) =>
      database.models.Configuration.create(
        { vpn_session_duration: 60, default_client_mtu: 1_280 },
        { transaction },
      ),
    );
    const after = await readSince(database, before);
    t.like(after, { vpnSessionDuration: 60, defaultClientMtu: 1_280 });
    await addUser(database);
    t.like(await readSince(database, after), { vpnSessionDuration: 60, defaultClientMtu: 1_280 });
  });
}
