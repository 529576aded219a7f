// The main thread's half: it opens what the operating system has to give (TUN, sockets, eventfd),
// hands it to the worker, and carries configuration in and statistics out. Because the descriptors
// are its own, a worker that dies of an exception is started again on the same interface and port.

import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { GatewayConfig, NetworkConfig, Sample } from './contract.ts';
import { type Change, diff, EMPTY_CONFIG, isEmpty } from './diff.ts';
import { buffersOf } from './filter/compile.ts';
import { enableForwarding, loadMasquerade, removeMasquerade } from './io/system.ts';
import { openUapi, type Uapi } from './io/uapi.ts';
import { type Addon, loadAddon } from './native/index.ts';
import { derivePublicKey } from './noise/keys.ts';
import { Totals } from './totals.ts';
import type { Command, Report, WorkerOptions } from './worker.ts';

/** What a gateway is made of; fixed while it runs. */
export interface GatewayOptions {
  /** 32 bytes. */
  readonly privateKey: Uint8Array;
  /**
   * Unix time in ms before which no initiation is dated. Devices take only later timestamps than
   * they have seen, so a clock that was set back would mute the gateway.
   */
  readonly timestampFloorMs: number;
  /** UDP port; 0 takes a free one. */
  readonly listenPort: number;
  readonly interfaceName: string;
  readonly mtu: number;
  readonly tun: 'auto' | 'required' | 'off';
  /** Null switches a family off. */
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly masqueradeIpv4: boolean;
  readonly masqueradeIpv6: boolean;
  readonly egressInterface: string | null;
  readonly forwarding: 'auto' | 'off';
  /** Whether `wg show` may ask for the state of the interface. */
  readonly uapi: 'auto' | 'off';
  readonly engine: 'auto' | 'native' | 'typescript';
  readonly x25519: 'openssl' | 'tweetnacl';
  readonly defaultAction: 'accept' | 'drop';
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** What runs, for people and for health. */
export interface GatewayFacts {
  readonly engine: 'native' | 'typescript';
  readonly listenPort: number;
  /** Name of the TUN, null without one. */
  readonly tun: string | null;
  readonly masquerade: boolean;
  /** False while the worker is being started again. */
  readonly alive: boolean;
}

/** A running data plane. */
export interface Gateway {
  readonly facts: GatewayFacts;
  /** Makes a configuration the one in force; resolves when every further packet obeys it. */
  apply(config: GatewayConfig): Promise<void>;
  /** Takes what moved since the last sample. */
  sample(): Promise<Sample>;
  /** Stops: keys are wiped, the TUN and the nft table go. */
  close(): Promise<void>;
}

/** Starts a data plane; rejects with a message that names the mend. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const system = openSystem(options);
  const shell = new Shell(options, system);
  try {
    await shell.start();
    await shell.openEgress();
    await shell.openUapi();
  } catch (error) {
    await shell.close();
    throw error;
  }
  return shell;
}

// ---- what the operating system gives -------------------------------------------------------

/** Descriptors by number, -1 where there is none. */
interface System {
  readonly addon: Addon | null;
  readonly engine: 'native' | 'typescript';
  readonly udp4: number;
  readonly udp6: number;
  readonly wake: number;
  readonly tun: number;
  readonly tunTakesUdp: boolean;
  readonly listenPort: number;
}

function openSystem(options: GatewayOptions): System {
  const loaded = options.engine === 'typescript' && options.tun === 'off' ? null : loadAddon();
  const addon = loaded?.addon ?? null;
  if (options.engine === 'native' && addon === null)
    throw new Error(
      'DATAPLANE_ENGINE=native, but the addon was not built; run: npm run build:native',
    );
  if (options.engine === 'auto' && addon === null)
    options.log(
      'warn',
      'the native engine was not built, so the slow TypeScript engine runs; build it with: npm run build:native',
    );
  const engine = addon !== null && options.engine !== 'typescript' ? 'native' : 'typescript';
  const tun = openTun(options, addon, engine === 'native');
  const nothing = { udp4: -1, udp6: -1, wake: -1 };
  // The twin opens its own sockets, in the worker.
  if (engine === 'typescript' || addon === null)
    return { addon, engine, ...nothing, ...tun, listenPort: options.listenPort };
  try {
    return { addon, engine, ...openSockets(options, addon), ...tun };
  } catch (error) {
    if (tun.tun >= 0) addon.closeFd(tun.tun);
    throw error;
  }
}

function openTun(
  options: GatewayOptions,
  addon: Addon | null,
  virtioHeader: boolean,
): { tun: number; tunTakesUdp: boolean } {
  const none = { tun: -1, tunTakesUdp: false };
  if (options.tun === 'off') return none;
  const { interfaceName } = options;
  let fd = -1;
  try {
    if (addon === null)
      throw Object.assign(new Error('the addon was not built'), { code: 'NOT_BUILT' });
    const opened = addon.openTun(interfaceName, virtioHeader);
    fd = opened.fd;
    addon.setLink(interfaceName, options.mtu);
    addAddresses(options, addon);
    return { tun: fd, tunTakesUdp: opened.takesUdp };
  } catch (error) {
    if (fd >= 0) addon?.closeFd(fd);
    const complaint = `no TUN interface ${interfaceName}: ${tunMend(error)}`;
    if (options.tun === 'required') throw new Error(`WIREGUARD_TUN=required, but ${complaint}`);
    options.log(
      'warn',
      `${complaint}. Devices reach each other and the gateway's address, but no network beyond`,
    );
    return none;
  }
}

function addAddresses(options: GatewayOptions, addon: Addon): void {
  const { interfaceName, ipv4, ipv6 } = options;
  if (ipv4 !== null) addon.addAddress(interfaceName, ipv4.address, ipv4.prefixBits);
  if (ipv6 === null) return;
  try {
    addon.addAddress(interfaceName, ipv6.address, ipv6.prefixBits);
  } catch (error) {
    // The rest of the gateway does not depend on it: a host may have IPv6 switched off.
    options.log(
      'warn',
      `${interfaceName} has no IPv6 address (${messageOf(error)}). Switch IPv6 on (sysctl -w net.ipv6.conf.all.disable_ipv6=0) or set WIREGUARD_IPV6_ENABLED=false`,
    );
  }
}

function tunMend(error: unknown): string {
  const code = (error as { code?: string }).code;
  switch (code ?? '') {
    case 'NOT_BUILT':
      return 'the addon was not built; install a C++ compiler and run: npm run build:native';
    case 'EPERM':
    case 'EACCES':
      return 'no right to make one; run as root or with CAP_NET_ADMIN';
    case 'ENOENT':
    case 'ENODEV':
      return '/dev/net/tun is missing; run: modprobe tun (in a container: --device /dev/net/tun)';
    case 'EBUSY':
      return 'another process uses that name; stop it or set WIREGUARD_INTERFACE';
    default:
      return messageOf(error);
  }
}

function openSockets(
  options: GatewayOptions,
  addon: Addon,
): { udp4: number; udp6: number; wake: number; listenPort: number } {
  const opened: number[] = [];
  try {
    const udp4 = addon.openUdp(false, options.listenPort);
    opened.push(udp4);
    const listenPort = addon.boundPort(udp4);
    const udp6 = openUdp6(addon, listenPort);
    opened.push(udp6);
    return { udp4, udp6, wake: addon.openWake(), listenPort };
  } catch (error) {
    for (const fd of opened) addon.closeFd(fd);
    throw portFault(error, options.listenPort);
  }
}

/** A host without IPv6 gets one socket. */
function openUdp6(addon: Addon, port: number): number {
  try {
    return addon.openUdp(true, port);
  } catch (error) {
    if ((error as { code?: string }).code === 'EAFNOSUPPORT') return -1;
    throw error;
  }
}

function portFault(error: unknown, port: number): Error {
  const text = messageOf(error);
  return /EADDRINUSE|in use/.test(`${(error as { code?: string }).code} ${text}`)
    ? new Error(
        `UDP port ${port} is taken; stop what uses it (ss -lunp) or set WIREGUARD_PORT to another`,
      )
    : new Error(`UDP port ${port} cannot be opened: ${text}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// ---- the shell -----------------------------------------------------------------------------

const RESTART_MS = 100;
const STOP_MS = 2_000;

interface Pending {
  readonly resolve: (report: Report) => void;
  readonly reject: (error: Error) => void;
}

class Shell implements Gateway {
  readonly #options: GatewayOptions;
  readonly #system: System;
  readonly #startedAt = { wallMs: Date.now(), now: performance.now() };
  #listenPort: number;
  #worker: Worker | null = null;
  #port: MessagePort | null = null;
  #alive = false;
  #closing = false;
  #masquerade = false;
  /** What the worker obeys, or will once it has taken what was sent. */
  #config: GatewayConfig = EMPTY_CONFIG;
  readonly #totals = new Totals();
  #uapi: Uapi | null = null;
  readonly #pending = new Map<number, Pending>();
  /** Applies that a dead worker left unanswered: the next worker's first one answers them. */
  #orphaned: Pending[] = [];
  #lastId = 0;

  constructor(options: GatewayOptions, system: System) {
    this.#options = options;
    this.#system = system;
    this.#listenPort = system.listenPort;
  }

  get facts(): GatewayFacts {
    return {
      engine: this.#system.engine,
      listenPort: this.#listenPort,
      tun: this.#system.tun >= 0 ? this.#options.interfaceName : null,
      masquerade: this.#masquerade,
      alive: this.#alive,
    };
  }

  // ---- the worker ----

  /** Starts the worker and waits until it is ready. */
  async start(): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    const { privateKey } = this.#options;
    const { engine, udp4, udp6, wake, tun, tunTakesUdp } = this.#system;
    const { ipv4, ipv6, mtu, x25519, defaultAction } = this.#options;
    const workerData: WorkerOptions = {
      engine,
      x25519,
      identity: { privateKey, publicKey: derivePublicKey(privateKey) },
      timestampFloorMs: this.#timestampFloorMs(),
      ipv4,
      ipv6,
      defaultAction,
      mtu,
      udp4,
      udp6,
      wake,
      tun,
      tunTakesUdp,
      listenPort: this.#listenPort,
      port: port2,
    };
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData,
      transferList: [port2],
    });
    this.#worker = worker;
    this.#port = port1;
    await new Promise<void>((resolve, reject) => {
      port1.on('message', (report: Report) => {
        if (report.type === 'ready') {
          this.#listenPort = report.listenPort;
          this.#alive = true;
          resolve();
        } else if (report.type === 'failed' && !this.#alive) {
          reject(portFault(new Error(report.message), this.#listenPort));
        } else {
          this.#take(report);
        }
      });
      worker.on('error', (error) => {
        reject(error);
        this.#options.log('error', `the data plane failed: ${error.stack ?? error.message}`);
      });
      worker.on('exit', () => {
        reject(new Error('the data plane ended before it was ready'));
        this.#onExit(worker);
      });
    });
  }

  /** Where an earlier worker's timestamps may have come to, whatever became of the wall clock. */
  #timestampFloorMs(): number {
    const { wallMs, now } = this.#startedAt;
    return Math.max(this.#options.timestampFloorMs, wallMs) + performance.now() - now;
  }

  #take(report: Report): void {
    switch (report.type) {
      case 'applied':
      case 'sample':
        this.#pending.get(report.id)?.resolve(report);
        this.#pending.delete(report.id);
        return;
      case 'fault':
        return this.#options.log('error', `a packet made the data plane fail: ${report.message}`);
      case 'failed':
        return this.#options.log('error', `the data plane failed: ${report.message}`);
      case 'tunGone':
        return this.#options.log(
          'error',
          `the interface ${this.#options.interfaceName} has vanished; restart Postern to make it again`,
        );
      case 'ready':
        return;
    }
  }

