// The TypeScript engine with real links: sockets of node:dgram and, where the addon opened one, a
// TUN. It never blocks: `poll` says what has arrived, `rest` waits for more on the event loop.

import {
  ERROR_TUN_READ,
  ERROR_UDP_RECEIVE,
  ERROR_UDP_SEND,
  type TunSubstitute,
} from '../contract.ts';
import { EVENT_SOCKETS, EVENT_TUN, EVENT_TUN_GONE, EVENT_UDP } from '../native/index.ts';
import type { Primitives } from '../noise/primitives.ts';
import type { EndpointTable } from '../wire/address.ts';
import { type Batches, TypeScriptEngine } from './engine.ts';
import { TunFile } from './tun.ts';
import type { TwinHostSockets } from './twin-sockets.ts';
import { UdpSockets } from './udp.ts';

/** Pause before the TUN is read again, when the last read found packets. */
const TUN_LOOK_MS_MIN = 1;
/** The longest pause, when reads find nothing. */
const TUN_LOOK_MS_MAX = 16;

export interface TwinOptions {
  readonly port: number;
  /** File descriptor of a TUN without virtio_net_hdr, -1 for none. */
  readonly tun: number;
  readonly mtu: number;
  /** What is in place of a TUN, the batches it has, and its sockets; left out: nothing. */
  readonly sockets?: TwinSockets | null;
}

/** What is in place of a TUN: it works with sockets of node:net. */
export interface TwinSockets {
  readonly substitute: TunSubstitute;
  readonly batches: Batches;
  readonly sockets: Pick<TwinHostSockets, 'hasEvents'>;
  /** Calls back when the sockets have events. */
  onEvents: () => void;
}

/** The twin that a worker runs. */
export class TwinEngine extends TypeScriptEngine {
  readonly waitsInPoll = false;
  readonly #udp: () => UdpSockets;
  readonly #tun: TunFile | null;
  readonly #sockets: TwinSockets | null;
  #tunLookMs = TUN_LOOK_MS_MIN;
  #isGoneReported = false;
  #rouse: (() => void) | null = null;

  private constructor(
    primitives: Primitives,
    endpoints: EndpointTable,
    options: TwinOptions,
    tun: TunFile | null,
    udp: () => UdpSockets,
  ) {
    const { sockets = null } = options;
    super(
      primitives,
      endpoints,
      options.mtu,
      {
        sendDatagram: (bytes, to) => udp().send(bytes, to),
        sendRoom: () => udp().sendRoom,
        writePacket: tun === null ? null : (packet) => tun.write(packet),
      },
      sockets === null ? {} : sockets,
    );
    this.#sockets = sockets;
    this.#udp = udp;
    this.#tun = tun;
  }

  /** Opens the sockets; rejects when the port is taken. */
  static async open(
    primitives: Primitives,
    endpoints: EndpointTable,
    options: TwinOptions,
  ): Promise<TwinEngine> {
    let sockets: UdpSockets | null = null;
    const countError = (error: number): void => {
      engine.errors[error]! += 1;
    };
    const tun = options.tun < 0 ? null : new TunFile(options.tun, () => countError(ERROR_TUN_READ));
    const engine = new TwinEngine(primitives, endpoints, options, tun, () => sockets!);
    if (engine.#sockets !== null) engine.#sockets.onEvents = () => engine.wake();
    sockets = await UdpSockets.open(
      options.port,
      () => engine.wake(),
      (kind) => countError(kind === 'send' ? ERROR_UDP_SEND : ERROR_UDP_RECEIVE),
    );
    return engine;
  }

  get port(): number {
    return this.#udp().port;
  }

  poll(): number {
    const events = this.#sockets?.sockets.hasEvents === true ? EVENT_SOCKETS : 0;
    const arrived = (this.#udp().hasArrivals ? EVENT_UDP : 0) | events;
    if (this.#tun === null || this.#isGoneReported) return arrived;
    if (!this.#tun.isGone) return arrived | EVENT_TUN;
    this.#isGoneReported = true;
    return arrived | EVENT_TUN_GONE;
  }

  /** Moves datagrams that have arrived into `datagrams`. */
  receive(): void {
    while (this.#udp().hasArrivals && this.datagrams.count < DATAGRAMS_PER_TURN) {
      const datagram = this.#udp().take()!;
      this.acceptDatagram(datagram.bytes, datagram.address, datagram.port);
    }
  }

  /** Moves packets of the TUN into `packets`. */
  readTun(): void {
    for (let i = 0; i < PACKETS_PER_TURN; i++) {
      const packet = this.#tun?.read() ?? null;
      if (packet === null) break;
      this.acceptPacket(packet);
    }
    this.#tunLookMs =
      this.packets.count > 0 ? TUN_LOOK_MS_MIN : Math.min(TUN_LOOK_MS_MAX, this.#tunLookMs * 2);
  }

  /** Moves what the sockets have made into `packets`. */
  readSockets(): void {
    this.substitute?.read(this.packets);
  }

  flush(): void {
    // Datagrams are sent as soon as they are sealed.
  }

  /** Waits for a datagram, a wake or `timeoutMs`, whichever comes first. */
  async rest(timeoutMs: number): Promise<void> {
    if (this.#udp().hasArrivals || this.#sockets?.sockets.hasEvents === true) return;
    const limit = this.#tun === null ? timeoutMs : Math.min(timeoutMs, this.#tunLookMs);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limit);
      this.#rouse = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#rouse = null;
  }

  /** Ends a `rest` at once. */
  wake(): void {
    this.#rouse?.();
  }

  override close(): void {
    super.close();
    this.#udp().close();
  }
}

const DATAGRAMS_PER_TURN = 64;
const PACKETS_PER_TURN = 64;
