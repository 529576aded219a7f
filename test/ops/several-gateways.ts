// What several gateways on one database must do, whichever database it is: start together, obey a
// change that any of them took, serve each other's clients, add up totals, allocate without
// collision. Run on one MariaDB, and on a Galera cluster with a node for each gateway.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { enrol, type Person } from '../e2e/people.ts';
import { stop } from '../support/network/namespaces.ts';
import { type Answer, type Data, type Postern, until } from '../support/gateway/postern.ts';
import { canPing, Traffic, traffic } from '../support/network/topology.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
import { LAN, LAN_OTHER, SERVICE, type Site, type Sites } from './sites.ts';

/** Migrations on a cluster take their time: every table is made on all nodes before the next. */
const FIRST_START_MS = 90_000;
/** The bar: a change that one gateway took is in force on all. */
export const IN_FORCE_MS = 1_500;
const EVERY_MS = 10;
const PORT = 7_420;
/** A sample a second, and the writing of it. */
const SAMPLED_MS = 2_500;

/** Gateways that serve, and a client at each. */
export interface World {
  readonly sites: Sites;
  readonly people: readonly Person[];
}

/** Starts all gateways at once on an empty database, and enrols a client at each. */
export async function startTogether(t: ExecutionContext, sites: Sites): Promise<World> {
  const ms = await Promise.all(sites.sites.map(({ postern }) => postern.start(FIRST_START_MS)));
  t.log(`three first starts at once: ready after ${ms.map(Math.round).join(', ')} ms`);
  const people: Person[] = [];
  for (const [i, client] of sites.clients.entries()) {
    const site = sites.sites[i]!;
    await sites.lead(client, site);
    people.push(await enrol(site.postern, client, `p${i}@example.test`, `${SERVICE}:51820`));
  }
  for (const [i, { client }] of people.entries()) {
    await until(`client ${i} is served`, () => canPing(client.host, LAN, 1));
    const { postern } = sites.sites[i]!;
    t.true(postern.output.includes('Postern serves'));
  }
  // Each gateway has a token of its own; none of them voids another's.
  for (const { postern } of sites.sites)
    t.is((await postern.call('GET', '/v0/configuration')).status, 200, 'its own bootstrap token');
  const keys = new Set(people.map(({ device }) => device['server_public_key']));
  t.is(keys.size, 1, 'one key for all gateways');
  return { sites, people };
}

/** Changes at one gateway, seen in the packets of all: how long each took, per gateway. */
export async function changesAreInForceEverywhere(
  t: ExecutionContext,
  { sites, people }: World,
  changes: number,
): Promise<void> {
  const watch = await new Traffic(sites.lan, 'watch', PORT, LAN_OTHER).ready();
  const beacons = people.map(
    ({ client }) => new Traffic(client.host, 'beacon', PORT, EVERY_MS, LAN_OTHER),
  );
  const sources = [1, 2, 3].map((number) => `198.51.${100 + number}.1`);
  /** When the last datagram through a gateway arrived. */
  const lastAt = (source: string): number =>
    Number(watch.lines.findLast((line) => line['from'] === source)?.['at'] ?? 0);
  const isQuiet = (source: string): boolean => Date.now() - lastAt(source) > 300;
  await until('all clients are heard', () => sources.every((source) => !isQuiet(source)));

  const tookMs: number[] = [];
  for (let change = 0; change < changes; change += 1) {
    const { postern } = sites.sites[change % 3]!;
    const rule = await postern.create('rule', { action: 'drop', destination: LAN_OTHER });
    const answeredAt = Date.now();
    await until('all are silent', () => sources.every(isQuiet), 5_000);
    tookMs.push(...sources.map((source) => Math.max(0, lastAt(source) - answeredAt)));
    // Another gateway takes it back.
    const other = sites.sites[(change + 1) % 3]!.postern;
    await until('the other one knows of it', async () => {
      const { status } = await other.call('GET', `/v0/rules/${rule.id}`);
      return status === 200;
    });
    const count = watch.lines.length;
    const removed = await other.remove('rule', rule.id);
    const firstAt = (source: string): number =>
      Number(watch.lines.slice(count).find((line) => line['from'] === source)?.['at'] ?? 0);
    await until('all are heard', () => sources.every((source) => firstAt(source) > 0), 5_000);
    tookMs.push(...sources.map((source) => Math.max(0, firstAt(source) - removed.at)));
    // Not in step with the polls.
    await sleep((change * 137) % 500);
  }
  for (const beacon of beacons) await beacon.stop();
  await watch.stop();
  t.log(`in force after, ${tookMs.length} measured: ${distribution(tookMs)}`);
  t.true(Math.max(...tookMs) < IN_FORCE_MS, `${Math.max(...tookMs)} ms`);
}

