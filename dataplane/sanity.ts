// Refuses packets by their addresses, whatever the rules say: a source that belongs to another, or
// a destination that nobody reaches through a tunnel. It also says where a packet goes. It does not
// know flows.

import type { HostAddresses, NetworkConfig } from './contract.ts';
import { reasons } from './reasons.ts';
import { type InnerPacket, PROTOCOL_TCP, PROTOCOL_UDP } from './wire/ip.ts';
import { OwnNetwork, wordsOf } from './wire/network.ts';
import {
  hasReservedDestination,
  hasReservedSource,
  heldIpv4,
  holdsIpv4,
  isBoundForMetadata,
  isReservedIpv4,
  isReservedIpv6,
} from './wire/ranges.ts';
import type { AllowedIps } from './wireguard/allowed-ips.ts';
import type { KnownPeer } from './wireguard/known-peer.ts';

/** Where a packet goes: out by the TUN. */
export const PLACE_OUTSIDE = 0;
/** Where a packet goes: to the gateway itself. */
export const PLACE_GATEWAY = 1;
/** Where a packet goes: into the tunnel networks or a network behind a peer. */
export const PLACE_PEERS = 2;

/** The settings by which addresses are judged. */
export interface SanityOptions {
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
  /** UDP port of the tunnel; packets to it must not come through the tunnel itself. */
  readonly listenPort: number;
  /** Whether peers may reach the addresses at which clouds answer the gateway's host. */
  readonly allowsMetadata: boolean;
}

/**
 * Each device sends a packet from a reserved address when its tunnel begins. V8 throws compiled
 * code away that reads a property for the first time then, but keeps code that reads a constant.
 */
const SOURCE_RESERVED = reasons.inner_source_reserved;

/** Judges the addresses of inner packets. Never allocates. */
export class Sanity {
  readonly #options: SanityOptions;
  readonly #allowedIps: AllowedIps<KnownPeer>;
  readonly #own4: OwnNetwork | null;
  readonly #own6: OwnNetwork | null;
  /** The addresses at which the socket can be reached, as words. */
  #here: readonly (readonly number[])[] = [];
  /** Addresses of the host that are not in the network namespace of the gateway, as words. */
  #outside: readonly (readonly number[])[] = [];
  /** Addresses of servers that the gateway itself needs, as words. */
  #guarded: readonly (readonly number[])[] = [];
  /** Ports of the gateway's own addresses at which this process listens. */
  #doors: ReadonlySet<number> = new Set();

  constructor(options: SanityOptions, allowedIps: AllowedIps<KnownPeer>) {
    this.#options = options;
    this.#allowedIps = allowedIps;
    this.#own4 = options.ipv4 === null ? null : new OwnNetwork(options.ipv4);
    this.#own6 = options.ipv6 === null ? null : new OwnNetwork(options.ipv6);
    this.setHostAddresses({ here: [], outside: [] });
  }

  /** Sets the addresses of this host, beside those of the tunnel. */
  setHostAddresses({ here, outside, guarded = [] }: HostAddresses): void {
    const { ipv4, ipv6 } = this.#options;
    const own = [ipv4, ipv6].flatMap((network) => (network === null ? [] : [network.address]));
    this.#here = [...own, ...here].map(wordsOf);
    this.#outside = outside.map(wordsOf);
    this.#guarded = guarded.map(wordsOf);
  }

  /** Sets the TCP ports of the gateway's own addresses at which this process listens. */
  setDoors(ports: readonly number[]): void {
    this.#doors = new Set(ports);
  }

  /** Whether a packet to the gateway's own address is for a listener of this process. */
  isForDoor({ protocol, destinationPort }: InnerPacket): boolean {
    return protocol === PROTOCOL_TCP && this.#doors.has(destinationPort);
  }

