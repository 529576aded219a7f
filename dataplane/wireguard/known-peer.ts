// A peer as each worker of the gateway knows it: its key, its place and its addresses. One worker
// is responsible for a peer and has all its state, see peer.ts. The others need what is here to
// find that worker. The first worker, which takes the initiations of all peers, also remembers here
// what it learnt from them.

import { TIMESTAMP_BYTES } from '../constants.ts';
import type { PeerConfig, PlacedPeer } from '../contract.ts';
import { sameBytes } from '../wire/bytes.ts';
import { losesNetwork, type NetworkRange } from '../wire/network.ts';

/** How packets find a peer. */
type Addresses = Pick<PeerConfig, 'ipv4' | 'ipv6' | 'routes'>;

const NO_ROUTES: readonly NetworkRange[] = [];

/** Whether a peer would lose an address of one IP version, or a network behind it. */
export function losesAddress(before: Addresses, after: Addresses | null, version: 4 | 6): boolean {
  const name = version === 4 ? 'ipv4' : 'ipv6';
  return (
    (before[name] !== null && !sameBytes(before[name], after?.[name] ?? null)) ||
    losesNetwork(before.routes, after?.routes, version)
  );
}

/** What every worker knows of a peer. */
export class KnownPeer {
  /** The public key in base64. */
  readonly id: string;
  readonly publicKey: Uint8Array;
  /** Number below MAX_PEERS: the place of the peer in tables, the same in all workers. */
  readonly slot: number;
  /** Tells the peers apart that had the slot one after the other. */
  readonly generation: number;
  /** The slot of its endpoint in the endpoint table. */
  readonly endpointSlot: number;
  /** The worker that is responsible for it. */
  readonly worker: number;
  /** Whether that is this worker: then it is a `Peer`. */
  readonly isHere: boolean;
  ipv4: Uint8Array | null = null;
  ipv6: Uint8Array | null = null;
  /** Networks behind it. */
  routes = NO_ROUTES;
  /** The next peer whose key begins with the same word; peer-keys.ts sets it. */
  nextOfKey: KnownPeer | null = null;

  /** DH(our static, its static), computed at the first handshake. */
  staticShared: Uint8Array | null = null;
  /** The greatest timestamp of the initiations that were taken from it. */
  readonly greatestTimestamp = new Uint8Array(TIMESTAMP_BYTES);
  lastInitiationTakenAt = Number.NEGATIVE_INFINITY;

  constructor(config: PlacedPeer, endpointSlot: number, worker: number, isHere: boolean) {
    this.id = config.publicKey;
    this.publicKey = new Uint8Array(Buffer.from(config.publicKey, 'base64'));
    this.slot = config.slot;
    this.generation = config.generation;
    this.endpointSlot = endpointSlot;
    this.worker = worker;
    this.isHere = isHere;
    this.setAddresses(config);
  }

  /**
   * Copies the addresses of a configuration. Arrays that came with a message are outside the heap,
   * some hundred bytes each, until V8 collects old objects.
   */
  setAddresses({ ipv4, ipv6, routes = NO_ROUTES }: Addresses): void {
    this.ipv4 = ipv4 === null ? null : new Uint8Array(ipv4);
    this.ipv6 = ipv6 === null ? null : new Uint8Array(ipv6);
    this.routes =
      routes.length === 0
        ? NO_ROUTES
        : routes.map(({ network, prefixBits }) => ({
            network: new Uint8Array(network),
            prefixBits,
          }));
  }
}
