// The main thread's half: it opens what the operating system has to give (TUN, sockets, eventfd),
// hands it to the workers, says what should be in force, and adds up what they report. Because the
// descriptors are its own, a worker that dies of an exception is started again on the same
// interface and port. How a worker lives is in worker-link.ts; there is one of them today.

import type { Worker } from 'node:worker_threads';
import { MAX_LET_GO_PER_COMMAND } from './constants.ts';
import type { Amendment, GatewayConfig, Sample } from './contract.ts';
import {
  closeDescriptors,
  type Descriptors,
  type GatewayOptions,
  messageOf,
  openDescriptors,
  reopenTun,
} from './descriptors.ts';
import { type Change, isEmpty, Standing } from './diff.ts';
import { Egress } from './egress.ts';
import { buffersOf } from './filter/compile.ts';
import { KernelCounts, type TableFill } from './io/kernel-counts.ts';
import { readLocalAddresses } from './io/system.ts';
import { openUapi, type Uapi } from './io/uapi.ts';
import { derivePublicKey } from './noise/keys.ts';
import { joinSamples, WholeSample } from './sample.ts';
import { pagesOf } from './slices.ts';
import { type PeerTotals, Totals } from './totals.ts';
import type { WorkerOptions } from './worker.ts';
import { type LinkOwner, WorkerLink } from './worker-link.ts';

/** What runs, for people and for health. */
export interface GatewayFacts {
  readonly engine: 'native' | 'typescript';
  readonly listenPort: number;
  /** Name of the TUN, null without one. */
  readonly tun: string | null;
  readonly masquerade: boolean;
  /** The kernel's table of connections, which masquerading needs; null where there is none. */
  readonly connections: TableFill | null;
  /** False while the worker does not answer or is being started again, or without its TUN. */
  readonly alive: boolean;
}

/** A running data plane. */
export interface Gateway {
  readonly facts: GatewayFacts;
  /** Makes a configuration the one in force; resolves when every further packet obeys it. */
  apply(config: GatewayConfig): Promise<void>;
  /** The same for some entries alone, at the cost of those. */
  amend(amendment: Amendment): Promise<void>;
  /**
   * Says when other gateways with the same key shook hands with peers: by public key, Unix time in
   * ms. Those that did not do so here since are let go of, and packets for them are dropped.
   */
  letGo(heardElsewhere: ReadonlyMap<string, number>): void;
  /** Takes what moved since the last sample. */
  sample(): Promise<Sample>;
  /** Every peer that is served, and its totals as of the last sample. */
  peers(): Iterable<PeerTotals>;
  /** Stops: keys are wiped, the TUN and the nft table go. */
  close(): Promise<void>;
}

/**
 * Starts a data plane; rejects with a message that names the mend. A worker that was started before
 * has loaded by now what it needs.
 */
export async function createGateway(options: GatewayOptions, worker?: Worker): Promise<Gateway> {
  const system = openDescriptors(options);
  const gateway = new WorkerGateway(options, system);
  try {
    // Without peers the worker lets nothing pass, so the way out may be made meanwhile.
    await allOf([gateway.start(worker), gateway.openEgress()]);
    await gateway.openUapi();
    gateway.watch();
  } catch (error) {
    await gateway.close();
    throw error;
  }
  return gateway;
}

/** How often the gateway looks at what nobody reports. */
const WATCH_MS = 1_000;

class WorkerGateway implements Gateway, LinkOwner {
  readonly log: GatewayOptions['log'];
  readonly wake: (() => void) | null;
  readonly #options: GatewayOptions;
  #system: Descriptors;
  readonly #startedAt = { wallMs: Date.now(), now: performance.now() };
  #listenPort: number;
  readonly #links: readonly WorkerLink[];
  #isClosing = false;
  readonly #egress: Egress;
  readonly #kernelCounts: KernelCounts;
  #isTunGone = false;
  /** What the workers were sent last of the addresses of this host. */
  #localAddresses = '';
  /** What the workers obey, or will once they have taken what was sent. */
  readonly #standing = new Standing();
  readonly #totals = new Totals();
  #uapi: Uapi | null = null;
  #watch: NodeJS.Timeout | undefined;
  /** When the sample that was asked for last is taken. */
  #sampled: Promise<unknown> = Promise.resolve();

