// The sockets in place of a TUN, without a tunnel: packets of devices go to them as from a packet
// path, and what they make comes back. Devices have real TCP, the hosts are servers of the test.

import { setTimeout as pause } from 'node:timers/promises';
import {
  type Batch,
  createDatagramBatch,
  createPacketBatch,
  DESCRIPTOR_WORDS,
  type DoorConnection,
  KEY,
  LENGTH,
  MARK,
  MARK_DOOR,
  MARK_TUN,
  OFFSET,
} from '../../../dataplane/contract.ts';
import { SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../../../dataplane/constants.ts';
import type { Lead } from '../../../dataplane/io/twin-sockets.ts';
import { type DeviceStream, DeviceStreams } from '../../../dataplane/memory/streams.ts';
import { reasonNames, reasons } from '../../../dataplane/reasons.ts';
import { NativeHostSockets } from '../../../dataplane/io/host-sockets.ts';
import type { Addon } from '../../../dataplane/native/index.ts';
import type {
  HostRoute,
  HostSockets,
  HostSocketsOptions,
} from '../../../dataplane/socket-contract.ts';
import { SocketEgress } from '../../../dataplane/sockets/egress.ts';
import type { Around } from '../../../dataplane/sockets/shared.ts';
import { openTwinEgress } from '../../../dataplane/worker/egress.ts';
import { parseAddress } from '../../../dataplane/wire/address.ts';
import { seededRandom } from '../dataplane/simulation.ts';

const MIB = 1_048_576;
const LOOPBACK = parseAddress('127.0.0.1')!;
/** Many packets may be in one slot, as where the kernel joins datagrams. */
const PACKET_BYTES = SLOT_BYTES / 32;
export const GATEWAY = '10.8.0.1';
const IPV4 = {
  address: parseAddress(GATEWAY)!,
  network: parseAddress('10.8.0.0')!,
  prefixBits: 24,
};

/** The sockets of the addon, each of which leads to the same port of this host. */
export class LoopbackSockets extends NativeHostSockets {
  override connectTcp(_address: Uint8Array, port: number, room?: number): number {
    return super.connectTcp(LOOPBACK, port, room);
  }

  override connectUdp(_address: Uint8Array, port: number, room?: number): number {
    return super.connectUdp(LOOPBACK, port, room);
  }

  override routeTo(): HostRoute {
    return { kind: 'unicast', source: null };
  }
}

/** How a rig opens its sockets. */
export interface OpenedBy {
  readonly openHostSockets: (options: HostSocketsOptions) => HostSockets;
}

/** The gateway's sockets, and devices. */
export class Rig implements Around {
  readonly egress: SocketEgress;
  readonly batches = { datagrams: createDatagramBatch(), packets: createPacketBatch() };
  /** Where packets of devices come. */
  taken: Batch = this.batches.datagrams;
  readonly drops: Record<string, number> = {};
  readonly #devices: TestedDevice[] = [];
  readonly #random = seededRandom(7);
  /** Too many connections of devices are on the way to listeners. */
  isCrowded = false;
  /** Where a device may not go any more: `device address`. */
  readonly forbidden = new Set<string>();
  /** And why. */
  refusal: number = reasons.rule_drop;
  /** Packets for devices that go no further. */
  losesToDevices: (packet: Uint8Array) => boolean = () => false;
  /** Connections to the gateway's own address. */
  readonly arrivals: DoorConnection[] = [];
  /** So many ms have passed at once. */
  skippedMs = 0;
  mtu = 1_420;
  allowed = 1 << 30;
  room = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #isMoving = false;
  #isClosed = false;

  /** With the addon the sockets are those of the host. */
  constructor(lead: Lead | Addon | OpenedBy, capacity = 256, ports = capacity) {
    if (typeof lead === 'function') this.egress = this.#led(lead, capacity, ports);
    else if ('openHostSockets' in lead) this.egress = this.#opened(lead, capacity);
    else
      this.egress = this.#opened(
        { openHostSockets: (options) => new NativeHostSockets(lead, options) },
        64,
      );
    this.egress.serve(this);
    this.egress.begin(this.now);
  }

  #led(lead: Lead, capacity: number, ports: number): SocketEgress {
    const { batches } = this;
    const wanted = { capacity, ports, interfaceName: null };
    const twin = openTwinEgress(
      { wanted, batches, ipv4: IPV4, ipv6: null, random: this.#random, devices: 16 },
      { lead, poolBytes: 8 * MIB },
    );
    twin.onEvents = () => void setImmediate(() => this.move());
    return twin.substitute;
  }

  #opened({ openHostSockets }: OpenedBy, capacity: number): SocketEgress {
    return new SocketEgress({
      ...this.batches,
      cuts: false,
      capacity,
      devices: 16,
      ipv4: IPV4,
      ipv6: null,
      random: this.#random,
      poolBytes: 8 * MIB,
      openSockets: (arenas, eventsMax) =>
        openHostSockets({ capacity, interfaceName: null, arenas, eventsMax }),
    });
  }

  get now(): number {
    return performance.now() + this.skippedMs;
  }

  device(address: string): TestedDevice {
    const device = new TestedDevice(this, this.#devices.length, address, this.#random);
    this.#devices.push(device);
    return device;
  }

  // ---- what the sockets ask ----

  mtuOf(): number {
    return this.mtu;
  }

  allowance(): number {
    return this.allowed;
  }

  sendRoom(): number {
    return this.room;
  }

  refusalOf(device: number, view: DataView, offset: number): number {
    const to = [0, 1, 2, 3].map((i) => view.getUint8(offset + 16 + i)).join('.');
    return this.forbidden.has(`${device} ${to}`) ? this.refusal : reasons.none;
  }

  isGateway(version: number, words: Iterable<number>): boolean {
    const [word0 = 0] = words;
    return version === 4 && word0 === new DataView(IPV4.address.buffer).getInt32(0);
  }

  mayArrive(): boolean {
    return !this.isCrowded;
  }

  arrived(connection: DoorConnection): void {
    this.arrivals.push(connection);
  }

  drop(reason: number): void {
    const name = reasonNames[reason]!;
    this.drops[name] = (this.drops[name] ?? 0) + 1;
  }

  // ---- packets ----

  /** Takes packets of a device, in one batch. */
  take(device: number, ...packets: Uint8Array[]): void {
    this.takeAll(...packets.map((packet) => ({ device, packet })));
  }

  /** Takes packets of several devices, in one batch. */
  takeAll(...packets: { readonly device: number; readonly packet: Uint8Array }[]): void {
    if (this.#isClosed) return;
    const { taken: batch } = this;
    for (const [i, { device, packet }] of packets.entries()) {
      const at = i * DESCRIPTOR_WORDS;
      const offset = SLOT_HEADROOM_BYTES + i * PACKET_BYTES;
      batch.bytes.set(packet, offset);
      batch.descriptors[at + OFFSET] = offset;
      batch.descriptors[at + LENGTH] = packet.length;
      batch.descriptors[at + KEY] = device;
      batch.descriptors[at + MARK] = destinationOf(packet) === GATEWAY ? MARK_DOOR : MARK_TUN;
    }
    batch.count = packets.length;
    this.egress.begin(this.now);
    this.egress.write(batch);
    batch.count = 0;
    this.move();
  }

  /** One turn after the other, until nothing is to be done at once. */
  move(): void {
    if (this.#isMoving || this.#isClosed) return;
    this.#isMoving = true;
    const { packets: batch } = this.batches;
    const out: Uint8Array[] = [];
    for (let turns = 0; turns < 16; turns++) {
      this.egress.begin(this.now);
      this.egress.read(batch);
      for (let i = 0; i < batch.count; i++) {
        const at = i * DESCRIPTOR_WORDS;
        const offset = batch.descriptors[at + OFFSET]!;
        out.push(batch.bytes.slice(offset, offset + batch.descriptors[at + LENGTH]!));
      }
      batch.count = 0;
      if (this.egress.deadline > this.now) break;
    }
    this.#isMoving = false;
    for (const packet of out) if (!this.losesToDevices(packet)) this.#deliver(packet);
    clearTimeout(this.#timer);
    // No engine waits for events of the addon's sockets, so they are looked for.
    const most = this.egress.sockets.descriptor < 0 ? 100 : 1;
    const wait = Math.min(most, Math.max(1, this.egress.deadline - this.now));
    if (!this.#isClosed) this.#timer = setTimeout(() => this.move(), wait);
  }

  #deliver(packet: Uint8Array): void {
    const to = destinationOf(packet);
    this.#devices.find(({ address }) => address === to)?.receive(packet);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const device of this.#devices) device.streams.close();
    this.egress.close();
  }
}

function destinationOf(packet: Uint8Array): string {
  return packet.subarray(16, 20).join('.');
}

/** A device. */
export class TestedDevice {
  readonly address: string;
  readonly number: number;
  readonly streams: DeviceStreams;
  /** Packets that are not of its streams. */
  readonly received: Uint8Array[] = [];
  readonly #rig: Rig;
  /** What it sends leaves together, as a batch. */
  #leaving: Uint8Array[] = [];

  constructor(rig: Rig, number: number, address: string, random: (bytes: Uint8Array) => void) {
    this.#rig = rig;
    this.number = number;
    this.address = address;
    this.streams = new DeviceStreams({
      now: () => rig.now,
      random,
      send: (packet) => this.#leave(packet),
    });
  }

  #leave(packet: Uint8Array): void {
    if (this.#leaving.length === 0) setImmediate(() => this.#flush());
    this.#leaving.push(packet);
  }

  #flush(): void {
    const all = this.#leaving;
    this.#leaving = [];
    for (let i = 0; i < all.length; i += 48) this.#rig.take(this.number, ...all.slice(i, i + 48));
  }

  connect(to: string, port: number): DeviceStream {
    return this.streams.connect(parseAddress(this.address)!, parseAddress(to)!, port);
  }

  send(...packets: Uint8Array[]): void {
    this.#rig.take(this.number, ...packets);
  }

  receive(packet: Uint8Array): void {
    if (!this.streams.receive(packet)) this.received.push(packet);
  }

  /** The next packet that is not of its streams. */
  async packet(withinMs = 2_000): Promise<Uint8Array> {
    for (let waited = 0; waited < withinMs; waited += 5) {
      const packet = this.received.shift();
      if (packet !== undefined) return packet;
      await pause(5);
    }
    throw new Error('no packet has come');
  }
}
