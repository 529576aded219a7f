// Captures packets of a device, for people who look for the cause of a failure. A packet is copied
// between its verdict and the act: the copy is the packet as it came, with its verdict. While
// nothing is captured, a packet costs one comparison (`isOn`); while something is, packets of
// others cost some more.
//
// Each worker captures what it judges: the device's own worker almost everything, others what they
// refuse on its way to the device.

import {
  type CapturedFacts,
  CaptureWriter,
  FROM_DEVICE,
  REFUSED,
  TO_DEVICE,
  UNFINISHED_CHECKSUM,
} from '../rings/capture-ring.ts';
import { type Batch, DESCRIPTOR_WORDS, LENGTH, OFFSET } from '../contract.ts';
import type { Tracker } from '../filter/tracker.ts';
import { reasons } from '../reasons.ts';
import { InnerPacket, parseInner, PROTOCOL_ICMP, PROTOCOL_ICMPV6 } from '../wire/ip.ts';
import { PROTOCOL_TCP, PROTOCOL_UDP } from '../wire/ip.ts';
import { OwnNetwork } from '../wire/network.ts';
import { hasPartialChecksum, segmentBytes } from '../wire/virtio.ts';
import type { KnownPeer } from '../wireguard/known-peer.ts';
import type { Sender } from '../wireguard/send.ts';
import { isOwn, type Tunnel } from '../wireguard/tunnel.ts';
import { peerBehind } from './outward.ts';
import { TO_PEER, TO_WORKER, type Verdict } from './verdict.ts';

/** What is to be captured; plain data, for all workers. */
export interface CaptureOrder {
  /** Public key of the device, base64. */
  readonly publicKey: string;
  /** Bytes that are kept of each packet. */
  readonly snaplen: number;
  /** Whether only refused packets are captured. */
  readonly onlyRefused: boolean;
  /** The address, or the network, at the other end; null: any. 4 or 16 bytes. */
  readonly destination: { readonly address: Uint8Array; readonly prefixBits: number } | null;
  readonly protocol: 'tcp' | 'udp' | 'icmp' | null;
  /** The port at either end; null: any. */
  readonly port: number | null;
}

/** What captures read. */
export interface CapturedFrom {
  readonly tracker: Pick<Tracker, 'decisionOn'>;
  readonly tunnel: Pick<Tunnel, 'allowedIps' | 'known' | 'wallMs'>;
  readonly sender: Pick<Sender, 'refusalOf'>;
}

const PROTOCOLS = {
  tcp: [PROTOCOL_TCP, PROTOCOL_TCP],
  udp: [PROTOCOL_UDP, PROTOCOL_UDP],
  icmp: [PROTOCOL_ICMP, PROTOCOL_ICMPV6],
} as const;

/** One capture that runs. */
interface Running {
  readonly number: number;
  readonly order: CaptureOrder;
  readonly writer: CaptureWriter;
  readonly network: OwnNetwork | null;
  /** Whether packets must be read before it is known that they are asked for. */
  readonly hasFilter: boolean;
  /** The device; null: it is not served at the moment. */
  peer: KnownPeer | null;
}

