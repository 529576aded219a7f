// What benchmarks of whole gateways share: the gateways (Postern, of this checkout or of another one, and
// wireguard-go), the network around them, and the head of a report. Devices have 100.64.0.2 and so on in
// the tunnel, and a host of the lan is behind the gateway:
//
//   device 203.0.113.2 --veth(1500)-- .1 gateway 198.51.100.1 --veth(1500)-- 198.51.100.2 lan

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectDatabase, migrate } from '../../models/index.ts';
import { addManyRules } from '../support/database/many-devices.ts';
import { Postern } from '../support/gateway/postern.ts';
import type { RootlessStart } from '../support/gateway/launcher.ts';
import { pidOfPasta, prepareRootless } from '../support/gateway/rootless.ts';
import { type Host, Network } from '../support/network/namespaces.ts';
import { letPing } from '../support/network/topology.ts';
import { type KeyPair, makeKeyPair, WireguardClient } from '../support/network/wireguard-client.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';
import { PROFILED_NODE } from './profile.ts';

export const MTU = 1420;
/** The host in the lan. */
export const LAN = '198.51.100.2';
const LAN_NETWORK = '198.51.100.0/24';
/** The first port at which iperf3 listens there. */
export const IPERF_PORT = 5_201;
/** The address of a gateway's API. */
const API = '10.255.78.2';
const WIREGUARD_GO = process.env['WIREGUARD_GO'] ?? 'wireguard-go';

/** A gateway under test: its processes, and how a client reaches it. */
export interface Gateway {
  readonly pid: number;
  /** Another process that carries its packets: pasta. */
  readonly carrierPid?: number;
  /** Where its pages are, and who may sign in there. */
  readonly console?: { readonly uri: string; readonly email: string; readonly password: string };
  readonly serverPublicKey: string;
  readonly presharedKey: string;
}

export type StartGateway = (host: Host, clientPublicKeys: readonly string[]) => Promise<Gateway>;
export type StartClient = (
  host: Host,
  keys: KeyPair,
  gateway: Gateway,
  device: number,
) => Promise<void>;

/** The address of a device in the tunnel. */
export const addressOf = (device: number): string => `100.64.0.${2 + device}`;
/** The two ends of its link: of the gateway, and its own. */
export const linkOf = (device: number): [string, string] => [
  `203.0.113.${4 * device + 1}`,
  `203.0.113.${4 * device + 2}`,
];
export const endpointOf = (device: number): string => `${linkOf(device)[0]}:51820`;
const NO_PRESHARED_KEY = Buffer.alloc(32).toString('base64');

/** Bits a second, more than any gateway here carries. */
const HIGH_LIMIT = 1e11;

export interface PosternOptions {
  readonly rules?: number;
  /** Whether devices have limits, and their users quotas, that no transfer reaches. */
  readonly hasLimits?: boolean;
  readonly workers?: number;
  /** Whether an ordinary user starts it; then it and the one of root masquerade. */
  readonly isRootless?: boolean;
  readonly masquerades?: boolean;
  /** Whether packets leave by sockets in place of a TUN. */
  readonly hasSockets?: boolean;
  /** Another checkout. */
  readonly root?: string | undefined;
  /** Whether perf is to know the names of its functions. */
  readonly isProfiled?: boolean;
}

export async function startPostern(
  host: Host,
  clientPublicKeys: readonly string[],
  {
    rules = 0,
    workers: count = 1,
    hasLimits = false,
    isRootless = false,
    hasSockets = false,
    masquerades = isRootless || hasSockets,
    root,
    isProfiled = false,
  }: PosternOptions = {},
): Promise<Gateway> {
  const folder = temporaryFolder('postern-bench-');
  const place = { url: `sqlite:${folder}/bench.sqlite`, encryptionKey: randomBytes(32) };
  if (rules > 0) await prepare(place, rules);
  const settings = {
    DATAPLANE_WORKERS: String(count),
    WIREGUARD_MTU: String(MTU),
    // wireguard-go translates no addresses either: the lan knows the way to devices.
    WIREGUARD_IPV4_MASQUERADE: String(masquerades),
    WIREGUARD_IPV6_MASQUERADE: String(masquerades),
    LOG_LEVEL: 'warn',
    ...(hasSockets ? { WIREGUARD_TUN: 'sockets' } : {}),
    ...(isProfiled ? { NODE_OPTIONS: PROFILED_NODE } : {}),
    ...(isRootless
      ? {}
      : {
          DATABASE_URL: place.url,
          DATABASE_ENCRYPTION_KEY: place.encryptionKey.toString('base64'),
        }),
  };
  if (hasSockets) await letPing(host);
  const rootless = isRootless ? await openRootless(host) : { settings: {}, wrapper: [] };
  const all = { ...settings, ...rootless.settings };
  const postern = new Postern(host, API, all, rootless.wrapper, root);
  await postern.start();
  let serverPublicKey = '';
  for (const [i, public_key] of clientPublicKeys.entries()) {
    const quota = hasLimits ? { quota: 1e15 } : {};
    const user = await postern.create('user', { email: `bench${i}@example.test`, ...quota });
    const device = await postern.create('device', {
      user_id: user.id,
      public_key,
      ipv4: addressOf(i),
      preshared_key: NO_PRESHARED_KEY,
      ...(hasLimits ? { limit_down: HIGH_LIMIT, limit_up: HIGH_LIMIT } : {}),
    });
    serverPublicKey = String(device['server_public_key']);
  }
  return {
    pid: postern.pid,
    console: {
      uri: postern.api,
      email: postern.environment['DEFAULT_ADMIN_EMAIL'] ?? '',
      password: postern.environment['DEFAULT_ADMIN_PASSWORD'] ?? '',
    },
    ...(isRootless ? { carrierPid: await pidOfPasta(host) } : {}),
    serverPublicKey,
    presharedKey: NO_PRESHARED_KEY,
  };
}

