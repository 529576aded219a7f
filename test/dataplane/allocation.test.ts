// A packet allocates no memory on the heap. Two whole pipelines send packets to each other and
// track flows, in both directions: on native engines over loopback, and on the TypeScript engine
// without its ciphers, because those allocate. An engine is called once for each batch.

import test, { type ExecutionContext } from 'ava';
import nacl from 'tweetnacl';
import {
  DATAGRAM_SLOTS,
  SLOT_BYTES,
  SLOT_HEADROOM_BYTES,
  TAG_BYTES,
  TRANSPORT_OVERHEAD_BYTES,
} from '../../dataplane/constants.ts';
import {
  ADDRESS,
  type Batch,
  DESCRIPTOR_WORDS,
  KEY,
  type KeyHandle,
  LENGTH,
  type NetworkConfig,
  OFFSET,
  type PacketEngine,
  MARK,
  MARK_DROP,
  MARK_OPEN,
  MARK_OPENED,
  MARK_SEAL,
  MARK_SEALED,
} from '../../dataplane/contract.ts';
import { diff, EMPTY_CONFIG } from '../support/dataplane/whole-configs.ts';
import { TypeScriptEngine } from '../../dataplane/io/engine.ts';
import { type Addon, EVENT_UDP } from '../../dataplane/native/index.ts';
import { portablePrimitives } from '../../dataplane/noise/primitives.ts';
import { Pipeline } from '../../dataplane/worker/pipeline.ts';
import { createEndpointTable, writeEndpoint } from '../../dataplane/wire/address.ts';
import { TRANSPORT_DATA, transport } from '../../dataplane/wire/messages.ts';
import { endpointLayout } from '../../dataplane/wireguard/tunnel.ts';
import { addon, bytesPerCall, MTU, openNative } from '../support/dataplane/native.ts';
import { address, counting, tcp, udp } from '../support/dataplane/packets.ts';
import { peer, rule, seededRandom } from '../support/dataplane/simulation.ts';

const PACKETS = 60;
/** A turn keeps its times and sums as numbers on the heap, 16 bytes each; 11 to 16 were seen. */
const TURN_BYTES = 20 * 16;
const MEASURE = { calls: 10, rounds: 61 };

// ---- the ends --------------------------------------------------------------------------------

/** An engine with a socket of its own, and how it takes datagrams that wait there. */
interface End {
  readonly engine: PacketEngine;
  readonly port: number;
  /** Sends what is queued. */
  flush(): void;
  /** Fills `engine.datagrams`; false when nothing has arrived. */
  receive(): boolean;
}

function nativeEnd(t: ExecutionContext, native: Addon): End {
  const socket = native.openUdp(false, 0);
  const engine = openNative(
    native,
    { udp4: socket, udp6: -1, tun: -1, wake: -1, tunTakesUdp: false, mtu: MTU },
    endpointLayout.total,
  );
  t.teardown(() => {
    engine.close();
    native.closeFd(socket);
  });
  return {
    engine,
    port: native.boundPort(socket),
    flush: () => engine.flush(),
    receive: () => {
      if ((engine.poll(0) & EVENT_UDP) === 0) return false;
      engine.receive();
      return true;
    },
  };
}

const LOOPBACK = address('127.0.0.1');

function nativePair(native: Addon): Ends {
  return (t) => [nativeEnd(t, native), nativeEnd(t, native)];
}

/**
 * The TypeScript engine without ciphers: what it seals is in the arena of the other one at once.
 */
class ClearEngine extends TypeScriptEngine implements End {
  readonly engine = this;
  readonly port: number;
  #far: ClearEngine = this;
  readonly #remoteIndices = new Int32Array(64);
  readonly #counters = new Int32Array(64);

  constructor(port: number) {
    super(portablePrimitives, createEndpointTable(endpointLayout.total), MTU, {
      sendDatagram: (bytes) => {
        this.#far.acceptDatagram(bytes, LOOPBACK, this.port);
      },
      writePacket: null,
    });
    this.port = port;
  }

