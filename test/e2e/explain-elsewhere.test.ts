// Two gateways on one database: a device goes from one to the other, and each explains what becomes
// of packets to the device. Then the packets are sent, through the gateway that was asked.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import type { Answer } from '../../lib/observe/explain/fields.ts';
import { buildSites, LAN, type Site } from '../ops/sites.ts';
import { runOnServer, startMariadb, stopMariadb } from '../support/database/mariadb.ts';
import { until } from '../support/gateway/postern.ts';
import { canPing } from '../support/network/topology.ts';
import { enrol, explainPing } from './people.ts';

const FIRST_START_MS = 90_000;
const SERVED_MS = 20_000;

test.serial('a device at another gateway is not reached here, and is there', async (t) => {
  t.timeout(240_000);
  const mariadb = await startMariadb();
  t.teardown(() => stopMariadb(mariadb));
  await runOnServer(mariadb.url, 'CREATE DATABASE elsewhere');
  const sites = await buildSites({
    prefix: 'ee',
    server: () => mariadb.url,
    database: 'elsewhere',
    settings: { DATABASE_ENCRYPTION_KEY: randomBytes(32).toString('base64') },
  });
  t.teardown(() => sites.remove());
  const [here, there] = sites.sites as [Site, Site, Site];
  for (const { postern } of [here, there]) {
    await postern.start(FIRST_START_MS);
    t.teardown(() => postern.stop());
  }
  const [alice, bob] = sites.clients as (typeof sites.clients)[number][];
  const mover = await enrol(here.postern, alice!, 'a@example.test', `${here.address}:51820`);
  const stayer = await enrol(here.postern, bob!, 'b@example.test', `${here.address}:51820`);
  const to = String(mover.device['ipv4']);
  const senders = [
    { from: { device_id: stayer.device.id }, pings: () => canPing(bob!, to, 1) },
    {
      from: { source: LAN },
      pings: () => sites.lan.succeeds('ping', '-c1', '-W1', '-n', '-I', LAN, to),
    },
  ];
  for (const { client } of [mover, stayer])
    await until('it is served', () => canPing(client.host, LAN, 1), SERVED_MS);

  /** Asks a gateway about a ping of each, and sends it through that one. */
  const judge = async (site: Site, reason: Answer['reason']): Promise<void> => {
    await sites.lan.ip('route', 'replace', to, 'via', `198.51.${100 + site.number}.1`);
    for (const { from, pings } of senders) {
      const answer = await explainPing(site.postern, { ...from, destination: to });
      const says = `gateway ${site.number}, from ${JSON.stringify(from)}: ${answer.text}`;
      t.is(answer.reason, reason, says);
      const refused = answer.gates.find(({ outcome }) => outcome === 'refused');
      t.is(refused?.code, reason === null ? undefined : 'receiver', says);
      t.is(await pings(), answer.verdict === 'accept', says);
    }
  };
  await judge(here, null);

  await mover.client.moveTo(`${there.address}:51820`);
  await until('the other serves it', () => canPing(alice!, LAN, 1), SERVED_MS);
  await until('the former knows', async () => {
    const answer = await explainPing(here.postern, { source: LAN, destination: to });
    return answer.reason === 'peer_elsewhere';
  });
  await judge(here, 'peer_elsewhere');
  const sent = await explainPing(here.postern, { device_id: mover.device.id, destination: LAN });
  t.like(sent, { verdict: 'drop', reason: 'elsewhere' });
  const asked = await explainPing(there.postern, { device_id: mover.device.id, destination: LAN });
  t.like(asked, { verdict: 'accept', gateway_id: sent.connected_gateway_id });

  await stayer.client.moveTo(`${there.address}:51820`);
  await until('the other serves both', () => canPing(bob!, LAN, 1), SERVED_MS);
  await judge(there, null);
});
