// Sessions with other WireGuard programs: the installed wireguard-go, and the newest one of Debian.
// Either side initiates the handshake, and `wg` on both sides shows the same.

import { setTimeout as sleep } from 'node:timers/promises';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { REKEY_TIMEOUT_MS } from '../../dataplane/constants.ts';
import { command } from '../support/network/namespaces.ts';
import { unpackNewestWireguardGo } from '../support/network/newest-wireguard-go.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY6_BOB,
  LAN4,
  type Topology,
  TUNNEL4,
  TUNNEL6,
} from '../support/network/topology.ts';
import { enrol, type Person } from './people.ts';
import { differs, FROM_OUTSIDE } from './ways.ts';

/** Only of this test: the sockets that `wg` asks are in one folder for all hosts. */
const INTERFACE = 'wg-either';
const HEADING = `interface: ${INTERFACE}\n`;

/** The fields of `wg show ... dump` of the only peer. */
async function dumpOf(host: Topology['alice'], name: string): Promise<string[][]> {
  const { stdout } = await host.run('wg', 'show', name, 'dump');
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
}

interface Moved {
  readonly sent: number;
  readonly received: number;
}

/**
 * The gateway counts from its start, when the client had counted `before`. Returns its endpoint.
 */
async function tellsTheSame(
  t: ExecutionContext,
  w: Topology,
  person: Person,
  before: Moved = { sent: 0, received: 0 },
): Promise<Moved> {
  // Totals are as old as the last sample.
  await sleep(2_000);
  const { client, device, keys } = person;
  const [, atClient = []] = await dumpOf(client.host, client.interfaceName);
  const [self = [], ...peers] = await dumpOf(w.gateway, INTERFACE);
  const atGateway = peers.find(([publicKey]) => publicKey === keys.publicKey) ?? [];
  t.is(self[1], atClient[0], 'the key of the gateway');
  t.is(atGateway[1], atClient[1], 'the preshared key');
  t.is(atGateway[3], `${String(device['ipv4'])}/32,${String(device['ipv6'])}/128`);
  // Each side notes it when its own part is done. The next one would be REKEY_TIMEOUT later or more.
  const latest = [Number(atGateway[4]), Number(atClient[4])] as const;
  const apartS = Math.abs(latest[0] - latest[1]);
  t.true(apartS < REKEY_TIMEOUT_MS / 1_000, `the latest handshake: ${latest.join(' and ')}`);
  const moved = { sent: Number(atClient[6]), received: Number(atClient[5]) };
  t.true(Math.abs(Number(atGateway[5]) - (moved.sent - before.sent)) < 1_000, 'what it sent');
  t.true(Math.abs(Number(atGateway[6]) - (moved.received - before.received)) < 1_000);
  for (const words of [[INTERFACE], []]) {
    const { stdout } = await w.gateway.run('wg', 'show', ...words);
    const shown = stdout.split(/^(?=interface: )/m).filter((each) => each.startsWith(HEADING));
    t.is(shown.length, 1, words.length > 0 ? 'asked by name' : 'asked for all');
    const [text = ''] = shown;
    t.regex(text, /interface: wg-either\n {2}public key: .+\n {2}private key: \(hidden\)\n/);
    t.true(text.includes(`peer: ${keys.publicKey}\n  preshared key: (hidden)\n  endpoint: `));
    t.regex(text, /latest handshake: .*(second|Now)/);
  }
  return moved;
}

/** `wg show` without a name finds the interface by its socket, among those of the clients. */
async function isFoundWithoutName(t: ExecutionContext, w: Topology): Promise<void> {
  const { stdout: names } = await w.gateway.run('wg', 'show', 'interfaces');
  t.true(names.trim().split(/\s+/).includes(INTERFACE), names);
  const { stdout: dump } = await w.gateway.run('wg', 'show', 'all', 'dump');
  const lines = dump
    .trim()
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([name]) => name === INTERFACE);
  // The keys of the interface and of each peer; the other lines change while they are read.
  const fixed = (words: string[]): string => words.slice(0, 2).join(' ');
  t.deepEqual(
    lines.map((line) => fixed(line.slice(1))),
    (await dumpOf(w.gateway, INTERFACE)).map(fixed),
  );
  t.is(lines.length, 3, 'the interface and two peers');
}

async function handshakes(t: ExecutionContext, w: Topology): Promise<void> {
  const settings = { ...WITHOUT_WARM_UP, WIREGUARD_INTERFACE: INTERFACE };
  const postern = new Postern(w.gateway, API_ADDRESS, settings);
  await postern.start();
  const alice = await enrol(postern, w.alice, 'a@example.test', `${GATEWAY4}:51820`, 0);
  const bob = await enrol(postern, w.bob, 'b@example.test', `[${GATEWAY6_BOB}]:51820`, 0);
  const people = [alice, bob];
  for (const { client } of people) {
    t.true(await canPing(client.host, TUNNEL4), 'the client begins');
    t.true(await canPing(client.host, TUNNEL6));
    t.true(await canPing(client.host, LAN4));
  }
  const moved: Moved[] = [];
  for (const person of people) moved.push(await tellsTheSame(t, w, person));
  await isFoundWithoutName(t, w);

  const before = await Promise.all(people.map(({ client }) => client.latestHandshake()));
  await postern.stop();
  await sleep(1_100);
  await postern.start();
  // Nobody sends anything: what happens comes from the gateway.
  await until('the gateway begins', async () => {
    const latest = await Promise.all(people.map(({ client }) => client.latestHandshake()));
    return latest.every((at, i) => at > before[i]!);
  });
  for (const [i, person] of people.entries()) await tellsTheSame(t, w, person, moved[i]);
  for (const { client, device } of people) {
    if (!differs(FROM_OUTSIDE))
      t.true(await canPing(w.gateway, String(device['ipv4'])), 'and is answered');
    t.true(await canPing(client.host, TUNNEL6));
  }
  await postern.stop();
}

async function interoperates(t: ExecutionContext, program: string): Promise<void> {
  t.timeout(180_000);
  const { stdout } = await command(program, '--version');
  t.log(stdout.split('\n')[0]);
  const chosen = process.env['WIREGUARD_GO'];
  process.env['WIREGUARD_GO'] = program;
  const topology = await buildTopology('pi');
  try {
    await handshakes(t, topology);
  } finally {
    await topology.network.remove();
    if (chosen === undefined) delete process.env['WIREGUARD_GO'];
    else process.env['WIREGUARD_GO'] = chosen;
  }
}

test.serial('either side begins a session with wireguard-go, and wg shows it', (t) =>
  interoperates(t, 'wireguard-go'),
);

test.serial(
  'either side begins a session with the newest wireguard-go, and wg shows it',
  async (t) => {
    const newest = await unpackNewestWireguardGo();
    t.teardown(() => newest.remove());
    const versions = await Promise.all(
      [newest.program, 'wireguard-go'].map(
        async (each) => (await command(each, '--version')).stdout,
      ),
    );
    t.not(versions[0], versions[1], 'another than the one that is installed');
    await interoperates(t, newest.program);
  },
);
