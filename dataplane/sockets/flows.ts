// Flows of UDP, and of echoes: a socket of the host for each, which only the other end of the flow
// can answer. What a device sends leaves in the order in which it came, many datagrams by one call;
// what the host sends back becomes packets in the batch.

import { constants } from 'node:os';
import { reasons } from '../reasons.ts';
import {
  ORIGIN_ICMP,
  ORIGIN_ICMP6,
  PIECE_ERROR,
  PIECE_WORDS,
  SOCKET_ERROR,
  SOCKET_ERROR_CODE,
  SOCKET_ERROR_MTU,
  SOCKET_ERROR_ORIGIN,
  SOCKET_ERROR_TYPE,
  SOCKET_FAILED,
  SOCKET_PIECES_MAX,
  SOCKET_READABLE,
} from '../socket-contract.ts';
import { DEVICE, DEVICE_NEXT, PORTS, WORDS } from '../tcp/columns.ts';
import { SipHash } from '../tcp/siphash.ts';
import { Ends, endsOf, NONE, Table } from '../tcp/table.ts';
import { SlotRing } from '../tcp/ring.ts';
import { Wheel } from '../tcp/wheel.ts';
import { checksum } from '../wire/checksum.ts';
import { mayNotFragment } from '../wire/icmp.ts';
import {
  InnerPacket,
  parseInner,
  PROTOCOL_ICMP,
  PROTOCOL_ICMPV6,
  PROTOCOL_UDP,
} from '../wire/ip.ts';
import { Openings } from './budgets.ts';
import { isRefused } from './destinations.ts';
import { type IcmpKind, PORT_UNREACHABLE, TOO_BIG, unreachable } from './errors.ts';
import { Fragmenter } from './fragmenter.ts';
import { Going } from './going.ts';
import { ipBytes, pseudoSum, UDP_BYTES, writeIp } from './headers.ts';
import type { Inbox } from './inbox.ts';
import { JOINED_ARENA } from './joiner.ts';
import { Recheck } from './recheck.ts';
import { firstOfUdp } from './rooms.ts';
import { ECHO, type Shared, type UDP } from './shared.ts';
import { isEcho, isIcmpRight, isUdpRight, writeUdp } from './upper.ts';

const { EACCES, ECONNREFUSED, EMSGSIZE, EPERM, EPROTONOSUPPORT } = constants.errno;

const DNS_PORT = 53;
/** Each question of a resolver has a port of its own. */
const DNS_MS = 10_000;
const USUAL_MS = 30_000;
/** Both sides have sent twice, so they will go on. */
const LONG_MS = 180_000;
/** Sockets that one turn opens, so that packets do not wait for them. */
const NEW_PER_TURN = 64;

/** What flows are made from. */
export interface FlowOptions {
  readonly shared: Shared;
  readonly kind: typeof UDP | typeof ECHO;
  readonly capacity: number;
  readonly devices: number;
  readonly random: (bytes: Uint8Array) => void;
  /** An arena of the host's sockets. */
  readonly inbox: Inbox;
}

/** The flows of one kind. */
export class Flows {
  readonly #shared: Shared;
  readonly #isEcho: boolean;
  readonly #kind: number;
  readonly #table: Table;
  readonly #wheel: Wheel;
  readonly #readable: SlotRing;
  readonly #handle: Int32Array;
  readonly #sent: Int32Array;
  readonly #received: Int32Array;
  /** The number of the last echo request. */
  readonly #sequence: Int32Array;
  readonly #epoch: Int32Array;
  readonly #activeAt: Float64Array;
  readonly #ends = new Ends();
  readonly #inbox: Inbox;
  readonly #fragmenter: Fragmenter;
  /** Whose datagrams are in the inbox; 0: nobody's. */
  #reading = NONE;
  /** Datagrams that leave when the batch ends, all in one arena. */
  readonly #going: Going;
  #goingArena = 0;
  /** The entries of those that leave by one call. */
  readonly #leaving = new Int32Array(SOCKET_PIECES_MAX);
  #view: DataView = new DataView(new ArrayBuffer(0));
  readonly #quoted = new InnerPacket();
  readonly #openings: Openings;
  readonly #recheck: Recheck;

