// The gateways on a database of any released schema, read before it is migrated.

import test from 'ava';
import { migrate, readGatewaysBeside, registerGateway } from '../../../models/index.ts';
import { lastStep } from '../../../models/migrations/index.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';
import { KEY, loadReleased } from './released-databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: gateways are read from the tables of every version`, async (t) => {
    for (const number of ['0001', '0010', '0019', '0020', '0021', '0022']) {
      const place = { ...(await makePlace(t, kind)), encryptionKey: KEY };
      await loadReleased(place.url, number, kind);
      const database = await openAt(t, place);
      const [found] = await readGatewaysBeside(database);
      t.like(found, { name: 'gate', schema_step: null, seen_at: new Date('2026-03-01T00:00:00Z') });
      await migrate(database);
      await registerGateway(database, { id: 'z', name: 'now', startedAt: new Date() });
      const [, now] = await readGatewaysBeside(database);
      t.like(now, { id: 'z', name: 'now', schema_step: lastStep() });
    }
  });
