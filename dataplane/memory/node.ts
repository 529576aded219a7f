// The packet path of a gateway on the TypeScript engine, with one worker or several. Its link and
// its TUN are functions: datagrams and packets go in and out by calls, at once and on one thread.
// The kernel's part, to lead a datagram to the socket of its worker, is done here.

import { DATAGRAM_SLOTS, HANDED_PER_TURN, MAX_PEERS, PACKET_SLOTS } from '../constants.ts';
import { answer, type AskedOf } from '../worker/answers.ts';
import {
  ALONE,
  type Amendment,
  createSharedMemory,
  type NetworkConfig,
  type Team,
  type TunSubstitute,
} from '../contract.ts';
import { type Capture, RunningCaptures } from '../gateway/captures.ts';
import type { Change, TriedChange } from '../diff.ts';
import {
  type Batches,
  createBatches,
  type EngineExtras,
  type TypeScriptEngine,
} from '../io/engine.ts';
import { Rings } from '../io/rings.ts';
import type { Random } from '../noise/handshake.ts';
import { portablePrimitives } from '../noise/primitives.ts';
import type { CaptureOrder } from '../path/capture.ts';
import { Pipeline } from '../worker/pipeline.ts';
import { askerOf } from '../gateway/questions.ts';
import type { SocketEgress } from '../sockets/egress.ts';
import { createEndpointTable, type Endpoint } from '../wire/address.ts';
import { messageType } from '../wire/messages.ts';
import { workerOfMessage } from '../wireguard/steering.ts';
import { endpointLayout } from '../wireguard/tunnel.ts';
import {
  type Arrival,
  bytesOf,
  type MakeEngine,
  type Placed,
  publicKeyOf,
  randomBytes,
  type Surroundings,
} from './surroundings.ts';

/** Turns of the sockets that follow one another; whatever is left waits for the next event. */
const SOCKET_TURNS_MAX = 32;

/** What a node is made from. */
export interface NodeOptions<E extends TypeScriptEngine> extends Placed {
  readonly makeEngine: MakeEngine<E>;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly hasTun: boolean;
  /** Whether datagrams leave by the TUN in one piece; no where it is left out. */
  readonly joinsForTun?: boolean;
  readonly mtu: number;
  readonly defaultAction: 'accept' | 'drop';
  readonly allowsMetadata: boolean;
  readonly timestampFloorMs: number;
  /** How many flows are remembered, a power of two; MAX_FLOWS where it is left out. */
  readonly flows?: number;
  /** How many peers it can have; MAX_PEERS where it is left out. */
  readonly peers?: number;
  /** How many workers it has; one where it is left out. */
  readonly workers?: number;
  /** Bytes of the ring from one worker to another, a power of two; RING_BYTES where left out. */
  readonly ringBytes?: number;
  /** Which of so many workers goes on next; the first one where it is left out. */
  readonly choose?: (count: number) => number;
  /** The randomness of further workers; that of the surroundings where it is left out. */
  readonly randomOf?: (worker: number) => Random;
  /** Whether what was handed over waits for the next call; never where it is left out. */
  readonly dawdles?: () => boolean;
  /** Where the engine of a worker holds messages; left out: in batches of its own. */
  readonly batchesOf?: (worker: number) => Batches;
  /** Opens what is in place of a TUN; left out: there is nothing. */
  readonly openEgress?: (batches: Batches, peers: number) => Substituted;
  /** Takes packets that come out at the TUN. */
  readonly deliver: (packet: Uint8Array) => void;
}

/** What is in place of a TUN, as the engine and as the pipeline see it. */
export interface Substituted {
  readonly substitute: TunSubstitute;
  readonly egress: SocketEgress;
}

/** A worker of a gateway in memory. */
export interface WorkerNode<E extends TypeScriptEngine> {
  readonly engine: E;
  readonly pipeline: Pipeline;
}

/** A gateway in memory. */
export abstract class PipelineNode<E extends TypeScriptEngine = TypeScriptEngine> {
  endpoint: Endpoint;
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly workers: readonly WorkerNode<E>[];
  readonly #around: Surroundings;
  readonly #peers: number;
  readonly #choose: (count: number) => number;
  readonly #dawdles: () => boolean;
  readonly #captures = new RunningCaptures();
  readonly ask = askerOf({
    count: () => this.workers.length,
    ask: async (worker, name, ...asked) =>
      answer(
        this.workers[worker]!.pipeline,
        name,
        asked as AskedOf<typeof name>,
        this.#around.now,
        this.#around.wallMs,
      ),
    trial: (amendment) => this.trial(amendment),
  });

