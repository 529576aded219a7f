// How much memory the kernel may keep of the sockets: what hosts have sent and no device has taken
// yet, and what devices have sent and no host has taken. A socket begins with little. A connection
// gets more as it carries bytes, so that a way of many milliseconds fills, from a part that all of
// its device share. One that carries nothing leaves its part to others.

import { type HostSockets, ROOM_RECEIVE, ROOM_SEND } from '../socket-contract.ts';
import { SlotRing } from '../tcp/ring.ts';

const KIB = 1_024;
const MIB = 1_024 * KIB;
/** A TCP connection begins with so much in each direction: more than a host sends at first. */
const TCP_BYTES = 32 * KIB;
/** A socket of UDP has so much: many datagrams come at once. */
const UDP_BYTES = 256 * KIB;
/** A socket begins with its part of so much, by the sockets that its device has at that time. */
const FIRST_BYTES = 16 * MIB;
const LEAST_BYTES = 4 * KIB;
/** A connection grows in such steps, up to the most. */
const STEP = 4;
const MOST_BYTES = 4 * MIB;
/** What connections have beyond their beginning: of all devices, and of one. */
const GROWN_BYTES = 64 * MIB;
const GROWN_OF_DEVICE_BYTES = 16 * MIB;
/** So much of it a device has whatever others took. */
const OWN_BYTES = MIB;
/** One grant leaves at least as much as it takes. */
const LEAVES = 2;
/** A connection that has carried nothing for so long needs no more than at first. */
const IDLE_MS = 10_000;
/** Connections that are looked at where nothing is left. */
const VISITS = 4;

/** What a socket of TCP begins with, where its device has so many sockets, itself included. */
export function firstOfTcp(sockets: number): number {
  return share(sockets, TCP_BYTES);
}

/** What a socket of UDP has. */
export function firstOfUdp(sockets: number): number {
  return share(sockets, UDP_BYTES);
}

function share(sockets: number, most: number): number {
  return Math.max(LEAST_BYTES, Math.min(most, Math.floor(FIRST_BYTES / sockets)));
}

/** The rooms of TCP connections, by their slots. */
export class Rooms {
  readonly #sockets: Pick<HostSockets, 'setRoom'>;
  readonly #handle: Int32Array;
  readonly #device: Int32Array;
  /** What it began with, in each direction. */
  readonly #first: Int32Array;
  /** By slot and direction: what it has now, has carried since it grew, and when. */
  readonly #room: Int32Array;
  readonly #carried: Int32Array;
  readonly #activeAt: Float64Array;
  /** Those that have grown. */
  readonly #grown: SlotRing;
  readonly #grownOf: Float64Array;
  #grownOfAll = 0;

  constructor(sockets: Pick<HostSockets, 'setRoom'>, slots: number, devices: number) {
    this.#sockets = sockets;
    this.#handle = new Int32Array(slots + 1);
    this.#device = new Int32Array(slots + 1);
    this.#first = new Int32Array(slots + 1);
    this.#room = new Int32Array(2 * (slots + 1));
    this.#carried = new Int32Array(2 * (slots + 1));
    this.#activeAt = new Float64Array(2 * (slots + 1));
    this.#grown = new SlotRing(2 * slots + 1);
    this.#grownOf = new Float64Array(devices);
  }

  /** Bytes that connections have beyond their beginning. */
  get grownBytes(): number {
    return this.#grownOfAll;
  }

  /** A socket was opened, with a room in each direction. */
  open(slot: number, handle: number, device: number, room: number): void {
    this.#handle[slot] = handle;
    this.#device[slot] = device;
    this.#first[slot] = room;
    for (const direction of [ROOM_RECEIVE, ROOM_SEND]) {
      const i = 2 * slot + direction;
      this.#room[i] = room;
      this.#carried[i] = 0;
    }
  }

  /** A socket is closed. */
  close(slot: number): void {
    if (this.#handle[slot] === 0) return;
    this.#handle[slot] = 0;
    for (const direction of [ROOM_RECEIVE, ROOM_SEND]) {
      this.#count(2 * slot + direction, this.#first[slot]!);
    }
  }

  /** A connection has carried bytes: what came from its host, or what its host has taken. */
  carried(slot: number, direction: number, bytes: number, now: number): void {
    // A listener of this process has no room that grows.
    if (this.#handle[slot] === 0) return;
    const i = 2 * slot + direction;
    this.#activeAt[i] = now;
    this.#carried[i]! += bytes;
    // The window is about half of the room: the kernel counts its own structures too.
    if (this.#carried[i]! >= this.#room[i]! >> 1) this.#grow(i, now);
  }

  #grow(i: number, now: number): void {
    this.#carried[i] = 0;
    const room = this.#room[i]!;
    const wanted = Math.min(MOST_BYTES, room * STEP);
    // Beyond what this account may ask for, the kernel makes it larger by itself; that is counted.
    if (wanted < room) return;
    // Where nothing is left, what the kernel has added by itself is counted, and stopped.
    const mayGrow = wanted === room || this.#isLeft(i, wanted - room, now);
    this.#set(i, mayGrow ? wanted : room);
  }

  /** Whether so many bytes are left for a connection. */
  #isLeft(i: number, bytes: number, now: number): boolean {
    for (let visits = VISITS; ; visits--) {
      const grown = this.#grownOf[this.#device[i >> 1]!]!;
      const ofAll = Math.max(GROWN_BYTES - this.#grownOfAll, OWN_BYTES - grown);
      const left = Math.min(GROWN_OF_DEVICE_BYTES - grown, ofAll);
      if (bytes * LEAVES <= left) return true;
      if (visits === 0) return false;
      this.#reclaim(now);
    }
  }

  /** Takes back what the connection whose turn it is does not need, if it has carried nothing. */
  #reclaim(now: number): void {
    const i = this.#grown.take();
    const first = this.#first[i >> 1]!;
    if (this.#handle[i >> 1] === 0 || this.#room[i] === first) return;
    // The first call may only stop the kernel from making it larger.
    for (let calls = 0; calls < 2 && this.#activeAt[i]! + IDLE_MS <= now; calls++)
      if (this.#room[i] !== first) this.#set(i, first);
    if (this.#room[i] !== first) this.#grown.add(i);
  }

  #set(i: number, bytes: number): void {
    const got = this.#sockets.setRoom(this.#handle[i >> 1]!, i & 1, bytes);
    if (got < 0) return;
    this.#count(i, Math.max(bytes, got));
    if (this.#room[i]! > this.#first[i >> 1]!) this.#grown.add(i);
  }

  #count(i: number, room: number): void {
    const more = room - this.#room[i]!;
    this.#room[i] = room;
    this.#grownOf[this.#device[i >> 1]!]! += more;
    this.#grownOfAll += more;
  }
}