  constructor(options: GatewayOptions, system: Descriptors) {
    const { addon, wake } = system;
    this.#options = options;
    this.log = options.log;
    this.#system = system;
    this.#listenPort = system.listenPort;
    this.wake = addon !== null && wake >= 0 ? () => addon.wake(wake) : null;
    this.#links = [new WorkerLink(this)];
    this.#egress = new Egress(options);
    this.#kernelCounts = new KernelCounts({
      listenPort: () => this.#listenPort,
      masqueraded: () => (this.#egress.isMasqueraded ? options.interfaceName : null),
    });
  }

  get facts(): GatewayFacts {
    return {
      engine: this.#system.engine,
      listenPort: this.#listenPort,
      tun: this.#system.tun >= 0 && !this.#isTunGone ? this.#options.interfaceName : null,
      masquerade: this.#egress.isMasqueraded,
      connections: this.#kernelCounts.fill,
      alive: this.#links.every((link) => link.isWell) && !this.#isTunGone,
    };
  }

  // ---- start and stop ------------------------------------------------------------------------

  /** Starts the workers, the first of them `worker` where one runs already. */
  async start(worker?: Worker): Promise<void> {
    await allOf(this.#links.map((link, i) => link.start(i === 0 ? worker : undefined)));
  }

  /** Without a TUN nothing leaves. */
  async openEgress(): Promise<void> {
    if (this.#system.tun >= 0) await this.#egress.open();
    void this.#kernelCounts.look();
  }

  /** Where `wg show` asks; without rights to make a socket there it cannot. */
  async openUapi(): Promise<void> {
    const { interfaceName, privateKey, uapi, log } = this.#options;
    if (uapi === 'off') return;
    try {
      this.#uapi = await openUapi(interfaceName, () => ({
        privateKey,
        listenPort: this.#listenPort,
        peers: this.peers(),
      }));
    } catch (error) {
      log('info', `"wg show ${interfaceName}" cannot ask this gateway: ${messageOf(error)}`);
    }
  }

  /** Looks after what nobody reports: that a worker hangs, that this host got an address. */
  watch(): void {
    this.#watch = setInterval(() => {
      for (const link of this.#links) link.endIfHung();
      this.#sendNewLocalAddresses();
    }, WATCH_MS).unref();
  }

  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    clearInterval(this.#watch);
    await this.#uapi?.close();
    await Promise.all(this.#links.map((link) => link.close(closed())));
    closeDescriptors(this.#system);
    // After the last packet, which would leave with the address of its device.
    await this.#egress.close();
    await this.#kernelCounts.stop();
  }

  // ---- what links ask ------------------------------------------------------------------------

  workerOptions(): Omit<WorkerOptions, 'port'> {
    const { privateKey } = this.#options;
    const { engine, udp4, udp6, wake, tun, tunTakesUdp } = this.#system;
    const { ipv4, ipv6, mtu, x25519, defaultAction, allowsMetadata } = this.#options;
    return {
      engine,
      x25519,
      identity: { privateKey, publicKey: derivePublicKey(privateKey) },
      timestampFloorMs: this.#timestampFloorMs(),
      ipv4,
      ipv6,
      defaultAction,
      allowsMetadata,
      mtu,
      udp4,
      udp6,
      wake,
      tun,
      tunTakesUdp,
      listenPort: this.#listenPort,
    };
  }

  /** Where an earlier worker's timestamps may have come to, whatever became of the wall clock. */
  #timestampFloorMs(): number {
    const { wallMs, now } = this.#startedAt;
    return Math.max(this.#options.timestampFloorMs, wallMs) + performance.now() - now;
  }

  async initialize(link: WorkerLink, listenPort: number): Promise<void> {
    this.#listenPort = listenPort;
    const addresses = readLocalAddresses();
    this.#localAddresses = addresses.join(' ');
    link.send({ type: 'localAddresses', addresses });
    const all = this.#standing.fromNothing();
    // Devices are found where they were heard last, which may be elsewhere than at the start.
    const change = { ...all, added: all.added.map((peer) => this.#totals.resumed(peer)) };
    if (isEmpty(change)) return;
    await sendChange(link, change);
    sendElsewhere(link, this.#totals.elsewhere());
  }

  /** A worker keeps its descriptors for life: others begin, on an interface made again. */
  tunGone(): void {
    if (this.#isTunGone) return;
    this.#isTunGone = true;
    const { interfaceName, log } = this.#options;
    log('warn', `the interface ${interfaceName} has vanished and is made again`);
    for (const link of this.#links) link.restart();
  }

  repair(): void {
    if (this.#isTunGone) this.#system = reopenTun(this.#options, this.#system);
    this.#isTunGone = false;
  }

  // ---- what should be in force ---------------------------------------------------------------

  async apply(config: GatewayConfig): Promise<void> {
    if (this.#isClosing) throw closed();
    await this.#obey(this.#standing.replace(config));
  }

  async amend(amendment: Amendment): Promise<void> {
    if (this.#isClosing) throw closed();
    await this.#obey(this.#standing.amend(amendment));
  }

  async #obey(change: Change): Promise<void> {
    this.#totals.forget(change.removed);
    if (isEmpty(change)) return;
    await Promise.all(this.#links.map((link) => sendChange(link, change)));
  }

  letGo(heardElsewhere: ReadonlyMap<string, number>): void {
    const moved = this.#totals.letGo(heardElsewhere, this.#standing.peers);
    for (const link of this.#links) sendElsewhere(link, moved);
  }

  /** Packets for the gateway's own socket must not come through the tunnel, at any address. */
  #sendNewLocalAddresses(): void {
    const ready = this.#links.filter((link) => link.isReady);
    const addresses = readLocalAddresses();
    const text = addresses.join(' ');
    if (ready.length === 0 || text === this.#localAddresses) return;
    this.#localAddresses = text;
    for (const link of ready) link.send({ type: 'localAddresses', addresses });
  }

  // ---- totals over all links -----------------------------------------------------------------

  /** One after the other: two at once would share the parts of one. */
  sample(): Promise<Sample> {
    const sample = this.#sampled.then(() => this.#takeSample());
    this.#sampled = sample.catch(() => undefined);
    return sample;
  }

  async #takeSample(): Promise<Sample> {
    const samples = await Promise.all(this.#links.map((link) => this.#takeSampleOf(link)));
    const sample = joinSamples(samples);
    return { ...sample, drops: { ...sample.drops, ...this.#kernelCounts.drops } };
  }

  /** Asks for part after part; of a worker that ends meanwhile, what it reported is the sample. */
  async #takeSampleOf(link: WorkerLink): Promise<Sample> {
    const whole = new WholeSample();
    while (link.isReady && !this.#isClosing && !whole.isWhole) {
      const report = await link.request((id) => ({ type: 'sample', id }));
      if (report?.type !== 'sample') break;
      this.#totals.add(report.sample.peers, this.#standing.peers, Date.now());
      whole.add(report.sample);
    }
    return whole.sample;
  }

  peers(): Iterable<PeerTotals> {
    return this.#totals.of(this.#standing.peers);
  }
}

/** Resolves when the worker obeys a change; it takes over the compiled rules. */
async function sendChange(link: WorkerLink, change: Change): Promise<void> {
  const compiled = change.scopes.flatMap((scope) => scope.compiled ?? []);
  await link.request((id) => ({ type: 'apply', id, change }), compiled.flatMap(buffersOf));
}

/** A worker that is to come is sent it when it has its peers. */
function sendElsewhere(link: WorkerLink, heardElsewhere: ReadonlyMap<string, number>): void {
  if (!link.isReady) return;
  for (const page of pagesOf(heardElsewhere, MAX_LET_GO_PER_COMMAND))
    link.send({ type: 'letGo', heardElsewhere: page });
}

/** Waits for all, whichever fails; then the first fault is thrown. */
async function allOf(steps: readonly Promise<void>[]): Promise<void> {
  for (const step of await Promise.allSettled(steps))
    if (step.status === 'rejected') throw step.reason;
}

function closed(): Error {
  return new Error('the gateway is closed');
}
