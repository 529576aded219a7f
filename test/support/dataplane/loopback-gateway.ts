// Gateways with a worker each and real sockets on loopback, and devices that speak to them.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import type { GatewayConfig, PeerConfig, RuleConfig } from '../../../dataplane/index.ts';
import {
  createGateway,
  derivePublicKey,
  type Gateway,
  type GatewayOptions,
} from '../../../dataplane/index.ts';
import type { Endpoint } from '../../../dataplane/wire/address.ts';
import { enginesOfRun } from '../gateway/engines.ts';
import type { Lasting } from '../suite/lasting.ts';
import { addon } from './native.ts';
import { address, counting, echoRequest } from './packets.ts';
import { type Client, peer, randomBytes, seededRandom, WORKERS, World } from './simulation.ts';

export const privateKey = counting(32, 11);
export const publicKey = Buffer.from(derivePublicKey(privateKey)).toString('base64');
export const engines = addon === null ? (['typescript'] as const) : enginesOfRun;

export interface Bench {
  gateway: Gateway;
  log: string[];
}

/** A gateway on a free port that lasts as long as `t`; the workers in `early` run already. */
export async function open(
  t: Lasting,
  options: Partial<GatewayOptions> = {},
  early: readonly Worker[] = [],
): Promise<Bench> {
  const log: string[] = [];
  const given: GatewayOptions = {
    privateKey,
    timestampFloorMs: 0,
    listenPort: 0,
    interfaceName: 'postern-test',
    mtu: 1_420,
    tun: 'off',
    ipv4: { network: address('10.0.0.0'), prefixBits: 24, address: address('10.0.0.1') },
    ipv6: { network: address('fd00::'), prefixBits: 64, address: address('fd00::1') },
    masqueradeIpv4: true,
    masqueradeIpv6: true,
    egressInterface: null,
    forwarding: 'off',
    uapi: 'off',
    engine: 'auto',
    // The TypeScript engine has one worker.
    workers: options.engine === 'typescript' ? 1 : WORKERS,
    defaultAction: 'accept',
    allowsMetadata: false,
    log: (level, message) => log.push(`${level} ${message}`),
    ...options,
  };
  const gateway = await createGateway(given, early);
  t.teardown(() => gateway.close());
  return { gateway, log };
}

export function config(
  peers: readonly PeerConfig[],
  rules: Record<string, readonly RuleConfig[]> = {},
): GatewayConfig {
  return {
    peers: new Map(peers.map((one) => [one.publicKey, one])),
    rules: new Map(Object.entries(rules)),
  };
}

/** A world whose link is a socket. */
export class Loopback extends World {
  readonly #socket: Socket;

  constructor(socket: Socket, seed: number) {
    super(seed);
    this.#socket = socket;
  }

  override transmit(bytes: Uint8Array, _from: Endpoint, to: Endpoint): void {
    this.#socket.send(bytes, to.port, to.address);
  }
}

/** A WireGuard client on loopback: 10.0.0.N and fd00::N. */
export class Device {
  readonly client: Client;
  readonly #world: Loopback;

  private constructor(world: Loopback, client: Client) {
    this.#world = world;
    this.client = client;
  }

  static async open(
    t: ExecutionContext,
    gateway: Gateway,
    number: number,
    isIpv6 = false,
  ): Promise<Device> {
    const socket = createSocket(isIpv6 ? 'udp6' : 'udp4');
    const loopback = isIpv6 ? '::1' : '127.0.0.1';
    socket.bind(0, loopback);
    await once(socket, 'listening');
    const world = new Loopback(socket, number);
    const client = world.addClient({
      endpoint: { address: loopback, port: socket.address().port },
      privateKey: randomBytes(seededRandom(number), 32),
    });
    const endpoint = { address: loopback, port: gateway.facts.listenPort };
    client.addPeer(peer({ key: publicKey, endpoint }));
    const device = new Device(world, client);
    socket.on('message', (bytes, remote) =>
      device.#act(() => client.receive(bytes, { address: remote.address, port: remote.port })),
    );
    const timer = setInterval(() => device.#act(() => undefined), 20);
    t.teardown(() => {
      clearInterval(timer);
      socket.close();
    });
    return device;
  }

  #act(work: () => void): void {
    this.#world.now = performance.now();
    work();
    this.client.expire();
  }

  send(...packets: Uint8Array[]): void {
    this.#act(() => this.client.send(...packets));
  }

  /** Takes what has been delivered once there are so many packets, or after some seconds. */
  async receive(count: number): Promise<Uint8Array[]> {
    await until(() => this.client.delivered.length >= count);
    return this.client.delivered.splice(0);
  }
}

export async function until(holds: () => boolean, limitMs = 8_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!holds() && performance.now() < end) await pause(5);
}

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** The configuration of devices 2, 3, ... by their number. */
export function configOf(number: number, scope = 'owner'): PeerConfig {
  const key = Buffer.from(derivePublicKey(randomBytes(seededRandom(number), 32)));
  return peer({
    key: key.toString('base64'),
    ipv4: `10.0.0.${number}`,
    ipv6: `fd00::${number}`,
    scope,
  });
}

/** Whether a device has its ping to the gateway answered. */
export async function canPing(device: Device, number: number): Promise<boolean> {
  device.send(echoRequest(`10.0.0.${number}`, '10.0.0.1', number));
  return (await device.receive(1)).length === 1;
}

export type GatewayTest = (
  title: string,
  body: (t: ExecutionContext, bench: Bench) => Promise<void>,
  options?: Partial<GatewayOptions>,
) => void;

/** Makes tests of a gateway with one of the engines. */
export function gatewayTests(engine: (typeof engines)[number]): GatewayTest {
  return (title, body, options = {}) =>
    test.serial(`${engine}: ${title}`, async (t) => body(t, await open(t, { engine, ...options })));
}

/** What a shared gateway refused since a test began, by reason. */
type Refused = () => Promise<Record<string, number>>;

export type SharedTest = (
  title: string,
  body: (t: ExecutionContext, bench: Bench, refused: Refused) => Promise<void>,
) => void;

/**
 * Makes tests that share one gateway of an engine, because a start takes most of the time of such a
 * test: each gets it without devices and rules.
 */
export function sharedGatewayTests(file: Lasting, engine: (typeof engines)[number]): SharedTest {
  let shared: Promise<Bench> | null = null;
  return (title, body) =>
    test.serial(`${engine}: ${title}`, async (t) => {
      const bench = await (shared ??= open(file, { engine }));
      const { gateway } = bench;
      await gateway.apply(config([]));
      const { drops: before } = await gateway.sample();
      await body(t, bench, async () => {
        const { drops } = await gateway.sample();
        const since = Object.entries(drops).map(
          ([reason, count]) => [reason, count - (before[reason] ?? 0)] as const,
        );
        return Object.fromEntries(since.filter(([, count]) => count > 0));
      });
    });
}
