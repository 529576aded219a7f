// What commands know of the running gateway: the values that it stored at its start, while it runs.

import { hostname } from 'node:os';
import test from 'ava';
import { openSettings } from '../../../../config/index.ts';
import {
  gatewayOfFiles,
  runningGateway,
} from '../../../../lib/installation/setup/running-gateway.ts';
import { registerGateway } from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { configOf } from '../../../support/api/server.ts';

const config = configOf({ EXTERNAL_URL: 'https://vpn.example.com/' });
const values = {
  settings: JSON.stringify(openSettings(config)),
  publicKey: Buffer.alloc(32, 9).toString('base64'),
};

for (const kind of databaseKinds()) {
  test(`${kind}: commands use the values of a running gateway, not of one that stopped long ago`, async (t) => {
    const database = await openDatabase(t, kind);
    const long = new Date(Date.now() - 600_000);
    await registerGateway(database, { id: 'g', name: 'g', startedAt: long, ...values });
    t.is(await runningGateway(database), null);
    const without = await gatewayOfFiles(configOf(), database);
    t.false(without.isRunning);
    t.is(without.config.externalUrl, 'http://127.0.0.1:13000/');
    t.not(without.serverPublicKey, values.publicKey);

    await registerGateway(database, { id: 'g', name: 'g', startedAt: new Date(), ...values });
    const files = await gatewayOfFiles(configOf(), database);
    t.true(files.isRunning);
    t.is(files.config.externalUrl, 'https://vpn.example.com/');
    t.is(files.serverPublicKey, values.publicKey);
    const here = { id: 'h', name: hostname(), startedAt: new Date(Date.now() - 30_000) };
    await registerGateway(database, { ...here, ...values, publicKey: 'h'.repeat(44) });
    t.is((await runningGateway(database))?.publicKey, 'h'.repeat(44), 'that of this host first');
  });

  test(`${kind}: a gateway of an earlier version stored no values`, async (t) => {
    const database = await openDatabase(t, kind);
    await registerGateway(database, { id: 'g', name: 'g', startedAt: new Date() });
    t.is(await runningGateway(database), null);
  });
}
