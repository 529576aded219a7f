// Whether a gateway without a TUN may take sockets by itself: not on a database that an earlier
// version has used, wherever a backup of it is restored.

import test from 'ava';
import {
  type Database,
  migrate,
  readOrCreateConfiguration,
  restoreBackup,
} from '../../../models/index.ts';
import { up } from '../../../models/migrations/0022-egress-by-sockets.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
  type TestDatabaseKind,
} from '../../support/database/databases.ts';
import { backupFile, scratchFolder } from '../../support/database/full-database.ts';
import { KEY, loadReleased } from './released-databases.ts';

const FORMER = ['0001', '0010', '0019', '0020', '0021'];

async function mayTakeSockets(database: Database): Promise<boolean> {
  const { auto_sockets } = await readOrCreateConfiguration(database);
  const kept = await database.models.Configuration.findOne({ rejectOnEmpty: true });
  return auto_sockets && kept.auto_sockets;
}

for (const kind of databaseKinds()) {
  const place = async (t: Parameters<typeof makePlace>[0], of: TestDatabaseKind = kind) => ({
    ...(await makePlace(t, of)),
    encryptionKey: KEY,
  });

  test(`${kind}: a new database may, one of an earlier version may not`, async (t) => {
    t.true(await mayTakeSockets(await openDatabase(t, kind)));
    for (const number of FORMER) {
      const here = await place(t);
      await loadReleased(here.url, number, kind);
      const database = await openAt(t, here);
      await migrate(database);
      t.false(await mayTakeSockets(database), number);
      // A process that was killed behind the step runs it again.
      await up(database);
      t.false(await mayTakeSockets(database), number);
    }
  });

  test(`${kind}: a backup carries it, and one of an earlier version brings none`, async (t) => {
    const made = await openAt(t, await place(t));
    await migrate(made);
    t.true(await mayTakeSockets(made));
    const options = { replace: true, scratch: scratchFolder(t), watchMs: 0 };
    for (const number of FORMER) {
      const here = await place(t);
      await loadReleased(here.url, number, kind);
      const former = await openAt(t, here);
      const target = await openAt(t, await place(t));
      await migrate(target);
      t.true(await mayTakeSockets(target));
      await restoreBackup(target, await backupFile(t, former), options);
      t.false(await mayTakeSockets(target), number);
      await restoreBackup(target, await backupFile(t, made), options);
      t.true(await mayTakeSockets(target));
    }
  });
}
