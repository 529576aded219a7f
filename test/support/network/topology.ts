// The network of the end-to-end tests:
//
//   alice  192.0.2.2/24, 2001:db8:1::2/64   --+
//                                             |  gateway                               lan
//   bob    192.0.3.2/24, 2001:db8:3::2/64   --+  192.0.2.1   198.51.100.1/24  --  198.51.100.2, .3
//                                                2001:db8:1::1 2001:db8:2::1/64     2001:db8:2::2, ::3
//   this machine  10.255.77.1/30            ---- 10.255.77.2/30   (for the API alone)
//
// The lan has no route to the tunnel networks: it can answer only what is masqueraded.

import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { way } from '../suite/ways.ts';
import { type Host, Network } from './namespaces.ts';

const API_NETWORK = '10.255.77';
export const API_ADDRESS = `${API_NETWORK}.2`;
export const GATEWAY4 = '192.0.2.1';
export const GATEWAY6 = '2001:db8:1::1';
export const GATEWAY4_BOB = '192.0.3.1';
export const GATEWAY6_BOB = '2001:db8:3::1';
export const LAN4 = '198.51.100.2';
export const LAN4_OTHER = '198.51.100.3';
export const LAN6 = '2001:db8:2::2';
export const LAN6_OTHER = '2001:db8:2::3';
export const TUNNEL4 = '100.64.0.1';
export const TUNNEL6 = 'fd00::1';
/** What clients reach through the tunnel. */
export const ROUTES = ['100.64.0.0/10', 'fd00::/106', '198.51.100.0/24', '2001:db8:2::/64'];

/** The hosts. */
export interface Topology {
  readonly network: Network;
  readonly alice: Host;
  readonly bob: Host;
  readonly gateway: Host;
  readonly lan: Host;
}

/** Builds the network; `prefix` and the `/30` network of the API keep several apart. */
export async function buildTopology(prefix: string, api = API_NETWORK): Promise<Topology> {
  const network = new Network(prefix);
  const alice = await network.addHost('alice');
  const bob = await network.addHost('bob');
  const gateway = await network.addHost('gw');
  const lan = await network.addHost('lan');
  await network.link(
    { host: alice, name: 'c0', addresses: ['192.0.2.2/24', '2001:db8:1::2/64'] },
    { host: gateway, name: 'g0', addresses: [`${GATEWAY4}/24`, `${GATEWAY6}/64`] },
  );
  await network.link(
    { host: bob, name: 'c0', addresses: ['192.0.3.2/24', '2001:db8:3::2/64'] },
    { host: gateway, name: 'g2', addresses: [`${GATEWAY4_BOB}/24`, `${GATEWAY6_BOB}/64`] },
  );
  await network.link(
    { host: gateway, name: 'g1', addresses: ['198.51.100.1/24', '2001:db8:2::1/64'] },
    {
      host: lan,
      name: 'l0',
      addresses: [`${LAN4}/24`, `${LAN4_OTHER}/24`, `${LAN6}/64`, `${LAN6_OTHER}/64`],
    },
  );
  await network.link(
    { host: null, name: 'm0', addresses: [`${api}.1/30`] },
    { host: gateway, name: 'm1', addresses: [`${api}.2/30`] },
  );
  if (way !== 'tun') await letPing(gateway);
  if (way === 'rootless') await addDefaultRoutes(gateway);
  return { network, alice, bob, gateway, lan };
}

/** Lets all users ask for echoes, as Debian's systemd does; a new network lets none. */
export async function letPing(host: Host): Promise<void> {
  await host.run('sysctl', '-qw', 'net.ipv4.ping_group_range=0 2147483647');
}

/** A gateway without root takes the addresses of the interface that these routes name. */
export async function addDefaultRoutes(host: Host): Promise<void> {
  for (const via of [LAN4, LAN6]) await host.ip('route', 'add', 'default', 'via', via);
}

const PROGRAM = resolve(import.meta.dirname, 'traffic.ts');

/** A running traffic program (traffic.ts) and the lines that it prints. */
export class Traffic {
  readonly child: ChildProcess;
  readonly lines: Record<string, unknown>[] = [];
  #waiting: (() => void)[] = [];
  #ended = false;