  constructor(options: FlowOptions) {
    const { shared, kind, capacity, devices, random } = options;
    this.#shared = shared;
    this.#kind = kind;
    this.#isEcho = kind === ECHO;
    this.#table = new Table(capacity, devices, new SipHash(random));
    this.#wheel = new Wheel(capacity);
    this.#readable = new SlotRing(capacity);
    this.#going = new Going(capacity);
    this.#handle = new Int32Array(capacity + 1);
    this.#sent = new Int32Array(capacity + 1);
    this.#received = new Int32Array(capacity + 1);
    this.#sequence = new Int32Array(capacity + 1);
    this.#epoch = new Int32Array(capacity + 1);
    this.#activeAt = new Float64Array(capacity + 1);
    this.#inbox = options.inbox;
    this.#recheck = new Recheck(capacity);
    this.#openings = new Openings(NEW_PER_TURN, devices);
    const numbers = new Int32Array(1);
    random(new Uint8Array(numbers.buffer));
    this.#fragmenter = new Fragmenter(numbers[0]!);
  }

  /** How many flows there are. */
  get count(): number {
    return this.#table.live;
  }

  begin(): void {
    this.#openings.begin();
  }

  // ---- from a device ----------------------------------------------------------------------------

  /**
   * Takes the packet at `offset` of an arena, which a device has sent. Its bytes stay there until
   * `flush`. Returns why it is refused, or reasons.none.
   */
  take(device: number, arena: number, view: DataView, offset: number, packet: InnerPacket): number {
    const upper = offset + packet.upperOffset;
    const ends = this.#ends;
    endsOf(packet, ends);
    let at = upper;
    let length = packet.length - packet.upperOffset;
    if (this.#isEcho) {
      if (!isEcho(view, upper, length, packet)) return reasons.no_socket_for_protocol;
      if (!isIcmpRight(view, upper, length, ends)) return reasons.inner_icmp_malformed;
      ends.words[8] = view.getUint16(upper + 4);
    } else {
      if (!this.#shared.isVerified && !isUdpRight(view, upper, ends))
        return reasons.inner_udp_malformed;
      at += UDP_BYTES;
      length = view.getUint16(upper + 4) - UDP_BYTES;
      ends.words[8] = (packet.destinationPort << 16) | packet.sourcePort;
    }
    let slot = this.#table.find(ends);
    if (slot !== NONE && this.#deviceOf(slot) !== device) {
      this.#close(slot);
      slot = NONE;
    }
    if (slot === NONE) {
      const reason = this.#open(device, ends, view, offset, packet);
      if (reason !== reasons.none) return reason;
      slot = this.#table.find(ends);
      if (slot === NONE) return reasons.none;
    }
    if (this.#isEcho) this.#sequence[slot] = view.getUint16(upper + 6);
    this.#sent[slot]!++;
    this.#activeAt[slot] = this.#shared.now;
    if (this.#goingArena !== arena || this.#going.isFull) this.flush();
    this.#goingArena = arena;
    this.#view = view;
    this.#going.add(slot, at, length, offset);
    return reasons.none;
  }

  #deviceOf(slot: number): number {
    return this.#table.words[slot * WORDS + DEVICE]!;
  }

  /** Opens a socket for a new flow; where the network says no, the device learns it by ICMP. */
  #open(device: number, ends: Ends, view: DataView, offset: number, packet: InnerPacket): number {
    const { destinations, budgets, sockets } = this.#shared;
    const port = ends.words[8]! >>> 16;
    // Nobody can be asked there, and the sockets take it for an error.
    if (!this.#isEcho && port === 0) return reasons.inner_udp_malformed;
    if (!this.#openings.take(device)) return reasons.egress_full;
    if (isRefused(destinations.kindOf(ends))) return reasons.inner_destination_host;
    if (!budgets.take(device)) return reasons.egress_full;
    const address = destinations.addressOf(ends);
    const handle = this.#isEcho
      ? sockets.openEcho(address)
      : sockets.connectUdp(address, port, firstOfUdp(budgets.of(device)));
    if (handle <= 0) {
      budgets.give(device);
      return this.#refused(-handle, device, view, offset, packet);
    }
    const slot = this.#table.add(device, ends, 1);
    this.#shared.own(handle, this.#kind, slot);
    if (slot === NONE) {
      this.#shared.close(handle, device, false);
      return reasons.egress_full;
    }
    this.#handle[slot] = handle;
    this.#sent[slot] = this.#received[slot] = 0;
    this.#epoch[slot] = this.#shared.epoch;
    this.#activeAt[slot] = this.#shared.now;
    this.#wheel.schedule(slot, this.#shared.now + this.#lifeOf(slot));
    return reasons.none;
  }

  #refused(
    error: number,
    device: number,
    view: DataView,
    offset: number,
    packet: InnerPacket,
  ): number {
    if (this.#isEcho && (error === EACCES || error === EPERM || error === EPROTONOSUPPORT))
      return reasons.no_socket_for_protocol;
    const what = unreachable(error);
    if (what === null) return reasons.egress_full;
    this.#shared.errors.aboutPacket(device, view, offset, packet, what);
    return reasons.none;
  }

  // ---- to the host ----

  /** Sends what waits to leave. */
  flush(): void {
    for (;;) {
      const slot = this.#going.takeFlow();
      if (slot === NONE) return;
      while (this.#send(slot));
    }
  }

  /** Sends datagrams of a flow by one call; whether there may be more of them. */
  #send(slot: number): boolean {
    const going = this.#going;
    let count = 0;
    while (count < SOCKET_PIECES_MAX) {
      const entry = going.take(slot);
      if (entry === NONE) break;
      this.#leaving[count] = entry;
      this.#shared.piece(count, this.#goingArena, going.offsets[entry]!, going.lengths[entry]!);
      count++;
    }
    if (count === 0) return false;
    const { sockets } = this.#shared;
    const sent = sockets.send(this.#handle[slot]!, count);
    if (sent < count) this.#notSent(slot, count);
    return count === SOCKET_PIECES_MAX;
  }

  /** Some of what was to leave did not. */
  #notSent(slot: number, count: number): void {
    const { sockets } = this.#shared;
    for (let i = 0; i < count; i++) {
      const error = sockets.pieces[i * PIECE_WORDS + PIECE_ERROR];
      if (error === EMSGSIZE) this.#tooBig(slot, this.#leaving[i]!);
      else if (error !== 0) this.#shared.around.drop(reasons.egress_send_failed);
    }
    this.#takeErrors(slot, false);
  }

  /**
   * A datagram is larger than what the host's network takes. It leaves in fragments if its sender
   * lets it: over IPv4 without DF, over IPv6 where the sender has sent fragments itself.
   */
  #tooBig(slot: number, entry: number): void {
    const { sockets, errors, around } = this.#shared;
    const packet = this.#quoted;
    const offset = this.#going.packets[entry]!;
    const available = this.#view.byteLength - offset;
    if (parseInner(this.#view, offset, available, packet) !== reasons.none) return;
    const isJoined = this.#goingArena === JOINED_ARENA;
    if (packet.version === 6 ? isJoined : !mayNotFragment(this.#view, offset, packet)) {
      const { offsets, lengths } = this.#going;
      this.#shared.piece(0, this.#goingArena, offsets[entry]!, lengths[entry]!);
      const sent = sockets.sendFragmented(this.#handle[slot]!);
      return sent === 1 ? undefined : around.drop(reasons.egress_send_failed);
    }
    around.drop(reasons.packet_too_big);
    const mtu = sockets.pathMtu(this.#handle[slot]!);
    if (mtu > 0) errors.aboutPacket(this.#deviceOf(slot), this.#view, offset, packet, TOO_BIG, mtu);
  }

  // ---- from the host ----------------------------------------------------------------------------

  /** Takes an event of a socket. */
  event(slot: number, flags: number): void {
    if (this.#handle[slot] === 0) return;
    if ((flags & SOCKET_FAILED) !== 0) this.#takeErrors(slot, true);
    if ((flags & (SOCKET_READABLE | SOCKET_FAILED)) !== 0) this.#readable.add(slot);
  }

  /** Tells the device what the host's network has said. */
  #takeErrors(slot: number, tellsTooBig: boolean): void {
    const { sockets, errors } = this.#shared;
    const { error } = sockets;
    for (let i = 0; i < SOCKET_PIECES_MAX && sockets.takeError(this.#handle[slot]!) === 1; i++) {
      this.#table.copyEnds(slot, this.#ends);
      const what = this.#kindOf(this.#ends.isIpv6);
      if (what === null || (what === TOO_BIG && !tellsTooBig)) continue;
      const protocol = this.#protocolOf(this.#ends.isIpv6);
      const word = what === TOO_BIG ? error[SOCKET_ERROR_MTU]! : 0;
      if (what === TOO_BIG && word === 0) continue;
      const device = this.#deviceOf(slot);
      errors.aboutEnds(device, this.#ends, protocol, what, this.#sequence[slot]!, word);
    }
  }

  /** What an error of the socket is for the device; null: nothing. */
  #kindOf(isIpv6: boolean): IcmpKind | null {
    const { error } = this.#shared.sockets;
    if (error[SOCKET_ERROR] === EMSGSIZE) return TOO_BIG;
    if (error[SOCKET_ERROR_ORIGIN] !== (isIpv6 ? ORIGIN_ICMP6 : ORIGIN_ICMP)) return null;
    if (error[SOCKET_ERROR] === ECONNREFUSED) return PORT_UNREACHABLE;
    const said = (error[SOCKET_ERROR_TYPE]! << 8) | error[SOCKET_ERROR_CODE]!;
    return { ipv4: said, ipv6: said, isOfDestination: false };
  }

  #protocolOf(isIpv6: boolean): number {
    if (!this.#isEcho) return PROTOCOL_UDP;
    return isIpv6 ? PROTOCOL_ICMPV6 : PROTOCOL_ICMP;
  }

  /** Whether `read` has something to do. */
  get hasMore(): boolean {
    return this.#reading !== NONE || this.#readable.count > 0;
  }

  /** Makes what the host has sent into packets, as long as there is room for them. */
  read(): void {
    const { outbox, sockets } = this.#shared;
    while (!outbox.isFull) {
      if (this.#fragmenter.isBusy) {
        this.#fragmenter.emit(outbox);
        continue;
      }
      if (this.#reading !== NONE) {
        this.#pass(this.#reading);
        continue;
      }
      const slot = this.#readable.take();
      if (slot === NONE) return;
      const handle = this.#handle[slot]!;
      if (handle === 0) continue;
      const got = this.#inbox.fill(sockets, handle);
      if (got < 0) continue;
      // The socket is asked until it has nothing: an echo may have been dropped on the way.
      this.#readable.add(slot);
      if (!this.#inbox.isEmpty) this.#reading = slot;
    }
  }

  /** Passes one datagram, or one run, to the device. */
  #pass(slot: number): void {
    const inbox = this.#inbox;
    const { outbox, around } = this.#shared;
    const ends = this.#ends;
    this.#table.copyEnds(slot, ends);
    const mtu = around.mtuOf(this.#deviceOf(slot));
    const { segment } = inbox;
    const headers = ipBytes(ends.isIpv6) + (this.#isEcho ? 0 : UDP_BYTES);
    const isRun = segment > 0 && outbox.cuts && headers + segment <= mtu;
    const bytes = segment > 0 && !isRun ? segment : inbox.left;
    this.#received[slot]! += isRun ? Math.ceil(bytes / segment) : 1;
    this.#activeAt[slot] = this.#shared.now;
    if (this.#isEcho) this.#passEcho(ends, bytes, mtu);
    else if (headers + bytes <= mtu || isRun) this.#passUdp(ends, bytes, isRun ? segment : 0);
    else this.#fragment(ends, bytes, mtu);
    inbox.took(bytes);
    if (!inbox.isEmpty) return;
    this.#reading = NONE;
    const isAnswered = ends.words[8]! >>> 16 === DNS_PORT && !this.#isEcho;
    if (isAnswered && this.#received[slot]! >= this.#sent[slot]!) this.#close(slot);
  }

  #passUdp(ends: Ends, bytes: number, segment: number): void {
    const { outbox } = this.#shared;
    const { view, offset } = outbox;
    const upper = offset + ipBytes(ends.isIpv6);
    const length = upper - offset + UDP_BYTES + bytes;
    writeIp(view, offset, ends, PROTOCOL_UDP, length);
    writeUdp(view, upper, ends, bytes);
    const from = this.#inbox.offset;
    this.#inbox.bytes.copy(outbox.bytes, upper + UDP_BYTES, from, from + bytes);
    outbox.addPartial(length, ends.isIpv6, PROTOCOL_UDP, segment);
  }

  #fragment(ends: Ends, bytes: number, mtu: number): void {
    const { view, bytes: into } = this.#fragmenter;
    writeUdp(view, 0, ends, bytes);
    const from = this.#inbox.offset;
    this.#inbox.bytes.copy(into, UDP_BYTES, from, from + bytes);
    const sum = checksum(view, 0, UDP_BYTES + bytes, 0);
    view.setUint16(6, sum === 0 ? 0xffff : sum);
    this.#fragmenter.begin(ends, PROTOCOL_UDP, UDP_BYTES + bytes, mtu);
  }

  /** An echo reply gets back the identifier that the device has chosen. */
  #passEcho(ends: Ends, bytes: number, mtu: number): void {
    if (bytes < UDP_BYTES) return;
    const { outbox } = this.#shared;
    const { isIpv6 } = ends;
    const upper = ipBytes(isIpv6);
    const fits = upper + bytes <= mtu;
    const { view, bytes: into } = fits ? outbox : this.#fragmenter;
    const at = fits ? outbox.offset + upper : 0;
    const from = this.#inbox.offset;
    this.#inbox.bytes.copy(into, at, from, from + bytes);
    const protocol = this.#protocolOf(isIpv6);
    view.setUint16(at + 2, 0);
    view.setUint16(at + 4, ends.words[8]!);
    const pseudo = isIpv6 ? pseudoSum(ends, protocol, bytes) : 0;
    view.setUint16(at + 2, checksum(view, at, bytes, pseudo));
    if (!fits) return this.#fragmenter.begin(ends, protocol, bytes, mtu);
    writeIp(view, outbox.offset, ends, protocol, upper + bytes);
    outbox.add(upper + bytes);
  }

  // ---- the end ----------------------------------------------------------------------------------

  #lifeOf(slot: number): number {
    const isDns = this.#table.words[slot * WORDS + PORTS]! >>> 16 === DNS_PORT;
    if (isDns && !this.#isEcho) return DNS_MS;
    return this.#sent[slot]! >= 2 && this.#received[slot]! >= 2 && !this.#isEcho
      ? LONG_MS
      : USUAL_MS;
  }

  /** When `expire` may have something to do. */
  get deadline(): number {
    return this.#recheck.isOn ? this.#shared.now : this.#wheel.deadline;
  }

  /** Closes flows that are idle, and looks at some of those that a change may have ended. */
  expire(): void {
    const { now } = this.#shared;
    for (;;) {
      const slot = this.#wheel.take(now);
      if (slot === NONE) break;
      if (this.#handle[slot] === 0) continue;
      const due = this.#activeAt[slot]! + this.#lifeOf(slot);
      if (due <= now) this.#close(slot);
      else this.#wheel.schedule(slot, due);
    }
    this.#recheck.turn((slot) => {
      if (this.#handle[slot] !== 0 && !this.#isCurrent(slot)) this.#close(slot);
    });
  }

  /** Rules or addresses have changed: all flows are judged again, some in each turn. */
  recheck(): void {
    if (this.count > 0) this.#recheck.begin();
  }

  #isCurrent(slot: number): boolean {
    const shared = this.#shared;
    if (this.#epoch[slot] === shared.epoch) return true;
    const ends = this.#ends;
    this.#table.copyEnds(slot, ends);
    this.#epoch[slot] = shared.epoch;
    return shared.mayGoOn(this.#deviceOf(slot), ends, this.#protocolOf(ends.isIpv6));
  }

  /** Closes the flows that a device may no longer have: at once, somebody may get its address. */
  recheckDevice(device: number): void {
    this.#closeOf(device, false);
  }

  /** Closes all flows of a device. */
  removeDevice(device: number): void {
    this.#closeOf(device, true);
  }

  #closeOf(device: number, isWhole: boolean): void {
    const { words } = this.#table;
    for (let slot = this.#table.firstOf(device); slot !== NONE;) {
      const next = words[slot * WORDS + DEVICE_NEXT]!;
      if (isWhole || !this.#isCurrent(slot)) this.#close(slot);
      slot = next;
    }
    this.#fragmenter.clear();
  }

  #close(slot: number): void {
    if (this.#reading === slot) {
      this.#reading = NONE;
      this.#inbox.clear();
    }
    this.#going.drop(slot);
    this.#shared.close(this.#handle[slot]!, this.#deviceOf(slot), false);
    this.#handle[slot] = 0;
    this.#wheel.remove(slot);
    this.#table.remove(slot);
  }
}
