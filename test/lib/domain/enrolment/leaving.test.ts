// What ends with a person who has left, and for whom it is refused.

import test from 'ava';
import { commandLineCaller } from '../../../../lib/cli/perform.ts';
import { leave } from '../../../../lib/domain/enrolment/leaving.ts';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { Writes } from '../../../../lib/kit/records/writes.ts';
import { configOf } from '../../../../lib/testing/settings.ts';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import type { Database } from '../../../../models/index.ts';
import { addDevice, addToken, addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

function contextOf(database: Database) {
  const services = { config: configOf({}), database };
  return { services, fixed: {}, recall: new Recall(database, {}), writes: new Writes(database) };
}

for (const kind of databaseKinds()) {
  test(`${kind}: devices, tokens and links of the person end, those of others stay`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const [laptop, phone] = [await addDevice(database, ann), await addDevice(database, ann)];
    const other = await addDevice(database, bob);
    await addToken(database, ann);
    const kept = await addToken(database, bob);
    const ended = await leave(contextOf(database), commandLineCaller(), ann.id);
    t.deepEqual(ended, { devices: 2, tokens: 1, sessions: 0 });
    for (const device of [laptop, phone]) t.true((await device.reload()).disabled_at !== null);
    t.is((await other.reload()).disabled_at, null);
    t.deepEqual(
      (await database.models.ApiToken.findAll()).map(({ id }) => id),
      [kept.id],
    );
    t.is((await ann.reload()).disabled_by, 'administrator');
    const again = await leave(contextOf(database), commandLineCaller(), ann.id);
    t.deepEqual(again, { devices: 0, tokens: 0, sessions: 0 });
  });

  test(`${kind}: the last administrator cannot have left, and nothing ends`, async (t) => {
    const database = await openDatabase(t, kind);
    const last = await addUser(database, { role: 'admin', password_hash: 'x' });
    await write(database, (transaction) =>
      database.models.Configuration.update(
        { local_auth_enabled: true },
        { where: {}, transaction },
      ),
    );
    const device = await addDevice(database, last);
    const leaving = () => leave(contextOf(database), commandLineCaller(), last.id);
    await t.throwsAsync(leaving, { instanceOf: ApiError });
    t.is((await device.reload()).disabled_at, null);
    t.is((await last.reload()).disabled_at, null);
  });
}
