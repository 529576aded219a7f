// What commands know of the gateway that runs: what it told at its start, while it lives.

import { hostname } from 'node:os';
import test from 'ava';
import { openSettings } from '../../../config/index.ts';
import { gatewayOfFiles, runningGateway } from '../../../lib/installation/running-gateway.ts';
import { registerGateway } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { configOf } from '../../support/api/server.ts';

const config = configOf({ EXTERNAL_URL: 'https://vpn.example.com/' });
const told = {
  settings: JSON.stringify(openSettings(config)),
  publicKey: Buffer.alloc(32, 9).toString('base64'),
};

for (const kind of databaseKinds()) {
  test(`${kind}: a gateway that lives decides, one that stopped long ago does not`, async (t) => {
    const database = await openDatabase(t, kind);
    const long = new Date(Date.now() - 600_000);
    await registerGateway(database, { id: 'g', name: 'g', startedAt: long, ...told });
    t.is(await runningGateway(database), null);
    const without = await gatewayOfFiles(configOf(), database);
    t.false(without.isRunning);
    t.is(without.config.externalUrl, 'http://127.0.0.1:13000/');
    t.not(without.serverPublicKey, told.publicKey);

    await registerGateway(database, { id: 'g', name: 'g', startedAt: new Date(), ...told });
    const files = await gatewayOfFiles(configOf(), database);
    t.true(files.isRunning);
    t.is(files.config.externalUrl, 'https://vpn.example.com/');
    t.is(files.serverPublicKey, told.publicKey);
    const here = { id: 'h', name: hostname(), startedAt: new Date(Date.now() - 30_000) };
    await registerGateway(database, { ...here, ...told, publicKey: 'h'.repeat(44) });
    t.is((await runningGateway(database))?.publicKey, 'h'.repeat(44), 'that of this host first');
  });

  test(`${kind}: a gateway of an earlier version tells nothing`, async (t) => {
    const database = await openDatabase(t, kind);
    await registerGateway(database, { id: 'g', name: 'g', startedAt: new Date() });
    t.is(await runningGateway(database), null);
  });
}