  #onExit(worker: Worker): void {
    if (worker !== this.#worker) return;
    const wasAlive = this.#alive;
    this.#alive = false;
    this.#port?.close();
    if (this.#closing || !wasAlive) return;
    this.#options.log('warn', 'the data plane ended and is started again');
    this.#orphaned.push(...this.#pending.values());
    this.#pending.clear();
    setTimeout(() => void this.#restart(), RESTART_MS).unref();
  }

  async #restart(): Promise<void> {
    if (this.#closing) return;
    try {
      await this.start();
      const orphaned = this.#orphaned;
      this.#orphaned = [];
      const applied = await this.#request((id) => ({
        type: 'apply',
        id,
        change: diff(EMPTY_CONFIG, this.#config),
      }));
      for (const pending of orphaned) pending.resolve(applied);
      this.#options.log('info', 'the data plane serves again');
    } catch (error) {
      this.#options.log('error', `the data plane could not be started again: ${messageOf(error)}`);
      setTimeout(() => void this.#restart(), 10 * RESTART_MS).unref();
    }
  }

  #send(command: Command): void {
    this.#port?.postMessage(command, command.type === 'apply' ? buffersIn(command.change) : []);
    const { addon, wake } = this.#system;
    if (addon !== null && wake >= 0) addon.wake(wake);
    else this.#worker?.postMessage(null);
  }