  /** Joins two engines; all datagrams in an arena come from the other one. */
  static pair(): [ClearEngine, ClearEngine] {
    const [a, b] = [new ClearEngine(1), new ClearEngine(2)];
    a.#far = b;
    b.#far = a;
    for (let slot = 0; slot < DATAGRAM_SLOTS; slot++) {
      writeEndpoint(a.endpoints, slot, LOOPBACK, b.port);
      writeEndpoint(b.endpoints, slot, LOOPBACK, a.port);
    }
    return [a, b];
  }

  override installKey(
    send: Uint8Array,
    receive: Uint8Array,
    remoteIndex: number,
  ): KeyHandle | null {
    const handle = super.installKey(send, receive, remoteIndex);
    if (handle !== null) this.#remoteIndices[handle.slot] = remoteIndex;
    return handle;
  }

  override seal(batch: Batch): void {
    const d = batch.descriptors;
    for (let at = 0; at < batch.count * DESCRIPTOR_WORDS; at += DESCRIPTOR_WORDS) {
      if (d[at + MARK] !== MARK_SEAL) continue;
      this.#pass(batch, d[at + OFFSET]!, d[at + LENGTH]!, d[at + KEY]!);
      d[at + LENGTH]! += TRANSPORT_OVERHEAD_BYTES;
      d[at + MARK] = MARK_SEALED;
    }
  }

  #pass(batch: Batch, offset: number, length: number, key: number): void {
    const { bytes, view, descriptors } = this.#far.datagrams;
    const slot = this.#far.datagrams.count++;
    const start = slot * SLOT_BYTES;
    view.setUint32(start, TRANSPORT_DATA, true);
    view.setInt32(start + transport.receiver, this.#remoteIndices[key]!, true);
    view.setInt32(start + transport.counter, this.#counters[key]!++, true);
    view.setUint32(start + transport.counter + 4, 0, true);
    for (let i = 0; i < length; i++) bytes[start + transport.packet + i] = batch.bytes[offset + i]!;
    const at = slot * DESCRIPTOR_WORDS;
    descriptors[at + OFFSET] = start;
    descriptors[at + LENGTH] = transport.packet + length + TAG_BYTES;
    descriptors[at + MARK] = MARK_DROP;
    descriptors[at + ADDRESS] = slot;
  }

  override open(batch: Batch): void {
    const d = batch.descriptors;
    for (let at = 0; at < batch.count * DESCRIPTOR_WORDS; at += DESCRIPTOR_WORDS) {
      if (d[at + MARK] !== MARK_OPEN) continue;
      d[at + OFFSET]! += transport.packet;
      d[at + LENGTH]! -= TRANSPORT_OVERHEAD_BYTES;
      d[at + MARK] = MARK_OPENED;
    }
  }

  flush(): void {
    // What was sealed has arrived.
  }

  receive(): boolean {
    return this.datagrams.count > 0;
  }
}

type Ends = (t: ExecutionContext) => readonly [End, End];

const ends: readonly (readonly [name: string, open: Ends])[] = [
  ['typescript', () => ClearEngine.pair()],
  ...(addon === null ? [] : [['native', nativePair(addon)] as const]),
];

// ---- two gateways ----------------------------------------------------------------------------

/** How often each function of an engine has been called. */
type Calls = Record<'open' | 'seal' | 'writeTun' | 'send', number>;

const NO_CALLS: Readonly<Calls> = { open: 0, seal: 0, writeTun: 0, send: 0 };

interface Side {
  readonly end: End;
  readonly pipeline: Pipeline;
  readonly calls: Calls;
  /** Bytes of each packet that was loaded. */
  readonly lengths: Int32Array;
}

/** Packets of two flows of each family and protocol. */
function packetsBetween(from: number, to: number): Uint8Array[] {
  const addresses = (side: number) => [`10.0.${side}.1`, `fd00:${side}::1`] as const;
  const [source, target] = [addresses(from), addresses(to)];
  return Array.from({ length: PACKETS }, (_, i) => {
    const family = i & 1;
    const fields = { source: source[family]!, destination: target[family]!, data: counting(100) };
    const ports = { sourcePort: 4_000 + (i & 2), destinationPort: 4_000 + (i & 2) };
    return (i & 4) === 0 ? udp({ ...fields, ...ports }) : tcp({ ...fields, ...ports });
  });
}

/** Two pipelines that are each other's only device, on 10.0.0.1 and 10.0.1.1. */
class Tunnel {
  /** Beside a text, so that numbers here are objects, as those from the clock of the worker. */
  readonly #clock: ['now and Unix time', now: number, wallMs: number] = [
    'now and Unix time',
    1_000.5,
    1_700_000_000_000.5,
  ];
  readonly left: Side;
  readonly right: Side;

