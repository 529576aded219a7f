// Users with a device each, created over the API, and real clients that are configured by the
// answers of the API.

import { resolve } from 'node:path';
import process from 'node:process';
import type { Answer as Explained } from '../../lib/observe/explain/fields.ts';
import type { Host } from '../support/network/namespaces.ts';
import type { Data, Postern } from '../support/gateway/postern.ts';
import { ROUTES } from '../support/network/topology.ts';
import { type KeyPair, makeKeyPair, WireguardClient } from '../support/network/wireguard-client.ts';

const MAIN = resolve(import.meta.dirname, '../../lib/start/main.ts');

/** A user with one device and the client that it runs on. */
export interface Person {
  readonly user: Data;
  device: Data;
  keys: KeyPair;
  readonly client: WireguardClient;
}

/**
 * Makes a user and a device, and starts the client; `endpoint` is host:port, `keepalive` seconds.
 */
export async function enrol(
  postern: Postern,
  host: Host,
  email: string,
  endpoint: string,
  keepalive = 25,
): Promise<Person> {
  const user = await postern.create('user', { email });
  const keys = makeKeyPair();
  const device = await postern.create('device', { user_id: user.id, public_key: keys.publicKey });
  const client = new WireguardClient(host, {
    keys,
    serverPublicKey: String(device['server_public_key']),
    presharedKey: String(device['preshared_key']),
    endpoint,
    addresses: [String(device['ipv4']), String(device['ipv6'])],
    routes: ROUTES,
    keepalive,
  });
  await client.start();
  return { user, device, keys, client };
}

/** Ends a device at a time. */
export async function expireDevice(postern: Postern, id: string, at: Date): Promise<void> {
  const { status, body } = await postern.call('PATCH', `/v0/devices/${id}`, {
    device: { ends_at: at.toISOString() },
  });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
}

/** Asks a gateway what becomes of a ping; `question` says from whom, where to and how large. */
export async function explainPing(postern: Postern, question: object): Promise<Explained> {
  const explain = { protocol: 'icmp', ...question };
  const { status, body } = await postern.call('POST', '/v0/explain', { explain });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return (body as { data: Explained }).data;
}

/** Disables or enables a user, as an administrator on the host does. */
export async function setDisabled(
  postern: Postern,
  verb: 'disable' | 'enable',
  email: string,
): Promise<void> {
  await runHere(postern, ['user', verb, '--email', email]);
}

/** Runs a command of Postern on its host, as an administrator there does; gives what it prints. */
export async function runHere({ host, environment }: Postern, command: string[]): Promise<string> {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const words = [process.execPath, MAIN, ...command];
  return (await host.run('env', '-i', ...variables, ...words)).stdout;
}