  #request(command: (id: number) => Command): Promise<Report> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#pending.set(id, { resolve, reject });
      if (this.#alive) this.#send(command(id));
    });
  }

  // ---- the gateway ----

  async apply(config: GatewayConfig): Promise<void> {
    if (this.#closing) throw closed();
    const change = diff(this.#config, config);
    this.#config = config;
    this.#totals.forget(change.removed);
    if (isEmpty(change)) return;
    if (!this.#alive) {
      // The next worker begins with the whole configuration.
      await new Promise<Report>((resolve, reject) => this.#orphaned.push({ resolve, reject }));
      return;
    }
    await this.#request((id) => ({ type: 'apply', id, change }));
  }

  async sample(): Promise<Sample> {
    const nothing: Sample = { peers: [], rules: [], drops: {} };
    if (!this.#alive) return nothing;
    const report = await this.#request((id) => ({ type: 'sample', id }));
    if (report.type !== 'sample') return nothing;
    this.#totals.add(report.sample.peers, this.#config);
    return report.sample;
  }

  /** Where `wg show` asks; without rights to make a socket there it cannot. */
  async openUapi(): Promise<void> {
    const { interfaceName, privateKey, uapi, log } = this.#options;
    if (uapi === 'off') return;
    try {
      this.#uapi = await openUapi(interfaceName, () => ({
        privateKey,
        listenPort: this.#listenPort,
        peers: this.#totals.of(this.#config),
      }));
    } catch (error) {
      log('info', `"wg show ${interfaceName}" cannot ask this gateway: ${messageOf(error)}`);
    }
  }

  /** Forwarding and masquerading; what is missing is a warning, not a failure. */
  async openEgress(): Promise<void> {
    if (this.#system.tun < 0) return;
    const { ipv4, ipv6, forwarding, log } = this.#options;
    if (forwarding === 'auto') {
      const faults = enableForwarding({ ipv4: ipv4 !== null, ipv6: ipv6 !== null });
      for (const fault of faults) log('warn', fault);
    }
    const networks = this.#masqueradedNetworks();
    if (networks.length === 0) return;
    const { interfaceName, egressInterface } = this.#options;
    const fault = await loadMasquerade({ interfaceName, networks, egressInterface });
    this.#masquerade = fault === null;
    if (fault !== null) log('warn', fault);
  }

  #masqueradedNetworks(): NetworkConfig[] {
    const { ipv4, ipv6, masqueradeIpv4, masqueradeIpv6 } = this.#options;
    return [masqueradeIpv4 ? ipv4 : null, masqueradeIpv6 ? ipv6 : null].filter(
      (network) => network !== null,
    );
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    await this.#uapi?.close();
    if (this.#masquerade) await removeMasquerade(this.#options.interfaceName);
    for (const pending of [...this.#pending.values(), ...this.#orphaned]) pending.reject(closed());
    await this.#stopWorker();
    const { addon, udp4, udp6, tun, wake } = this.#system;
    for (const fd of [udp4, udp6, tun, wake]) if (fd >= 0) addon?.closeFd(fd);
  }

  async #stopWorker(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    if (!this.#alive) {
      await worker.terminate();
      return;
    }
    this.#send({ type: 'stop' });
    const late = setTimeout(() => void worker.terminate(), STOP_MS);
    await exited;
    clearTimeout(late);
  }
}

function closed(): Error {
  return new Error('the gateway is closed');
}

function buffersIn(change: Change): ArrayBuffer[] {
  return change.scopes.flatMap(({ compiled }) => (compiled === null ? [] : buffersOf(compiled)));
}