/** The captures of one worker. */
export class Captures {
  /** Whether anything is captured. */
  isOn = false;
  readonly #from: CapturedFrom;
  #running: Running[] = [];
  /** Packets that their verdict has not read. */
  readonly #read = new InnerPacket();
  readonly #facts: CapturedFacts = {
    place: REFUSED,
    isOutbound: false,
    reason: reasons.none,
    by: 'nothing',
    rule: null,
    flow: 'none',
    wallMs: 0,
    length: 0,
    segmentBytes: 0,
  };

  constructor(from: CapturedFrom) {
    this.#from = from;
  }

  // ---- begin and end -------------------------------------------------------------------------

  /** Begins a capture; what is captured goes to a ring. */
  begin(number: number, order: CaptureOrder, ring: SharedArrayBuffer): void {
    const { destination, protocol, port } = order;
    const network =
      destination === null
        ? null
        : new OwnNetwork({ ...destination, network: destination.address });
    const hasFilter = network !== null || protocol !== null || port !== null;
    const writer = new CaptureWriter(ring);
    this.end(number);
    this.#running.push({ number, order, writer, network, hasFilter, peer: null });
    this.isOn = true;
    this.renew();
  }

  /** Ends a capture. */
  end(number: number): void {
    this.#running = this.#running.filter((one) => one.number !== number);
    this.isOn = this.#running.length > 0;
  }

  /** Finds the devices again, because peers were added or removed. */
  renew(): void {
    for (const one of this.#running)
      one.peer = this.#from.tunnel.known(one.order.publicKey) ?? null;
  }

  // ---- packets -------------------------------------------------------------------------------

  /** Captures what peer `from` of this worker sent. */
  inward(batch: Batch, i: number, from: KnownPeer, verdict: Verdict, now: number): void {
    const reason = this.#reason(verdict, now);
    const to = this.#receiver(batch, i, verdict, reason);
    for (const one of this.#running)
      if (one.peer === from) this.#take(one, batch, i, verdict, reason, false);
      // What passes to a device of another worker is judged, and captured, there.
      else if (one.peer !== null && one.peer === to && (to.isHere || reason !== reasons.none))
        this.#take(one, batch, i, verdict, reason, true);
  }

  /** Captures what peer `from` of another worker sent; that worker has captured it as its own. */
  handed(batch: Batch, i: number, from: KnownPeer, verdict: Verdict, now: number): void {
    const reason = this.#reason(verdict, now);
    const to = this.#receiver(batch, i, verdict, reason);
    for (const one of this.#running)
      if (one.peer !== null && one.peer === to) this.#take(one, batch, i, verdict, reason, true);
      else if (one.peer === from && reason !== reasons.none)
        this.#take(one, batch, i, verdict, reason, false);
  }

  /** Captures what came from the TUN. */
  outward(batch: Batch, i: number, verdict: Verdict, now: number): void {
    if (verdict.place === TO_WORKER) return;
    const reason = this.#reason(verdict, now);
    const to = this.#receiver(batch, i, verdict, reason);
    for (const one of this.#running)
      if (one.peer !== null && one.peer === to)
        this.#take(one, batch, i, verdict, reason, true, true);
  }

  /** Captures an answer of the gateway itself to peer `to`, in place of what that peer sent. */
  answer(batch: Batch, i: number, to: KnownPeer): void {
    for (const one of this.#running) {
      if (one.peer !== to || one.order.onlyRefused) continue;
      const at = i * DESCRIPTOR_WORDS;
      const offset = batch.descriptors[at + OFFSET]!;
      const length = batch.descriptors[at + LENGTH]!;
      const isRead = parseInner(batch.view, offset, length, this.#read) === reasons.none;
      if (one.hasFilter && !(isRead && isAskedFor(one, this.#read, true))) continue;
      const facts = this.#facts;
      facts.by = 'gateway';
      facts.rule = null;
      facts.flow = 'none';
      facts.segmentBytes = 0;
      this.#write(one, batch, offset, length, reasons.none, true);
    }
  }

  /** Why a packet is refused, by its verdict or because its receiver cannot be sent to. */
  #reason({ reason, place, to }: Verdict, now: number): number {
    if (reason !== reasons.none || place !== TO_PEER || to === null || !isOwn(to)) return reason;
    return this.#from.sender.refusalOf(to, now);
  }

  /** The device that a packet is for, also where it was refused before that was asked. */
  #receiver(batch: Batch, i: number, { to, place }: Verdict, reason: number): KnownPeer | null {
    if (to !== null || (reason === reasons.none && place !== TO_PEER)) return to;
    const d = batch.descriptors;
    const at = i * DESCRIPTOR_WORDS;
    const { allowedIps } = this.#from.tunnel;
    const found = peerBehind(allowedIps, batch.view, d[at + OFFSET]!, d[at + LENGTH]!);
    return typeof found === 'number' ? null : found;
  }

  #take(
    one: Running,
    batch: Batch,
    i: number,
    verdict: Verdict,
    reason: number,
    isOutbound: boolean,
    hasHeader = false,
  ): void {
    if (one.order.onlyRefused && reason === reasons.none) return;
    const at = i * DESCRIPTOR_WORDS;
    const offset = batch.descriptors[at + OFFSET]!;
    const available = batch.descriptors[at + LENGTH]!;
    const packet = this.#readOf(batch, offset, available, verdict);
    if (one.hasFilter && (packet === null || !isAskedFor(one, packet, isOutbound))) return;
    const length = packet?.length ?? available;
    const facts = this.#facts;
    const segment =
      hasHeader && packet !== null ? segmentBytes(batch.view, offset, packet) : length;
    facts.segmentBytes = segment < length ? segment : 0;
    if (hasHeader && segment >= length && hasPartialChecksum(batch.view, offset))
      facts.segmentBytes = UNFINISHED_CHECKSUM;
    this.#decide(verdict);
    this.#write(one, batch, offset, length, reason, isOutbound);
  }

  /** What was read of a packet; null: it cannot be read. */
  #readOf(batch: Batch, offset: number, available: number, verdict: Verdict): InnerPacket | null {
    if (verdict.isReadable) return verdict.packet;
    const unreadable = parseInner(batch.view, offset, available, this.#read);
    return unreadable === reasons.none ? this.#read : null;
  }

  #decide({ wasFiltered, flow }: Verdict): void {
    const facts = this.#facts;
    facts.by = 'nothing';
    facts.rule = null;
    facts.flow = 'none';
    if (!wasFiltered) return;
    const decision = this.#from.tracker.decisionOn(flow);
    facts.by = decision.by;
    facts.rule = decision.rule;
    facts.flow = decision.flow;
  }

  #write(
    { order, writer }: Running,
    batch: Batch,
    offset: number,
    length: number,
    reason: number,
    isOutbound: boolean,
  ): void {
    const facts = this.#facts;
    const passed = isOutbound ? TO_DEVICE : FROM_DEVICE;
    facts.place = reason === reasons.none ? passed : REFUSED;
    facts.isOutbound = isOutbound;
    facts.reason = reason;
    facts.wallMs = this.#from.tunnel.wallMs;
    facts.length = length;
    writer.write(facts, batch.bytes, offset, Math.min(length, order.snaplen));
  }
}

/** Whether a capture asks for a packet; the other end is its destination, or sends it. */
function isAskedFor(
  { order: { destination, protocol, port }, network }: Running,
  packet: InnerPacket,
  isOutbound: boolean,
): boolean {
  if (protocol !== null && !(PROTOCOLS[protocol] as readonly number[]).includes(packet.protocol))
    return false;
  if (port !== null && packet.sourcePort !== port && packet.destinationPort !== port) return false;
  if (network === null || destination === null) return true;
  if ((destination.address.length === 4 ? 4 : 6) !== packet.version) return false;
  return isOutbound
    ? network.contains(packet.source0, packet.source1, packet.source2, packet.source3)
    : network.contains(
        packet.destination0,
        packet.destination1,
        packet.destination2,
        packet.destination3,
      );
}
