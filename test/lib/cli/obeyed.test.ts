// A command ends when what it wrote is in force at every gateway that runs.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { untilObeyed } from '../../../lib/cli/obeyed.ts';
import { currentRevision, newId, recordHeartbeat, registerGateway } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser } from '../../support/database/records.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: a command waits for each gateway that runs`, async (t) => {
    const database = await openDatabase(t, kind);
    const ids = [newId(), newId()];
    for (const id of ids) await registerGateway(database, { id, name: id, startedAt: new Date() });
    let hasEnded = false;
    const command = untilObeyed(database, () => addUser(database), 30_000).finally(() => {
      hasEnded = true;
    });
    while ((await currentRevision(database)) === 0) await sleep(10);
    const appliedRevision = await currentRevision(database);
    for (const id of ids) {
      await sleep(150);
      t.false(hasEnded);
      await recordHeartbeat(database, id, { seenAt: new Date(), appliedRevision });
    }
    t.true((await command).isObeyed);
  });

  test(`${kind}: a command says when a gateway does not follow`, async (t) => {
    const database = await openDatabase(t, kind);
    await registerGateway(database, { id: newId(), name: 'slow', startedAt: new Date() });
    t.false((await untilObeyed(database, () => addUser(database), 100)).isObeyed);
  });

  test(`${kind}: a command that writes nothing, or has no gateway, does not wait`, async (t) => {
    const database = await openDatabase(t, kind);
    const stopped = new Date(Date.now() - 60_000);
    await registerGateway(database, { id: newId(), name: 'stopped', startedAt: stopped });
    t.true((await untilObeyed(database, () => addUser(database), 100)).isObeyed);
    await registerGateway(database, { id: newId(), name: 'runs', startedAt: new Date() });
    t.true((await untilObeyed(database, () => currentRevision(database), 100)).isObeyed);
  });
}
