// Two gateways on one MariaDB, of which one is upgraded: it knows a migration that only this test
// has, and makes it at its start. The older one says so everywhere, takes no writes and changes no
// rule, but disconnects at once whom the newer one disables. docs/state.md#a-later-schema.

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { enrol, runHere } from '../e2e/people.ts';
import { runOnServer, startMariadb, stopMariadb } from '../support/database/mariadb.ts';
import { type Data, type Postern, until } from '../support/gateway/postern.ts';
import { canPing } from '../support/network/topology.ts';
import { atGateway, Visitor } from '../support/web/visitor.ts';
import { IN_FORCE_MS } from './several-gateways.ts';
import { buildSites, LAN, LAN_OTHER, SERVICE, type Sites } from './sites.ts';

const LATER = '9999-later';
/** Makes a process one that knows a further migration. */
const LATER_VERSION = {
  NODE_OPTIONS: `--import=${new URL('../support/database/later-migration.ts', import.meta.url).href}`,
};
/** A session that began so long before the step is older than it by any clock. */
const SURELY_BEFORE_MS = 11_000;
const BOSS = ['admin@example.test', 'correct horse battery'] as const;

/** What the doctor says on the host of a gateway; it fails where something is not well. */
async function doctor(postern: Postern): Promise<string> {
  return runHere(postern, ['doctor']).catch((error: unknown) =>
    String((error as { readonly stdout?: string }).stdout),
  );
}

/** The rows of both gateways, as one of them answers. */
async function gatewaysOf(postern: Postern): Promise<Data[]> {
  return ((await postern.call('GET', '/v0/gateways')).body as { data: Data[] }).data;
}

/** What the older gateway says of the later schema, wherever people look. */
async function isSaid(t: ExecutionContext, older: Postern, boss: Visitor): Promise<void> {
  await until('it is seen', async () => (await older.readiness()).status === 'schema_newer');
  t.is((await older.readiness()).code, 503);
  const said = older.logLines().filter(({ schema }) => schema === LATER);
  t.is(said.length, 1, 'once');
  t.regex(await older.metrics(), /^wg_gateway_schema_newer 1$/m);
  t.regex(await doctor(older), /^failed +gateway +A later version of Postern migrated/m);
  const dashboard = await boss.get('/dashboard');
  t.is(dashboard.status, 200);
  t.regex(dashboard.text, /A later version of Postern migrated the database/);
}

async function oneIsUpgradedFirst(t: ExecutionContext, network: Sites): Promise<void> {
  const { sites, clients } = network;
  const [olderSite, newerSite] = [sites[0]!, sites[1]!];
  const [older, newer] = [olderSite.postern, newerSite.postern];
  await older.start();
  const boss = new Visitor(atGateway(older.api));
  t.is((await boss.signIn(...BOSS)).status, 303);
  const signedInMs = performance.now();
  const people = [];
  for (const [i, client] of clients.slice(0, 2).entries()) {
    await network.lead(client, olderSite);
    people.push(await enrol(older, client, `p${i}@example.test`, `${SERVICE}:51820`));
  }
  const [alice, bob] = [people[0]!, people[1]!];
  for (const { client } of people) await until('served', () => canPing(client.host, LAN, 1));
  const drop = await older.create('rule', { action: 'drop', destination: LAN_OTHER });
  const reachesOther = (): Promise<boolean> => canPing(alice.client.host, LAN_OTHER, 1);
  t.false(await reachesOther());
  await sleep(Math.max(0, signedInMs + SURELY_BEFORE_MS - performance.now()));
  Object.assign(newer.environment, LATER_VERSION);
  await newer.start();
  await isSaid(t, older, boss);
  const schemas = (await gatewaysOf(newer)).map(({ schema }) => String(schema)).toSorted();
  t.is(schemas.length, 2);
  t.regex(String(schemas[0]), /^00\d\d-/);
  t.is(schemas[1], LATER);

  // It takes no writes: by the API, by the console, by a command on its host.
  const device = { description: 'x' };
  const answer = await older.call('PATCH', `/v0/devices/${alice.device.id}`, { device });
  t.is(answer.status, 503);
  t.deepEqual(answer.body, { error: 'schema_newer' });
  await boss.get('/user_account');
  t.is((await boss.post('/users/new', { email: 'x@example.test' })).status, 503);
  const disable = ['user', 'disable', '--email', 'p0@example.test'];
  await t.throwsAsync(runHere(older, disable), { message: /later version|newer/ });
  t.is((await newer.read('user', alice.user.id))['disabled_at'], null);

  // It changes no rule, and gives no access.
  await newer.remove('rule', drop.id);
  await newer.create('rule', { action: 'drop', destination: LAN });
  await sleep(IN_FORCE_MS);
  t.false(await reachesOther(), 'what was dropped is dropped');
  t.true(await canPing(alice.client.host, LAN), 'and what passed passes');

  // It obeys an end at once.
  t.true(await canPing(bob.client.host, LAN));
  await newer.update('device', bob.device.id, { enabled: false });
  await sleep(IN_FORCE_MS);
  t.false(await canPing(bob.client.host, LAN), 'a device that is disabled');
  t.true(await canPing(alice.client.host, LAN), 'and no other');

  // It goes on with its beats, and once it is upgraded, all is in force.
  const seen = (await gatewaysOf(newer)).map((row) => Date.parse(String(row['seen_at'])));
  t.true(Math.min(...seen) > Date.now() - 15_000);
  t.is(await older.stop(), 0);
  Object.assign(older.environment, LATER_VERSION);
  await older.start();
  await until('the rule is gone', reachesOther);
  t.false(await canPing(alice.client.host, LAN), 'the new rule holds');
  t.false(await canPing(bob.client.host, LAN_OTHER, 1), 'who was disabled stays so');
  for (const { client } of people) await client.stop();
  for (const postern of [older, newer]) t.is(await postern.stop(), 0);
}

test.serial('a gateway that is upgraded later widens no access', async (t) => {
  t.timeout(240_000);
  const mariadb = await startMariadb();
  await runOnServer(mariadb.url, 'CREATE DATABASE later');
  const sites = await buildSites({
    prefix: 'ol',
    server: () => mariadb.url,
    database: 'later',
    settings: { DATABASE_ENCRYPTION_KEY: randomBytes(32).toString('base64') },
  });
  try {
    await oneIsUpgradedFirst(t, sites);
  } finally {
    await sites.remove();
    await stopMariadb(mariadb);
  }
});