  constructor([left, right]: readonly [End, End]) {
    const random = seededRandom(1);
    const keys = [0, 1].map((i) => new Uint8Array(32).fill(7 + i));
    const make = (own: number, end: End, far: End): Side => {
      const privateKey = keys[own]!;
      const calls = { ...NO_CALLS };
      const engine = counted(end.engine, calls);
      const pipeline = new Pipeline({
        engine,
        identity: { privateKey, publicKey: nacl.scalarMult.base(privateKey) },
        random,
        timestampFloorMs: 0,
        ipv4: network(`10.0.${own}.1`, 24),
        ipv6: network(`fd00:${own}::1`, 64),
        defaultAction: 'drop',
        allowsMetadata: false,
        listenPort: 51_820,
        mtu: MTU,
        hasTun: true,
      });
      const other = 1 - own;
      const key = Buffer.from(nacl.scalarMult.base(keys[other]!)).toString('base64');
      const config = peer({ key, ipv4: `10.0.${other}.1`, ipv6: `fd00:${other}::1` });
      const resume = { endpoint: { address: '127.0.0.1', port: far.port }, heardAtMs: 0 };
      const rules = [rule('4', 'accept', '10.0.0.0/8'), rule('6', 'accept', 'fd00::/16')];
      const desired = {
        peers: new Map([[key, { ...config, resume, limitDown: 1e11, limitUp: 1e11 }]]),
        rules: new Map([['owner', rules]]),
      };
      const [, now, wallMs] = this.#clock;
      pipeline.apply(diff(EMPTY_CONFIG, desired), now, wallMs);
      return { end, pipeline, calls, lengths: new Int32Array(PACKETS) };
    };
    this.left = make(0, left, right);
    this.right = make(1, right, left);
  }

  /** Puts packets where a TUN would have put them. */
  load({ end, lengths }: Side, packets: readonly Uint8Array[]): void {
    for (const [i, packet] of packets.entries()) {
      end.engine.packets.bytes.set(packet, i * SLOT_BYTES + SLOT_HEADROOM_BYTES);
      lengths[i] = packet.length;
    }
  }