function distribution(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)]!;
  return `median ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms`;
}

/** Devices made at all gateways at once: every one gets addresses that nobody else has. */
export async function allocationNeverCollides(
  t: ExecutionContext,
  { sites }: World,
  perGateway: number,
): Promise<void> {
  const answers: Answer[] = [];
  await Promise.all(
    sites.sites.map(async ({ number, postern }) => {
      const owners: Data[] = [];
      for (let i = 0; i < Math.ceil(perGateway / 10); i += 1)
        owners.push(await postern.create('user', { email: `many-${number}-${i}@example.test` }));
      // Several at once at each gateway as well.
      const rest = Array.from({ length: perGateway }, (_, i) => owners[Math.floor(i / 10)]!);
      await Promise.all(
        [0, 1, 2].map(async () => {
          for (let owner = rest.pop(); owner !== undefined; owner = rest.pop()) {
            const device = { user_id: owner.id, public_key: makeKeyPair().publicKey };
            answers.push(await postern.call('POST', '/v0/devices', { device }));
          }
        }),
      );
    }),
  );
  const refused = answers.filter(({ status }) => status !== 201);
  t.deepEqual(refused, [], JSON.stringify(errorsOf(sites)));
  const devices = answers.map(({ body }) => (body as { data: Data }).data);
  for (const field of ['ipv4', 'ipv6', 'id'])
    t.is(new Set(devices.map((device) => device[field])).size, perGateway * 3, field);
  const reruns = sites.sites
    .flatMap(({ postern }) => postern.logLines())
    .filter(({ msg }) => msg === 'a transaction met a conflict and is run again');
  t.log(`${devices.length} devices at three gateways at once; ${reruns.length} reruns`);
}

/** What the gateways logged as errors. */
function errorsOf({ sites }: Sites): Record<string, unknown>[] {
  return sites.flatMap(({ postern }) =>
    postern.logLines().filter(({ level }) => Number(level) >= 50),
  );
}

/**
 * A gateway is killed; its client, which notices nothing but silence, is served by another one at
 * its next handshake. Totals of both are the device's.
 */
export async function anotherServesTheClient(
  t: ExecutionContext,
  { sites, people }: World,
  [from, to]: [Site, Site],
): Promise<void> {
  const person = people[from.number - 1]!;
  const { host } = person.client;
  const echo = await new Traffic(sites.lan, 'echo', PORT + 1, LAN).ready();
  const ask = async (): Promise<void> => {
    const { answered } = await traffic(host, 'ask', LAN, PORT + 1, 1_000, 500);
    t.true(Number(answered) > 450, `${String(answered)} of 500 were answered`);
  };
  await until('it is served', () => canPing(host, LAN, 1), 20_000);
  await ask();
  await sleep(SAMPLED_MS);
  const atFirst = await statusOf(to.postern, person.device.id);
  await from.postern.kill();
  await sites.lead(host, to);
  const begun = performance.now();
  await until('another serves it', () => canPing(host, LAN, 1), 30_000);
  const silentMs = performance.now() - begun;
  await ask();
  await sleep(SAMPLED_MS);
  const atLast = await statusOf(to.postern, person.device.id);
  // 500 datagrams of 1,000 bytes through each, and what lies around them.
  for (const field of ['rx_bytes', 'tx_bytes'] as const) {
    const grown = atLast[field] - atFirst[field];
    t.true(grown > 480_000 && grown < 700_000, `${field} grew by ${grown}`);
  }
  t.true(atLast.latest_handshake > atFirst.latest_handshake);
  t.log(
    `gateway ${from.number} killed: its client is served again after ${Math.round(silentMs)} ms`,
  );
  await echo.stop();
  await from.postern.start();
  // The one that is back must not call the client that is another's.
  await sleep(SAMPLED_MS);
  t.true(await canPing(host, LAN), 'the client stays where it is');
  await to.postern.kill();
  await sites.lead(host, from);
  await until('and is served by the first one again', () => canPing(host, LAN, 1), 30_000);
  await to.postern.start();
}

/** For longer than the former gateway waits for an answer, after which it would call. */
const ELSEWHERE_S = 22;
const PINGS_PER_SECOND = 5;