  constructor(around: Surroundings, options: NodeOptions<E>) {
    this.#around = around;
    this.#peers = options.peers ?? MAX_PEERS;
    this.#choose = options.choose ?? (() => 0);
    this.#dawdles = options.dawdles ?? (() => false);
    this.endpoint = options.endpoint;
    this.privateKey = options.privateKey ?? randomBytes(around.random, 32);
    this.publicKey = publicKeyOf(this.privateKey, options.primitives);
    this.workers = teamsOf(options.workers ?? 1, options.ringBytes).map((team) =>
      this.#makeWorker(options, team),
    );
  }

  #makeWorker(options: NodeOptions<E>, team: Team): WorkerNode<E> {
    const around = this.#around;
    const handed = endpointLayout.peers + this.#peers;
    const endpoints = createEndpointTable(handed + team.size * HANDED_PER_TURN);
    const rings = new Rings(team, endpoints, handed);
    const batches = options.batchesOf?.(team.self) ?? createBatches();
    const opened = options.openEgress?.(batches, this.#peers);
    const engine = options.makeEngine(
      options.primitives ?? portablePrimitives,
      endpoints,
      options.mtu,
      {
        sendDatagram: (bytes, to) => around.transmit(bytes, this.endpoint, to),
        sendRoom: () => around.sendRoom?.() ?? Number.POSITIVE_INFINITY,
        writePacket: options.deliver,
      },
      { rings, batches, substitute: opened?.substitute ?? null } satisfies EngineExtras,
    );
    const pipeline = new Pipeline({
      engine,
      team,
      identity: { privateKey: this.privateKey, publicKey: this.publicKey },
      random: (team.self > 0 ? options.randomOf?.(team.self) : undefined) ?? around.random,
      timestampFloorMs: options.timestampFloorMs,
      ipv4: options.ipv4,
      ipv6: options.ipv6,
      defaultAction: options.defaultAction,
      allowsMetadata: options.allowsMetadata,
      listenPort: options.endpoint.port,
      mtu: options.mtu,
      hasTun: options.hasTun,
      joinsForTun: options.joinsForTun ?? false,
      egress: opened?.egress ?? null,
      peers: this.#peers,
      ...(options.flows === undefined ? {} : { flows: options.flows }),
    });
    return { engine, pipeline };
  }

  /** What an amendment would change of what is in force, at the moment of each call. */
  abstract trial(amendment: Amendment): () => TriedChange;

  /** The engine of the first worker. */
  get engine(): E {
    return this.workers[0]!.engine;
  }

  /** The pipeline of the first worker. */
  get pipeline(): Pipeline {
    return this.workers[0]!.pipeline;
  }

  /** The public key in base64. */
  get key(): string {
    return Buffer.from(this.publicKey).toString('base64');
  }