/** pasta leaves the host where its default route leads. */
async function openRootless(host: Host): Promise<RootlessStart> {
  await host.ip('route', 'add', 'default', 'via', LAN);
  return prepareRootless(host);
}

/** Adds rules before the start. Without any, the gateway migrates: it may be an older one. */
async function prepare(
  place: { readonly url: string; readonly encryptionKey: Buffer },
  rules: number,
): Promise<void> {
  const database = await connectDatabase(place);
  await migrate(database);
  await addManyRules(database, rules);
  await database.close();
}

export async function startWireguardGo(
  host: Host,
  clientPublicKeys: readonly string[],
): Promise<Gateway> {
  const keys = makeKeyPair();
  const child = host.start(WIREGUARD_GO, ['-f', 'wg0'], {
    env: { ...process.env, WG_PROCESS_FOREGROUND: '1', LOG_LEVEL: 'error' },
  });
  for (let i = 0; !(await host.succeeds('wg', 'show', 'wg0')); i++) {
    if (i === 100) throw new Error('wireguard-go did not start');
    await sleep(50);
  }
  const path = join(temporaryFolder('postern-bench-'), 'wg0.conf');
  const peers = clientPublicKeys.map(
    (key, i) => `[Peer]\nPublicKey = ${key}\nAllowedIPs = ${addressOf(i)}/32\n`,
  );
  writeFileSync(
    path,
    `[Interface]\nPrivateKey = ${keys.privateKey}\nListenPort = 51820\n${peers.join('')}`,
  );
  await host.run('wg', 'setconf', 'wg0', path);
  await host.ip('address', 'add', '100.64.0.1/10', 'dev', 'wg0');
  await host.ip('link', 'set', 'wg0', 'mtu', String(MTU), 'up');
  await host.run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
  return {
    pid: child.pid ?? 0,
    serverPublicKey: keys.publicKey,
    presharedKey: NO_PRESHARED_KEY,
  };
}

/** The client of all gateways, at a host of its own. */
export async function startWireguardGoClient(
  host: Host,
  keys: KeyPair,
  gateway: Gateway,
  device: number,
): Promise<void> {
  const client = new WireguardClient(host, {
    keys,
    ...gateway,
    endpoint: endpointOf(device),
    addresses: [addressOf(device)],
    routes: [LAN_NETWORK],
    mtu: MTU,
  });
  await client.start();
}

/** Hosts, each in a network namespace, and the names of the links at both sides of the gateway. */
export interface Machines {
  readonly network: Network;
  readonly clients: readonly Host[];
  readonly gateway: Host;
  readonly lan: Host;
  readonly ends: readonly (readonly [Host, string])[];
}

/** Makes a gateway with so many devices; namespaces begin with `prefix`. */
export async function buildNetwork(prefix: string, devices: number): Promise<Machines> {
  const network = new Network(prefix);
  const gateway = await network.addHost('gw');
  const lan = await network.addHost('lan');
  const clients: Host[] = [];
  const ends: [Host, string][] = [
    [gateway, 'lan'],
    [lan, 'l0'],
  ];
  for (let i = 0; i < devices; i++) {
    const client = await network.addHost(`c${i}`);
    const [there, here] = linkOf(i);
    await network.link(
      { host: client, name: 'c0', addresses: [`${here}/30`] },
      { host: gateway, name: `g${i}`, addresses: [`${there}/30`] },
    );
    clients.push(client);
    ends.push([client, 'c0'], [gateway, `g${i}`]);
  }
  await network.link(
    { host: gateway, name: 'lan', addresses: ['198.51.100.1/24'] },
    { host: lan, name: 'l0', addresses: [`${LAN}/24`] },
  );
  await network.link(
    { host: null, name: 'm0', addresses: ['10.255.78.1/30'] },
    { host: gateway, name: 'm1', addresses: [`${API}/30`] },
  );
  await lan.ip('route', 'add', '100.64.0.0/10', 'via', '198.51.100.1');
  return { network, clients, gateway, lan, ends };
}

/** Postern against wireguard-go, or against another checkout where one is named. */
export function gatewaysAgainst(
  against: string,
  options: PosternOptions = {},
): Record<string, StartGateway> {
  const postern: StartGateway = (host, keys) => startPostern(host, keys, options);
  if (against === '') return { postern, 'wireguard-go': startWireguardGo };
  return {
    'this checkout': postern,
    'the other': (host, keys) => startPostern(host, keys, { ...options, root: against }),
  };
}

/** Measures gateways in turn; by name, what each round gave. */
export async function inRounds<Gateways, Result>(
  rounds: number,
  gateways: Readonly<Record<string, Gateways>>,
  measure: (gateway: Gateways) => Promise<Result>,
): Promise<Map<string, Result[]>> {
  const results = new Map<string, Result[]>();
  for (let round = 1; round <= rounds; round++)
    for (const [name, gateway] of Object.entries(gateways)) {
      process.stderr.write(`round ${round} of ${rounds}: ${name}\n`);
      results.set(name, [...(results.get(name) ?? []), await measure(gateway)]);
    }
  return results;
}

/** The head of a report: when, which commit, what; the command, the machine and what ran on it. */
export function reportHead(title: string, command: string): string {
  const day = new Date().toISOString().slice(0, 10);
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  }).trim();
  const version = execFileSync(WIREGUARD_GO, ['--version'], { encoding: 'utf8' }).split('\n')[0];
  return `### ${day}, ${commit}: ${title}

\`${command}\`; ${cpus().length} × ${cpus()[0]?.model.trim()}, Linux ${release()}, Node ${process.versions.node}, ${version}`;
}
