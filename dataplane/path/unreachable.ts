// Says to hosts behind the TUN that nobody is where they send to: a device whose endpoint is not
// known, or an address of the tunnel networks that no device has. As the kernel's WireGuard does,
// the gateway answers ICMP host unreachable, so a ping fails at once and does not wait for its
// timeout. An answer waits for the end of its batch, because it may be longer than the packet, and
// another packet may follow that one.

import {
  SLOT_BYTES,
  SLOT_HEADROOM_BYTES,
  UNREACHABLE_BURST,
  UNREACHABLE_INTERVAL_MS,
} from '../constants.ts';
import {
  type Batch,
  DESCRIPTOR_WORDS,
  KEY,
  LENGTH,
  MARK,
  MARK_TUN,
  type NetworkConfig,
  OFFSET,
  type PacketEngine,
  type SampleSums,
} from '../contract.ts';
import { NO_PEER } from '../filter/flow-verdict.ts';
import { Pace } from '../pace.ts';
import { reasons } from '../reasons.ts';
import { type Sanity, PLACE_PEERS } from '../sanity.ts';
import { mayBeAnsweredByError, turnIntoUnreachable, UNREACHABLE_BYTES_MAX } from '../wire/icmp.ts';
import { InnerPacket, parseInner } from '../wire/ip.ts';
import { isBroadcastIn } from '../wire/network.ts';
import { VIRTIO_HEADER_BYTES } from '../wire/virtio.ts';
import type { KnownPeer } from '../wireguard/known-peer.ts';

/** What answers are made from. */
export interface UnreachableParts {
  /** Its batch of packets is used to send; it is not at work when a batch has ended. */
  readonly engine: Pick<PacketEngine, 'packets' | 'writeTun'>;
  readonly sanity: Pick<Sanity, 'outward' | 'placeOf'>;
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  /**
   * False: the host refuses IPv4 packets from the TUN that have its own address. Then the source of
   * an answer is the address that is not reached.
   */
  readonly takesOwnSource?: boolean | undefined;
}

/** Makes and sends the answers of one worker. Nothing here allocates for each packet. */
export class Unreachable {
  readonly #parts: UnreachableParts;
  readonly #pace = new Pace(1, UNREACHABLE_BURST, UNREACHABLE_INTERVAL_MS);
  readonly #packet = new InnerPacket();
  /** The answers that wait, one after the other, and their lengths. */
  readonly #bytes = new Uint8Array(UNREACHABLE_BURST * UNREACHABLE_BYTES_MAX);
  readonly #view = new DataView(this.#bytes.buffer);
  readonly #lengths = new Int32Array(UNREACHABLE_BURST);
  #waiting = 0;
  #sent = 0;
  #withheld = 0;
  /** The source of an answer over IPv4 where the host refuses the gateway's own. */
  readonly #destination = new Uint8Array(4);

  constructor(parts: UnreachableParts) {
    this.#parts = parts;
  }

  /** What was answered, and what the limit held back, since the beginning. */
  get sums(): Pick<SampleSums, 'answers'> {
    const [sent, withheld] = [this.#sent, this.#withheld];
    return sent === 0 ? {} : { answers: { sent, withheld } };
  }

  /** Answers descriptor `i` of the TUN, which is for an address that no peer has. */
  noPeer({ view, bytes, descriptors }: Batch, i: number, now: number): void {
    const at = i * DESCRIPTOR_WORDS;
    const offset = descriptors[at + OFFSET]!;
    const packet = this.#packet;
    const { sanity, ipv4 } = this.#parts;
    if (parseInner(view, offset, descriptors[at + LENGTH]!, packet) !== reasons.none) return;
    if (sanity.placeOf(packet) !== PLACE_PEERS) return;
    if (sanity.outward(view, offset) !== reasons.none) return;
    if (packet.version === 4 && isBroadcastIn(ipv4!, packet.destination0)) return;
    this.#answer(bytes, view, offset, packet, now);
  }

  /** Answers descriptor `i` of the TUN, a readable packet for peer `to`, whose place is unknown. */
  noEndpoint(batch: Batch, i: number, packet: InnerPacket, to: KnownPeer, now: number): void {
    if (packet.version === 4)
      for (const network of to.routes) if (isBroadcastIn(network, packet.destination0)) return;
    const offset = batch.descriptors[i * DESCRIPTOR_WORDS + OFFSET]!;
    this.#answer(batch.bytes, batch.view, offset, packet, now);
  }

  #answer(
    bytes: Uint8Array,
    view: DataView,
    offset: number,
    packet: InnerPacket,
    now: number,
  ): void {
    const from = this.#sourceFor(view, offset, packet);
    if (from === null || !mayBeAnsweredByError(view, offset, packet)) return;
    if (this.#waiting === UNREACHABLE_BURST || !this.#pace.allows(0, now))
      return void this.#withheld++;
    const start = this.#waiting * UNREACHABLE_BYTES_MAX;
    const quoted = Math.min(packet.length, UNREACHABLE_BYTES_MAX);
    for (let k = 0; k < quoted; k++) this.#bytes[start + k] = bytes[offset + k]!;
    this.#lengths[this.#waiting++] = turnIntoUnreachable(
      this.#bytes,
      this.#view,
      start,
      packet,
      from,
    );
    this.#sent++;
  }

  #sourceFor(view: DataView, offset: number, { version }: InnerPacket): Uint8Array | null {
    const { ipv4, ipv6, takesOwnSource = true } = this.#parts;
    if (version === 6) return ipv6?.address ?? null;
    if (takesOwnSource) return ipv4?.address ?? null;
    for (let k = 0; k < 4; k++) this.#destination[k] = view.getUint8(offset + 16 + k);
    return this.#destination;
  }

  /** Sends what waits. No batch may be at work. */
  send(): void {
    const waiting = this.#waiting;
    if (waiting === 0) return;
    this.#waiting = 0;
    const { engine } = this.#parts;
    const { packets: batch } = engine;
    const { count, bytes, descriptors } = batch;
    for (let i = 0; i < waiting; i++) {
      const at = i * DESCRIPTOR_WORDS;
      const offset = i * SLOT_BYTES + SLOT_HEADROOM_BYTES;
      const length = this.#lengths[i]!;
      const start = i * UNREACHABLE_BYTES_MAX;
      bytes.fill(0, offset - VIRTIO_HEADER_BYTES, offset);
      for (let k = 0; k < length; k++) bytes[offset + k] = this.#bytes[start + k]!;
      descriptors[at + OFFSET] = offset;
      descriptors[at + LENGTH] = length;
      descriptors[at + KEY] = NO_PEER;
      descriptors[at + MARK] = MARK_TUN;
    }
    batch.count = waiting;
    engine.writeTun(batch);
    batch.count = count;
  }
}