  /** Puts a change in force. */
  change(change: Change): void {
    if (change.added.some(({ slot }) => slot >= this.#peers))
      throw new RangeError(`more than ${this.#peers} peers`);
    for (const { pipeline } of this.workers)
      pipeline.apply(change, this.#around.now, this.#around.wallMs);
    this.#takeHanded();
  }

  /**
   * Releases peers that made a later handshake with another gateway: by public key, Unix time in
   * ms.
   */
  release(heardElsewhere: ReadonlyMap<string, number>): void {
    for (const { pipeline } of this.workers)
      pipeline.release(heardElsewhere, this.#around.now, this.#around.wallMs);
    this.#takeHanded();
  }

  /** Sends packets of the host to the TUN, in one batch (at most PACKET_SLOTS). */
  send(...packets: Uint8Array[]): void {
    if (packets.length > PACKET_SLOTS) throw new RangeError(`${packets.length} packets at once`);
    // The kernel chooses the queue by the flow, about which nothing is known here.
    const worker = this.workers[this.#choose(this.workers.length)]!;
    worker.engine.packets.count = 0;
    for (const packet of packets) worker.engine.acceptPacket(packet);
    worker.pipeline.outbound(this.#around.now, this.#around.wallMs);
    this.#takeHanded();
  }

  /** Takes a datagram. */
  receive(bytes: Uint8Array, from: Endpoint): void {
    this.receiveAll([{ bytes, from }]);
  }

  /** Takes datagrams in one batch (at most DATAGRAM_SLOTS). */
  receiveAll(datagrams: readonly Arrival[]): void {
    if (datagrams.length > DATAGRAM_SLOTS)
      throw new RangeError(`${datagrams.length} datagrams at once`);
    // A turn that an exception ended has left its messages.
    for (const { engine } of this.workers) engine.datagrams.count = 0;
    for (const { bytes, from } of datagrams)
      this.#socketFor(bytes).engine.acceptDatagram(bytes, bytesOf(from), from.port);
    for (const { engine, pipeline } of this.workers) {
      if (engine.datagrams.count === 0) continue;
      engine.substitute?.begin(this.#around.now);
      pipeline.inbound(this.#around.now, this.#around.wallMs);
      // A turn ends with what is due, here the initiations that have just come.
      pipeline.expire(this.#around.now, this.#around.wallMs);
      engine.datagrams.count = 0;
    }
    this.#takeHanded();
    this.#turnSockets(false);
  }

  /** Takes what sockets in place of a TUN report, and gives them turns. */
  moveSockets(): void {
    this.#turnSockets(true);
  }

  /** Turns of what is in place of a TUN, as long as it has something to do. */
  #turnSockets(hasEvents: boolean): void {
    const { now, wallMs } = this.#around;
    for (const { engine, pipeline } of this.workers) {
      const { substitute } = engine;
      if (substitute === null) continue;
      for (let turns = 0; turns < SOCKET_TURNS_MAX; turns++) {
        const isForEvents = hasEvents && turns === 0;
        if (!isForEvents && substitute.deadline > now) break;
        substitute.begin(now);
        substitute.read(engine.packets);
        pipeline.bySockets(now, wallMs);
      }
    }
    this.#takeHanded();
  }

  /** The worker to whose socket the kernel leads a datagram. */
  #socketFor(bytes: Uint8Array): WorkerNode<E> {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const type = messageType(view, 0, bytes.length);
    return this.workers[workerOfMessage(view, 0, type, this.workers.length)]!;
  }

  /** Captures packets of a device; null while as many captures run as can. */
  async capture(order: CaptureOrder): Promise<Capture | null> {
    const running = this.#captures.begin(order, this.workers.length);
    if (running === null) return null;
    const { number, rings, capture } = running;
    for (const [i, { pipeline }] of this.workers.entries())
      pipeline.capture(number, order, rings[i]!);
    capture.onStop = () => {
      for (const { pipeline } of this.workers) pipeline.endCapture(number);
    };
    return capture;
  }

  /** When `expire` must be called at the latest, in ms; infinite when nothing waits. */
  nextTimeout(): number {
    const { now } = this.#around;
    let next = Number.POSITIVE_INFINITY;
    for (const { engine, pipeline } of this.workers) {
      if (engine.hasHanded) return now;
      next = Math.min(next, pipeline.nextTimeout(now), engine.substitute?.deadline ?? next);
    }
    return next;
  }

  /** Fires the timers that are due. */
  expire(): void {
    for (const { pipeline } of this.workers) pipeline.expire(this.#around.now, this.#around.wallMs);
    this.#takeHanded();
    this.moveSockets();
  }

  /** Lets the workers take turns, in any order, until nothing more is handed over. */
  #takeHanded(): void {
    while (!this.#dawdles()) {
      const waiting = this.workers.filter(({ engine }) => engine.hasHanded);
      if (waiting.length === 0) return;
      const { pipeline } = waiting[this.#choose(waiting.length)]!;
      pipeline.handed(this.#around.now, this.#around.wallMs);
      pipeline.expire(this.#around.now, this.#around.wallMs);
    }
  }
}

/** What each of so many workers knows of the others. */
export function teamsOf(size: number, ringBytes?: number): readonly Team[] {
  if (size === 1) return [ALONE];
  const memory = createSharedMemory(size, ringBytes);
  const wakes = Array.from({ length: size }, () => -1);
  return Array.from({ length: size }, (_, self) => ({ self, size, memory, wakes }));
}
