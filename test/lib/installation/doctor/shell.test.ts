// Whose settings the doctor looks at: it says so where the gateway that runs has other ones.

import test from 'ava';
import { openSettings } from '../../../../config/index.ts';
import { shell } from '../../../../lib/installation/doctor/shell.ts';
import { registerGateway } from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { configOf } from '../../../support/api/server.ts';

for (const kind of databaseKinds())
  test(`${kind}: settings that differ from the gateway's are named`, async (t) => {
    const database = await openDatabase(t, kind);
    t.deepEqual(await shell(database, configOf()), []);
    const gateway = { EXTERNAL_URL: 'https://vpn.example.com/', DEFAULT_CLIENT_MTU: '1300' };
    const settings = JSON.stringify(openSettings(configOf(gateway)));
    const start = { settings, publicKey: 'k'.repeat(44) };
    await registerGateway(database, { id: 'g', name: 'gate', startedAt: new Date(), ...start });
    const [other] = await shell(database, configOf({ DEFAULT_CLIENT_MTU: '1300' }));
    t.is(other?.level, 'warning');
    t.regex(
      String(other?.message),
      /settings of this shell, and the gateway that runs on gate has other ones: EXTERNAL_URL \(https:\/\/vpn\.example\.com\/ there, http:\/\/127\.0\.0\.1:13000\/ here\), METRICS_ACCESS /,
    );
    t.like(await shell(database, configOf({ ...gateway, LOG_LEVEL: 'debug' })), [{ level: 'ok' }]);
  });