/**
 * A client goes to another gateway, by that one's own address, while the former lives and has much
 * to send to it: from a host behind it, and from another of its devices. The former leaves it alone
 * until it comes back.
 */
export async function aClientMovesAndComesBack(
  t: ExecutionContext,
  { sites, people }: World,
  [from, to]: [Site, Site],
): Promise<void> {
  const [mover, stayer] = [people[from.number - 1]!, people[2]!];
  const address = String(mover.device['ipv4']);
  await sites.lan.ip('route', 'add', address, 'via', `198.51.${100 + from.number}.1`);
  for (const { client } of [mover, stayer])
    await client.reconfigure({ endpoint: `${from.address}:51820` });
  const senders = [
    { host: sites.lan, ping: ['-n', '-I', LAN, address] },
    { host: stayer.client.host, ping: ['-n', address] },
  ];
  const areHeard = async (): Promise<boolean> => {
    const once = senders.map(({ host, ping }) => host.succeeds('ping', '-c1', '-W1', ...ping));
    return (await Promise.all(once)).every((isHeard) => isHeard);
  };
  await until('the first gateway serves both', areHeard, 20_000);
  const drops = (): number => from.postern.drops()['peer_elsewhere'] ?? 0;
  const before = drops();
  const pace = ['-q', '-i', String(1 / PINGS_PER_SECOND)];
  const pings = senders.map(({ host, ping }) => host.start('ping', [...pace, ...ping]));

  const endpoint = `${to.address}:51820`;
  await mover.client.moveTo(endpoint);
  await until('the other serves it', () => canPing(mover.client.host, LAN, 1), 20_000);
  for (let i = 0; i < ELSEWHERE_S; i += 1) {
    t.is(await mover.client.serverEndpoint(), endpoint, `it stays there, after ${i} s`);
    await sleep(1_000);
  }
  t.true(await canPing(mover.client.host, LAN, 1));
  await sleep(SAMPLED_MS);
  const dropped = drops() - before;
  t.true(dropped > 1.6 * PINGS_PER_SECOND * ELSEWHERE_S, `${dropped} are counted, of both`);
  const farewell = `"device_id":"${mover.device.id}"`;
  const ends = from.postern.output.split('\n').filter((line) => line.includes('"elsewhere"'));
  t.true(
    ends.some((line) => line.includes(farewell)),
    'the former says that it disconnected',
  );
  t.log(`moved off a gateway that goes on sending: left alone, ${dropped} packets refused`);

  await mover.client.moveTo(`${from.address}:51820`);
  await until('and the first one serves it again', areHeard, 20_000);
  for (const ping of pings) await stop(ping);
  await sites.lan.ip('route', 'del', address);
  for (const { client } of [mover, stayer]) {
    await client.reconfigure({ endpoint: `${SERVICE}:51820` });
    await until('all is as before', () => canPing(client.host, LAN, 1), 20_000);
  }
}

/**
 * A router sends a client elsewhere though its gateway lives. WireGuard has no word for that: the
 * gateway calls the client, which answers to the other one, until REKEY_ATTEMPT_TIME is over; then
 * the client begins anew.
 */
export async function aLivingGatewayLetsGo(
  t: ExecutionContext,
  { sites, people }: World,
  [from, to]: [Site, Site],
): Promise<void> {
  const { host } = people[from.number - 1]!.client;
  await until('it is served', () => canPing(host, LAN, 1), 20_000);
  await sites.lead(host, to);
  const begun = performance.now();
  await until('another serves it', () => canPing(host, LAN, 1), 150_000);
  t.log(
    `moved off a gateway that lives: served again after ${seconds(performance.now() - begun)} s`,
  );
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

interface Status {
  readonly rx_bytes: number;
  readonly tx_bytes: number;
  readonly latest_handshake: string;
}

async function statusOf(postern: Postern, id: string): Promise<Status> {
  const { rx_bytes, tx_bytes, latest_handshake } = await postern.read('device', id);
  return {
    rx_bytes: Number(rx_bytes),
    tx_bytes: Number(tx_bytes),
    latest_handshake: String(latest_handshake),
  };
}

/** What every gateway must have kept to itself: no error, no row that cannot be obeyed. */
export function nothingWentWrong(t: ExecutionContext, { sites }: World): void {
  for (const { postern } of sites.sites) {
    const errors = postern.logLines().filter(({ level }) => level === 'error');
    t.deepEqual(errors, []);
  }
}