  constructor(host: Host, ...args: (string | number)[]) {
    this.child = host.start(process.execPath, [PROGRAM, ...args.map(String)]);
    const reader = createInterface({ input: this.child.stdout! });
    reader.on('line', (line) => {
      this.lines.push(JSON.parse(line) as Record<string, unknown>);
      this.#notify();
    });
    reader.on('close', () => {
      this.#ended = true;
      this.#notify();
    });
  }

  #notify(): void {
    for (const resolveWaiting of this.#waiting.splice(0)) resolveWaiting();
  }

  /** The first line for which `test` holds; rejects when the program ends without one. */
  async line(test: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.lines.find((candidate) => test(candidate));
      if (found !== undefined) return found;
      if (this.#ended) throw new Error('the traffic program ended without that line');
      await new Promise<void>((resolveWaiting) => this.#waiting.push(resolveWaiting));
    }
  }

  /** Waits until the program listens. */
  async ready(): Promise<this> {
    await this.line((line) => line['ready'] === true);
    return this;
  }

  /** The program does nothing until `resume`. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }
}

/** Runs a traffic program to its end and returns the last line that it printed. */
export async function traffic(
  host: Host,
  ...args: (string | number)[]
): Promise<Record<string, unknown>> {
  const { stdout } = await host.run(process.execPath, PROGRAM, ...args.map(String));
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as Record<string, unknown>;
}

/** Sends bytes over TCP and returns what both ends say of them: how many, and their SHA-256. */
export async function transfer(
  from: Host,
  to: Host,
  address: string,
  bytes: number,
  port = 6000,
): Promise<{ sent: Record<string, unknown>; received: Record<string, unknown> }> {
  const receiver = await new Traffic(to, 'receive', port).ready();
  const sent = await traffic(from, 'send', address, port, bytes);
  const received = await receiver.line((line) => 'sha256' in line);
  return { sent, received };
}

/** Datagrams on their way from one host to another, until they are ended. */
export interface Beacon {
  /** When the last of them came, Unix time in ms; 0 before the first. */
  readonly last: () => number;
  readonly stop: () => Promise<void>;
}

/** Where datagrams go, and how many leave each time; each of them has a source port of its own. */
export interface BeaconOptions {
  readonly address: string;
  readonly port: number;
  readonly everyMs: number;
  readonly flows?: number;
}

/** Sends datagrams to an address of a host, and watches them come. */
export async function beginBeacon(
  from: Host,
  to: Host,
  { address, port, everyMs, flows = 1 }: BeaconOptions,
): Promise<Beacon> {
  const watch = await new Traffic(to, 'watch', port, address).ready();
  const addresses = Array.from({ length: flows }, () => address);
  const beacon = new Traffic(from, 'beacon', port, everyMs, ...addresses);
  return {
    last: () => Number(watch.lines.findLast((line) => 'at' in line)?.['at'] ?? 0),
    stop: async () => {
      await beacon.stop();
      await watch.stop();
    },
  };
}

/**
 * Begins datagrams at a pace between two hosts, both ways; `address` is that of the near one. The
 * result ends them, and resolves to what each end saw: the far one those that went down, the near
 * one those that went up.
 */
export async function beginPace<Seen>(
  far: Host,
  near: Host,
  { address, port, everyMs }: Omit<BeaconOptions, 'flows'>,
): Promise<() => Promise<Record<'up' | 'down', Seen>>> {
  const ends = [
    await new Traffic(near, 'pace', port, everyMs).ready(),
    await new Traffic(far, 'pace', port, everyMs, address).ready(),
  ];
  return async () => {
    for (const { child } of ends) child.stdin?.end();
    const [up, down] = await Promise.all(ends.map((end) => end.line((line) => 'received' in line)));
    return { up, down } as Record<'up' | 'down', Seen>;
  };
}

/** Whether a TCP connection can be made. */
export function canReach(host: Host, to: string, port: number): Promise<boolean> {
  return host.succeeds(process.execPath, PROGRAM, 'reach', to, String(port));
}

/** Whether at least one of `count` pings is answered. */
export function canPing(host: Host, to: string, count = 2): Promise<boolean> {
  return host.succeeds('ping', '-n', '-c', String(count), '-i', '0.2', '-W', '1', to);
}