  /** Sends the first `count` packets that were loaded, and takes what arrives. */
  send(from: Side, to: Side, count: number): void {
    this.#clock[1] += 0.25;
    this.#clock[2] += 0.25;
    const batch = from.end.engine.packets;
    const d = batch.descriptors;
    for (let i = 0; i < count; i++) {
      const at = i * DESCRIPTOR_WORDS;
      d[at + OFFSET] = i * SLOT_BYTES + SLOT_HEADROOM_BYTES;
      d[at + LENGTH] = from.lengths[i]!;
      d[at + MARK] = MARK_DROP;
    }
    batch.count = count;
    from.pipeline.outbound(this.#clock[1], this.#clock[2]);
    this.deliver(from, to);
  }

  deliver(from: Side, to: Side): void {
    from.end.flush();
    while (to.end.receive()) {
      const [, now, wallMs] = this.#clock;
      to.pipeline.inbound(now, wallMs);
      to.pipeline.expire(now, wallMs);
      to.end.engine.datagrams.count = 0;
    }
    to.end.flush();
  }
}

function network(text: string, prefixBits: number): NetworkConfig {
  return { network: address(text), prefixBits, address: address(text) };
}

/** Wraps an engine and counts how often each function is called. */
function counted(engine: PacketEngine, calls: Calls): PacketEngine {
  const { primitives, endpoints, datagrams, packets, errors } = engine;
  return {
    primitives,
    endpoints,
    datagrams,
    packets,
    errors,
    handed: engine.handed,
    handOver: (batch) => engine.handOver(batch),
    takeHanded: (worker) => engine.takeHanded(worker),
    freeHanded: (worker) => engine.freeHanded(worker),
    installKey: (send, receive, remoteIndex) => engine.installKey(send, receive, remoteIndex),
    removeKey: (slot, generation) => engine.removeKey(slot, generation),
    open: (batch) => {
      calls.open++;
      engine.open(batch);
    },
    seal: (batch) => {
      calls.seal++;
      engine.seal(batch);
    },
    writeDoors: (batch) => engine.writeDoors(batch),
    writeTun: (batch) => {
      calls.writeTun++;
      engine.writeTun(batch);
    },
    sendRoom: () => engine.sendRoom(),
    send: (message, to) => {
      calls.send++;
      engine.send(message, to);
    },
  };
}

/** Two gateways with a session and flows that have been answered. */
function openTunnel(t: ExecutionContext, open: Ends): Tunnel {
  const tunnel = new Tunnel(open(t));
  const { left, right } = tunnel;
  tunnel.load(left, packetsBetween(0, 1));
  tunnel.load(right, packetsBetween(1, 0));
  // An initiation, a response, and packets that waited.
  tunnel.send(left, right, 1);
  tunnel.deliver(right, left);
  tunnel.deliver(left, right);
  tunnel.send(left, right, PACKETS);
  tunnel.send(right, left, PACKETS);
  return tunnel;
}

for (const [name, open] of ends) {
  test(`${name}: a packet allocates no memory, in or out`, (t) => {
    const tunnel = openTunnel(t, open);
    const { left, right } = tunnel;
    // The optimizer needs some of the first runs: the least shows what lasts. It is what two more
    // runs do not lower, if it is low; else the least of eight.
    const leastFor = (count: number, isLow: (bytes: number) => boolean): number => {
      let least = Number.POSITIVE_INFINITY;
      for (let run = 0, same = 0; run < 8 && !(same >= 2 && isLow(least)); run++) {
        const bytes = bytesPerCall(() => {
          tunnel.send(left, right, count);
          tunnel.send(right, left, count);
        }, MEASURE);
        same = bytes < least ? 0 : same + 1;
        least = Math.min(least, bytes);
      }
      return least;
    };
    // Each packet is judged on its way out and on its way in.
    const more = 4 * (PACKETS - 1);
    const early = leastFor(PACKETS, (bytes) => bytes < TURN_BYTES);
    const one = leastFor(1, (bytes) => (early - bytes) / more < 0.1);
    const isEarlyEnough = (early - one) / more < 0.1;
    const all = isEarlyEnough
      ? early
      : Math.min(
          early,
          leastFor(PACKETS, () => false),
        );
    t.log(`${one} bytes for one packet each way, ${all} for ${PACKETS}`);
    t.true(one < TURN_BYTES);
    t.true((all - one) / more < 0.1);
    for (const { pipeline, calls } of [left, right]) {
      t.deepEqual(pipeline.sample().drops, {});
      t.true(calls.open > MEASURE.calls * MEASURE.rounds);
    }
  });

  test(`${name}: an engine is called once per batch, not once per packet`, (t) => {
    const tunnel = openTunnel(t, open);
    const { left, right } = tunnel;
    const callsFor = (count: number): Calls[] => {
      for (const { calls } of [left, right]) Object.assign(calls, NO_CALLS);
      tunnel.send(left, right, count);
      return [{ ...left.calls }, { ...right.calls }];
    };
    const [sending, receiving] = [
      { ...NO_CALLS, seal: 1 },
      { ...NO_CALLS, open: 1, writeTun: 1 },
    ];
    t.deepEqual(callsFor(1), [sending, receiving]);
    t.deepEqual(callsFor(PACKETS), [sending, receiving]);
  });
}
