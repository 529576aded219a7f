// What client files were made with: noted beside the device, and no change of it.

import test from 'ava';
import { newId, noteClientFile, readAuditEntries, readClientFiles } from '../../../models/index.ts';
import { currentRevision } from '../../../models/database/revision.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../fixtures.ts';

const SHA256 = 'ab'.repeat(32);

for (const kind of databaseKinds()) {
  test(`${kind}: what is noted is read, of the devices that are asked for alone`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const first = await addDevice(database, ann);
    const second = await addDevice(database, ann);
    const other = await addDevice(database, bob);
    const ids = [first.id, second.id];
    t.is((await readClientFiles(database, ids)).size, 0);
    await noteClientFile(database, first.id, SHA256);
    await noteClientFile(database, other.id, 'cd'.repeat(32));
    await noteClientFile(database, newId(), SHA256);
    t.deepEqual([...(await readClientFiles(database, ids))], [[first.id, SHA256]]);
    t.is((await readClientFiles(database, [])).size, 0);
  });

  test(`${kind}: noting moves neither the device nor the revision`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, await addUser(database));
    const before = device.updated_at.getTime();
    const revision = await currentRevision(database);
    const entries = (await readAuditEntries(database, { limit: 100 })).length;
    await noteClientFile(database, device.id, SHA256);
    t.is((await device.reload()).updated_at.getTime(), before);
    t.is(await currentRevision(database), revision);
    t.is((await readAuditEntries(database, { limit: 100 })).length, entries);
  });
}
