// What rows say against a device: the first bar counts, in the order in which people lift them.

import test from 'ava';
import { barOf } from '../../../lib/devices/bars.ts';
import { newId } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser } from '../../support/database/records.ts';

const HOUR_MS = 3_600_000;
const rules = {
  configuration: { vpn_session_duration: 3_600 },
  config: { vpnSessionRequireSignIn: false },
};

for (const kind of databaseKinds())
  test(`${kind}: each bar has its name, and the first one counts`, async (t) => {
    const database = await openDatabase(t, kind);
    const early = new Date(Date.now() - 2 * HOUR_MS);
    const late = new Date(Date.now() + HOUR_MS);
    const well = await addUser(database, { last_signed_in_at: new Date() });
    const idle = await addUser(database, { last_signed_in_at: early });
    const gone = await addUser(database, { last_signed_in_at: early, disabled_at: early });
    const device = { disabled_at: null, expires_at: null, user_id: well.id };
    t.is(await barOf(database, rules, device), null);
    t.is(await barOf(database, rules, { ...device, expires_at: late }), null);
    t.is(await barOf(database, rules, { ...device, user_id: idle.id }), 'session_ended');
    t.is(await barOf(database, rules, { ...device, user_id: gone.id }), 'owner_disabled');
    t.is(await barOf(database, rules, { ...device, user_id: newId() }), 'not_served');
    const ended = { ...device, user_id: gone.id, expires_at: early };
    t.is(await barOf(database, rules, ended), 'device_ended');
    t.is(await barOf(database, rules, { ...ended, disabled_at: early }), 'device_off');
  });
