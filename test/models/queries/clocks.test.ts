// The clocks that the database knows: its own where it is a server, and when gateways were seen.

import test from 'ava';
import { readClocks, registerGateway } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: a server tells its time, and gateways when they were seen last`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = await readClocks(database);
    t.is(before.lastSeen, null);
    if (kind === 'sqlite') t.is(before.server, null);
    else t.true(Math.abs((before.server?.getTime() ?? 0) - Date.now()) < 5_000);
    const startedAt = new Date('2031-05-06T07:08:09.123Z');
    await registerGateway(database, { id: 'a', name: 'a', startedAt: new Date(0) });
    await registerGateway(database, { id: 'b', name: 'b', startedAt });
    t.deepEqual((await readClocks(database)).lastSeen, startedAt);
  });
