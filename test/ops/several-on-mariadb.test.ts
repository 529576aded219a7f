// Three gateways on one MariaDB (several-gateways.ts says what they must do).

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { runOnServer, startMariadb, stopMariadb } from '../support/database/mariadb.ts';
import { inspectDatabase } from './ledger.ts';
import { length, soakMinutes } from './lengths.ts';
import {
  aClientMovesAndComesBack,
  aLivingGatewayLetsGo,
  allocationNeverCollides,
  anotherServesTheClient,
  changesAreInForceEverywhere,
  nothingWentWrong,
  startTogether,
} from './several-gateways.ts';
import { everyKindIsInForceElsewhere } from './several-kinds.ts';
import { buildSites } from './sites.ts';

test.serial('three gateways on one MariaDB are as one', async (t) => {
  t.timeout(length(5, 10) * 60_000);
  const mariadb = await startMariadb();
  await runOnServer(mariadb.url, 'CREATE DATABASE several');
  const encryptionKey = randomBytes(32);
  const sites = await buildSites({
    prefix: 'om',
    server: () => mariadb.url,
    database: 'several',
    settings: { DATABASE_ENCRYPTION_KEY: encryptionKey.toString('base64') },
  });
  try {
    const world = await startTogether(t, sites);
    await changesAreInForceEverywhere(t, world, length(6, 50, 'OPS_CHANGES'));
    await allocationNeverCollides(t, world, 40);
    const [first, second] = sites.sites;
    await anotherServesTheClient(t, world, [first!, second!]);
    await aClientMovesAndComesBack(t, world, [first!, second!]);
    if (soakMinutes > 0) await aLivingGatewayLetsGo(t, world, [first!, second!]);
    await everyKindIsInForceElsewhere(t, world);
    nothingWentWrong(t, world);
    await Promise.all(sites.sites.map(({ postern }) => postern.stop()));
    await inspectDatabase(t, { url: `${mariadb.url}several`, encryptionKey });
  } finally {
    await sites.remove();
    await stopMariadb(mariadb);
  }
});
