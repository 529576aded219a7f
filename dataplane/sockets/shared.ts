// What connections, datagrams and echoes share: the host's sockets and whose each is, budgets,
// errors, the time, and what the packet path says about devices.

import type { DoorConnection, NetworkConfig } from '../contract.ts';
import { reasons } from '../reasons.ts';
import { HOST_SOCKETS_MAX, type HostSockets, PIECE_WORDS } from '../socket-contract.ts';
import type { Ends } from '../tcp/table.ts';
import { Budgets } from './budgets.ts';
import { Destinations } from './destinations.ts';
import { IcmpErrors } from './errors.ts';
import { writeSent } from './headers.ts';
import type { Outbox } from './outbox.ts';

/**
 * A device gets nothing more until it has a session: `resume` of the sockets says when. It is
 * negative, because the device may be away (`allowance` in `tcp/core.ts`).
 */
export const AWAITS_SESSION = -1;

/** What the packet path says about a device, and counts. */
export interface Around {
  /** The largest packet that a device takes. */
  mtuOf(device: number): number;
  /** How many bytes a device may get now, or AWAITS_SESSION. */
  allowance(device: number, now: number): number;
  /** How many bytes of datagrams to devices may leave now. */
  sendRoom(): number;
  /**
   * Why a device may no longer send the packet at `offset`, by its addresses and the rules;
   * reasons.none: it may.
   */
  refusalOf(device: number, view: DataView, offset: number, length: number): number;
  /** Whether an address of four words is the gateway's own in the tunnel. */
  isGateway(version: number, words: Iterable<number>): boolean;
  /** Whether a listener may be given one more connection of a device now. */
  mayArrive(device: number): boolean;
  /** A device has opened a connection to that address. */
  arrived(connection: DoorConnection, device: number): void;
  /** Counts a refusal. */
  drop(reason: number): void;
}

/** Kinds of sockets. */
export const TCP = 0;
export const UDP = 1;
export const ECHO = 2;

/** Where a TCP connection is: there is none. */
export const NO_PHASE = 0;
/** Its host will be asked. */
export const QUEUED = 1;
/** Its host was asked. */
export const CONNECTING = 2;
/** Its host has answered; the device has not acknowledged it. */
export const ACCEPTED = 3;
export const OPEN = 4;

const PLACE_MASK = HOST_SOCKETS_MAX - 1;
/** Room for the headers that `refusalOf` reads. */
const HEADERS = 64;

/** What the shared part is made from. */
export interface SharedOptions {
  readonly sockets: HostSockets;
  readonly around: Around;
  readonly capacity: number;
  readonly devices: number;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  readonly outbox: Outbox;
}

/** The shared part. */
export class Shared {
  readonly sockets: HostSockets;
  readonly around: Around;
  readonly budgets: Budgets;
  readonly destinations: Destinations;
  readonly errors: IcmpErrors;
  readonly outbox: Outbox;
  /** By place of a socket: its handle, its kind and the slot there. */
  readonly #handles = new Int32Array(HOST_SOCKETS_MAX);
  readonly #owners = new Int32Array(HOST_SOCKETS_MAX);
  readonly #scratch = new DataView(new ArrayBuffer(HEADERS));
  now = 0;
  /** Grows with each change of rules or addresses: what was judged before is judged again. */
  epoch = 1;

  /** Whether the sockets have found the checksum of the packet right that is taken now. */
  isVerified = false;

  constructor(options: SharedOptions) {
    this.sockets = options.sockets;
    this.around = options.around;
    this.budgets = new Budgets(options.capacity, options.devices);
    this.destinations = new Destinations(options.sockets);
    this.errors = new IcmpErrors(options.ipv4, options.ipv6, options.devices);
    this.outbox = options.outbox;
  }

  /** Says whose a socket is. */
  own(handle: number, kind: number, slot: number): void {
    this.#handles[handle & PLACE_MASK] = handle;
    this.#owners[handle & PLACE_MASK] = (slot << 2) | kind;
  }

  /** The kind of whom a socket is; -1 where nobody has it. */
  kindOf(handle: number): number {
    const place = handle & PLACE_MASK;
    return this.#handles[place] === handle ? this.#owners[place]! & 3 : -1;
  }

  /** The slot of whom a socket is. */
  slotOf(handle: number): number {
    return this.#owners[handle & PLACE_MASK]! >> 2;
  }

  /** Closes a socket of a device. `resets`: the host gets RST, and nothing more. */
  close(handle: number, device: number, resets: boolean): void {
    this.#handles[handle & PLACE_MASK] = 0;
    this.budgets.give(device);
    if (resets) this.sockets.resetSocket(handle);
    else this.sockets.closeSocket(handle);
  }

  /** Describes a piece of bytes for the sockets. */
  piece(i: number, arena: number, offset: number, length: number): void {
    const { pieces } = this.sockets;
    const at = i * PIECE_WORDS;
    pieces[at] = arena;
    pieces[at + 1] = offset;
    pieces[at + 2] = length;
    pieces[at + 3] = 0;
    pieces[at + 4] = 0;
  }

  /** Whether a device may still send between these ends. */
  mayGoOn(device: number, ends: Ends, protocol: number): boolean {
    return this.refusalOf(device, ends, protocol) === reasons.none;
  }

  /** Why a device may no longer send between these ends; reasons.none: it may. */
  refusalOf(device: number, ends: Ends, protocol: number): number {
    const length = writeSent(this.#scratch, 0, ends, protocol, 0);
    return this.around.refusalOf(device, this.#scratch, 0, length);
  }
}