  /** Judges the addresses of a packet that a peer sent. */
  inward(packet: InnerPacket, from: KnownPeer): number {
    if (hasReservedSource(packet)) return SOURCE_RESERVED;
    if (this.#sourceOwner(packet) !== from) return reasons.inner_source_not_allowed;
    return this.destination(packet);
  }

  /** Judges the destination of a packet that a peer sends, whoever the peer is. */
  destination(packet: InnerPacket): number {
    if (hasReservedDestination(packet)) return reasons.inner_destination_reserved;
    if (this.#isOwnEndpoint(packet)) return reasons.inner_own_endpoint;
    const reason = this.#forbidden(packet);
    // Inside the tunnel networks such an address belongs to a device.
    return reason === reasons.none || this.placeOf(packet) !== PLACE_OUTSIDE
      ? reasons.none
      : reason;
  }

  /** Why a packet must not leave by the TUN. */
  #forbidden(packet: InnerPacket): number {
    if (isBoundForMetadata(packet) && !this.#options.allowsMetadata)
      return reasons.inner_destination_metadata;
    return isBoundFor(this.#outside, packet) ? reasons.inner_destination_host : reasons.none;
  }

  /**
   * Judges the source of a packet from the TUN; it reads the addresses alone. The kernel itself
   * refuses packets from outside that have the gateway's own address as source.
   */
  outward(view: DataView, offset: number): number {
    if (view.getUint8(offset) >> 4 === 4) {
      const word = view.getInt32(offset + 12);
      return isReservedIpv4(word) ||
        isOthers(this.#own4, word, 0, 0, 0) ||
        this.#allowedIps.lookUp4(word) !== null
        ? reasons.packet_source_forged
        : reasons.none;
    }
    const word0 = view.getInt32(offset + 8);
    const word1 = view.getInt32(offset + 12);
    const word2 = view.getInt32(offset + 16);
    const word3 = view.getInt32(offset + 20);
    return isReservedIpv6(word0, word1, word2, word3) ||
      isOthers(this.#own6, word0, word1, word2, word3) ||
      this.#allowedIps.lookUp6(word0, word1, word2, word3) !== null
      ? reasons.packet_source_forged
      : reasons.none;
  }

  /**
   * Whether a packet of a peer comes from an address of the host. Only a network behind the peer
   * can hold that; the host would take the packet as its own.
   */
  isFromHost({ source0, source1, source2, source3 }: InnerPacket): boolean {
    return this.#allowedIps.routes > 0 && isAmong(this.#here, source0, source1, source2, source3);
  }

  /**
   * Whether a packet is for an address of the host, or for an IPv6 address that holds one: a socket
   * of this process would reach the host there.
   */
  isForHost(packet: InnerPacket): boolean {
    return leadsTo(this.#here, packet);
  }

  /** Whether a packet is for a server that the gateway itself needs. */
  isForGuarded(packet: InnerPacket): boolean {
    return this.#guarded.length > 0 && leadsTo(this.#guarded, packet);
  }

  /** Whether a packet comes from the gateway's own address; it reads the addresses alone. */
  isFromGateway(view: DataView, offset: number): boolean {
    if (view.getUint8(offset) >> 4 === 4)
      return this.#own4 !== null && this.#own4.isAddress(view.getInt32(offset + 12), 0, 0, 0);
    return (
      this.#own6 !== null &&
      this.#own6.isAddress(
        view.getInt32(offset + 8),
        view.getInt32(offset + 12),
        view.getInt32(offset + 16),
        view.getInt32(offset + 20),
      )
    );
  }

  /** Whether an address of four words (IPv4 uses the first) is the gateway's own in the tunnel. */
  isGateway(version: number, words: Iterable<number>): boolean {
    const own = version === 4 ? this.#own4 : this.#own6;
    const [word0 = 0, word1 = 0, word2 = 0, word3 = 0] = words;
    return own !== null && own.isAddress(word0, word1, word2, word3);
  }

  /** Where a packet goes: one of the places above. */
  placeOf(packet: InnerPacket): number {
    const own = packet.version === 4 ? this.#own4 : this.#own6;
    const { destination0, destination1, destination2, destination3 } = packet;
    if (own === null || !own.contains(destination0, destination1, destination2, destination3))
      return this.#allowedIps.routes > 0 && this.destinationOwner(packet) !== null
        ? PLACE_PEERS
        : PLACE_OUTSIDE;
    return own.isAddress(destination0, destination1, destination2, destination3)
      ? PLACE_GATEWAY
      : PLACE_PEERS;
  }

  #sourceOwner(packet: InnerPacket): KnownPeer | null {
    return packet.version === 4
      ? this.#allowedIps.lookUp4(packet.source0)
      : this.#allowedIps.lookUp6(packet.source0, packet.source1, packet.source2, packet.source3);
  }

  /** The peer that a packet is for. */
  destinationOwner(packet: InnerPacket): KnownPeer | null {
    return packet.version === 4
      ? this.#allowedIps.lookUp4(packet.destination0)
      : this.#allowedIps.lookUp6(
          packet.destination0,
          packet.destination1,
          packet.destination2,
          packet.destination3,
        );
  }

  /**
   * Whether a packet from the TUN is a datagram of the gateway's own socket. An endpoint inside a
   * network behind a peer would lead each datagram back into the tunnel, without end.
   */
  isOwnDatagram(packet: InnerPacket): boolean {
    if (this.#allowedIps.routes === 0) return false;
    if (packet.protocol !== PROTOCOL_UDP || packet.sourcePort !== this.#options.listenPort)
      return false;
    const { source0, source1, source2, source3 } = packet;
    return isAmong(this.#here, source0, source1, source2, source3);
  }

  /** Whether a packet goes to the gateway's own socket: that would be a tunnel inside itself. */
  #isOwnEndpoint(packet: InnerPacket): boolean {
    if (packet.protocol !== PROTOCOL_UDP || packet.destinationPort !== this.#options.listenPort)
      return false;
    return isBoundFor(this.#here, packet);
  }
}

/** Whether a packet is for one of some addresses. */
function isBoundFor(addresses: readonly (readonly number[])[], packet: InnerPacket): boolean {
  const { destination0, destination1, destination2, destination3 } = packet;
  return isAmong(addresses, destination0, destination1, destination2, destination3);
}

/** Whether a packet is for one of some addresses, or for an IPv6 address that holds one. */
function leadsTo(addresses: readonly (readonly number[])[], packet: InnerPacket): boolean {
  if (isBoundFor(addresses, packet)) return true;
  if (packet.version === 4) return false;
  const { destination0, destination1, destination2, destination3 } = packet;
  return (
    holdsIpv4(destination0, destination1, destination2) &&
    isAmong(addresses, heldIpv4(destination0, destination1, destination3), 0, 0, 0)
  );
}

function isAmong(
  addresses: readonly (readonly number[])[],
  word0: number,
  word1: number,
  word2: number,
  word3: number,
): boolean {
  for (const one of addresses)
    if (one[0] === word0 && one[1] === word1 && one[2] === word2 && one[3] === word3) return true;
  return false;
}

/** Whether an address is in a tunnel network and is not the address of the gateway. */
function isOthers(
  own: OwnNetwork | null,
  word0: number,
  word1: number,
  word2: number,
  word3: number,
): boolean {
  return (
    own !== null &&
    own.contains(word0, word1, word2, word3) &&
    !own.isAddress(word0, word1, word2, word3)
  );
}
