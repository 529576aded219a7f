// The gateways that benchmarks of whole gateways compare, each in a network namespace: Postern, of
// this checkout or of another one, and wireguard-go. Devices have 100.64.0.2 and so on in the tunnel.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectDatabase, migrate } from '../../models/index.ts';
import { addManyRules } from '../support/database/many-devices.ts';
import { Postern } from '../support/gateway/postern.ts';
import type { Host } from '../support/network/namespaces.ts';
import { type KeyPair, makeKeyPair } from '../support/network/wireguard-client.ts';
import { PROFILED_NODE } from './profile.ts';

export const MTU = 1420;
/** The address of a gateway's API. */
export const API = '10.255.78.2';
export const WIREGUARD_GO = process.env['WIREGUARD_GO'] ?? 'wireguard-go';

/** A gateway under test: its process, and how a client reaches it. */
export interface Gateway {
  readonly pid: number;
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

export interface PosternOptions {
  readonly rules?: number;
  readonly workers?: number;
  /** Another checkout. */
  readonly root?: string;
  /** Whether perf is to know the names of its functions. */
  readonly isProfiled?: boolean;
}

export async function startPostern(
  host: Host,
  clientPublicKeys: readonly string[],
  { rules = 0, workers: count = 1, root, isProfiled = false }: PosternOptions = {},
): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  const place = { url: `sqlite:${folder}/bench.sqlite`, encryptionKey: randomBytes(32) };
  const database = await connectDatabase(place);
  await migrate(database);
  await addManyRules(database, rules);
  await database.close();
  const settings = {
    DATAPLANE_WORKERS: String(count),
    WIREGUARD_MTU: String(MTU),
    // wireguard-go translates no addresses either: the lan knows the way to devices.
    WIREGUARD_IPV4_MASQUERADE: 'false',
    WIREGUARD_IPV6_MASQUERADE: 'false',
    LOG_LEVEL: 'warn',
    ...(isProfiled ? { NODE_OPTIONS: PROFILED_NODE } : {}),
    DATABASE_URL: place.url,
    DATABASE_ENCRYPTION_KEY: place.encryptionKey.toString('base64'),
  };
  const postern = new Postern(host, API, settings, [], root);
  await postern.start();
  let serverPublicKey = '';
  for (const [i, public_key] of clientPublicKeys.entries()) {
    const user = await postern.create('user', { email: `bench${i}@example.test` });
    const device = await postern.create('device', {
      user_id: user.id,
      public_key,
      ipv4: addressOf(i),
      preshared_key: NO_PRESHARED_KEY,
    });
    serverPublicKey = String(device['server_public_key']);
  }
  return {
    pid: postern.pid,
    serverPublicKey,
    presharedKey: NO_PRESHARED_KEY,
  };
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
  const path = join(mkdtempSync(join(tmpdir(), 'postern-bench-')), 'wg0.conf');
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
