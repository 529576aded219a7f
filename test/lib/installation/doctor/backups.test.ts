// The doctor on backups that are made each night.

import test from 'ava';
import { backups } from '../../../../lib/installation/doctor/backups.ts';
import { migrate, recordBackup, registerGateway } from '../../../../models/index.ts';
import { addUser } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const HOUR_MS = 3_600_000;

for (const kind of databaseKinds())
  test(`${kind}: a backup that is old is a failure, and none at all a warning after two days`, async (t) => {
    const database = await openDatabase(t, kind);
    await migrate(database);
    const now = Date.now();
    t.deepEqual(await backups(database, now), [], 'nobody is there');
    await addUser(database);
    await registerGateway(database, { id: 'g', name: 'g', startedAt: new Date(now) });
    t.deepEqual(await backups(database, now), [], 'it is new');
    const [never] = await backups(database, now + 51 * HOUR_MS);
    t.like(never, { level: 'warning', message: 'no backup was made by “backup --keep”' });
    t.regex(never?.fix ?? '', /Each night/);

    await recordBackup(database, new Date(now));
    const message = `the last backup that was read back is of ${new Date(now).toISOString()}`;
    t.like((await backups(database, now + 49 * HOUR_MS))[0], { level: 'ok', message });
    const [old] = await backups(database, now + 72 * HOUR_MS);
    t.like(old, { level: 'failed', message });
    t.regex(old?.fix ?? '', /for 72 hours: systemctl status postern-backup/);
  });
