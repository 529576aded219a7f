// Compiles the packet path before the first packet. V8 compiles a function when it has run often,
// and assumes what it has seen; a packet waits while it learns. So two packet paths exchange
// packets of all kinds over loopback: a gateway, and a device of it. They are of the same classes
// as the one in use, so what V8 has learnt and compiled is used there.

import { closeSync, openSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import {
  ALONE,
  type Batch,
  DESCRIPTOR_WORDS,
  type GatewayConfig,
  LENGTH,
  MARK,
  MARK_DROP,
  OFFSET,
} from '../contract.ts';
import { ConfigInForce } from '../diff.ts';
import { MAX_PEERS, SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../constants.ts';
import type { Clock } from '../io/clock.ts';
import { createBatches } from '../io/engine.ts';
import { type Addon, EVENT_SOCKETS, EVENT_TUN, type NativeEngine } from '../native/index.ts';
import type { Random } from '../noise/handshake.ts';
import { derivePublicKey, makePrivateKey } from '../noise/keys.ts';
import type { Primitives } from '../noise/primitives.ts';
import type { SocketEgress } from '../sockets/egress.ts';
import { openEgress } from './egress.ts';
import { Pipeline } from './pipeline.ts';
import { Turns } from './turns.ts';
import { Caller, withEchoHosts } from './warm-up-sockets.ts';
import { createEndpointTable, parseAddress } from '../wire/address.ts';
import { echoReply, echoRequest, flagsOf, ip, tcp, udp } from '../wire/packets.ts';
import { endpointLayout } from '../wireguard/tunnel.ts';

/** How long it may take, whatever is compiled by then. */
const LIMIT_MS = 250;
/** How long it may take while nobody waits for this thread and there is another core. */
const PATIENT_LIMIT_MS = 1_000;
/** After so many sessions everything is compiled. */
const SESSIONS = 12;
/** Each session has so many rounds, enough for a whole replay window. */
const ROUNDS_PER_SESSION = 50;
/** Packets at once: mostly one, as on a quiet gateway. */
const BURSTS = [1, 1, 1, 1, 3, 1, 1, 24];
const FLOWS = 56;
/** After so many calls V8 takes notes of what a function sees. */
const TURNS_ALONE = 32;
/** Room for flows: as little as holds them all, because memory takes time. */
const FLOW_ROOM = 1_024;
const MTU = 1_420;
/** Where packets leave by sockets, a device opens a connection each time after so many rounds. */
const ROUNDS_PER_CALL = 3;
/** Sizes of the sockets: they hold all that is open at once. */
const SOCKETS = 1_024;
const POOL_BYTES = 8 * 1_048_576;

const LAN = { v4: '198.18.0.2', v6: '2001:db8::2' };
const DEVICE = { v4: '10.254.0.2', v6: 'fd00:254::2' };
const STRANGER = { v4: '10.254.0.77', v6: 'fd00:254::77' };

const bytesOf = (text: string): Uint8Array => parseAddress(text)!;

/** What a warm-up needs of a worker. */
export interface WarmUpOptions {
  readonly addon: Addon;
  /** The class of engine that the worker uses. */
  readonly Engine: typeof NativeEngine;
  readonly primitives: Primitives;
  readonly random: Random;
  readonly clock: Clock;
  /** Whether somebody waits for this thread. */
  readonly isAwaited: () => boolean;
  /** Whether packets leave by sockets, in place of a TUN. */
  readonly hasSockets: boolean;
}

/** One end: a packet path with its own engine. */
class End {
  /** In place of a TUN: the sockets of a gateway, the TCP of a device. */
  readonly egress: SocketEgress | null;
  readonly caller: Caller | null;
  readonly engine: NativeEngine;
  readonly pipeline: Pipeline;
  readonly port: number;
  readonly #turns: Turns;
  readonly #clock: Clock;
  readonly #config = new ConfigInForce();
  readonly #socket: number;
  readonly #addon: Addon;

  constructor(
    options: WarmUpOptions,
    tun: number,
    privateKey: Uint8Array,
    own: typeof LAN,
    isGateway: boolean,
  ) {
    const { addon, Engine, primitives, random, hasSockets } = options;
    const batches = createBatches();
    const networks = {
      ipv4: { network: bytesOf(own.v4), prefixBits: 24, address: bytesOf(own.v4) },
      ipv6: { network: bytesOf(own.v6), prefixBits: 64, address: bytesOf(own.v6) },
    };
    const wanted = { capacity: SOCKETS, interfaceName: null };
    const all = { ...networks, wanted, batches, random, devices: MAX_PEERS };
    const sizes = { poolBytes: POOL_BYTES, connections: SOCKETS };
    this.egress = hasSockets && isGateway ? openEgress(withEchoHosts(addon), all, sizes) : null;
    this.caller = hasSockets && !isGateway ? new Caller(batches.packets, random) : null;
    this.#addon = addon;
    this.#clock = options.clock;
    this.#socket = addon.openUdp(false, 0);
    this.port = addon.boundPort(this.#socket);
    const sockets = { udp4: this.#socket, udp6: -1, wake: -1 };
    const endpoints = createEndpointTable(endpointLayout.total);
    this.engine = new Engine(addon, primitives, endpoints, endpointLayout.total, {
      ...sockets,
      batches,
      substitute: this.egress ?? this.caller,
      tun: hasSockets ? -1 : tun,
      tunTakesUdp: true,
      mtu: MTU,
    });
    this.pipeline = new Pipeline({
      engine: this.engine,
      team: ALONE,
      identity: { privateKey, publicKey: derivePublicKey(privateKey) },
      flows: FLOW_ROOM,
      random,
      timestampFloorMs: 0,
      ...networks,
      egress: this.egress,
      defaultAction: 'accept',
      allowsMetadata: false,
      listenPort: this.port,
      mtu: MTU,
      hasTun: true,
    });
    this.pipeline.setHostAddresses({ here: [bytesOf('127.0.0.1'), bytesOf('::1')], outside: [] });
    this.#turns = new Turns(this.engine, this.pipeline, this.#clock, (error) => {
      throw error;
    });
    // A gateway without peers takes turns too.
    for (let turn = 0; turn < TURNS_ALONE; turn++) this.receive();
  }

  /** Puts a configuration in force: one peer, as a new one, and rules that differ each time. */
  configure(publicKey: string, peer: typeof LAN, port: number, turn: number): void {
    this.#put({ peers: new Map(), rules: new Map() });
    const endpoint = { address: '127.0.0.1', port };
    const config = {
      publicKey,
      presharedKey: new Uint8Array(32),
      ipv4: bytesOf(peer.v4),
      ipv6: bytesOf(peer.v6),
      scope: 'owner',
      resume: { endpoint, heardAtMs: this.#clock.wall() },
    };
    const rule = (id: string, address: string, portFirst: number) => ({
      id,
      action: 'drop' as const,
      address: bytesOf(address),
      prefixBits: address.includes(':') ? 64 : 24,
      portType: 'udp' as const,
      portFirst,
      portLast: portFirst + (turn % 2),
    });
    const rules = new Map([
      ['', [rule('a', LAN.v4, 9), rule('b', LAN.v6, 9)]],
      ['owner', [rule('c', LAN.v4, 19), rule('d', LAN.v6, 19)]],
    ]);
    this.#put({ peers: new Map([[publicKey, config]]), rules });
  }

  #put(config: GatewayConfig): void {
    const change = this.#config.replace(config);
    this.pipeline.apply(change, this.#clock.now(), this.#clock.wall());
  }

  /** Takes packets as if the TUN had given them. */
  send(packets: readonly Uint8Array[], from: number, burst: number): void {
    const batch = this.engine.packets;
    for (let i = 0; i < burst; i++) place(batch, i, packets[(from + i) % packets.length]!);
    batch.count = burst;
    this.pipeline.outbound(this.#clock.now(), this.#clock.wall());
    // There is no TUN to read, but the code that would is compiled.
    this.#turns.move(this.engine.substitute === null ? EVENT_TUN : EVENT_SOCKETS);
  }

  /** Takes what has come; false where nothing came. It does not wait: loopback delivers at once. */
  receive(): boolean {
    // A worker asks how long it may wait; it is asked here too, so that the code is compiled.
    this.#turns.wait(Math.min(this.#turns.freeMs, 0));
    this.#turns.move(this.#turns.events | (this.egress === null ? 0 : EVENT_SOCKETS));
    return this.#turns.hasMoved;
  }

  close(): void {
    this.engine.close();
    this.egress?.close();
    this.#addon.closeFd(this.#socket);
  }
}

function place(batch: Batch, i: number, packet: Uint8Array): void {
  const offset = i * SLOT_BYTES + SLOT_HEADROOM_BYTES;
  const at = i * DESCRIPTOR_WORDS;
  // The virtio_net_hdr before it: nothing is joined, no checksum is missing.
  batch.bytes.fill(0, offset - 10, offset);
  batch.bytes.set(packet, offset);
  batch.descriptors[at + OFFSET] = offset;
  batch.descriptors[at + LENGTH] = packet.length;
  batch.descriptors[at + MARK] = MARK_DROP;
}

/**
 * The gateway of a warm-up, as long as this thread lives. V8 throws code away when the last object
 * of a shape that the code assumes is gone, and a gateway has no peer, session or flow at first;
 * and with it the TCP of its device, which has the same machine as the gateway's sockets.
 */
const kept = new Set<End | Caller>();

/** Packets of all kinds from one host to another, most of them allowed. */
function packetsBetween(from: typeof LAN, to: typeof LAN): Uint8Array[] {
  return Array.from({ length: FLOWS }, (_, i) => {
    const [source, destination] = i % 3 === 2 ? [from.v6, to.v6] : [from.v4, to.v4];
    const ports = { sourcePort: 4_000 + (i >> 3), destinationPort: 4_000 + (i >> 3) };
    const ends = { source, destination, ...ports };
    const flags = flagsOf(['S', 'A', 'PA', 'A', 'FA', 'R'][(i >> 1) % 6]!);
    switch (i % 8) {
      case 0:
      case 1:
        return udp({ ...ends, data: new Uint8Array(36 + i) });
      case 2:
        return tcp({ ...ends, flags, data: new Uint8Array(flags === 2 ? 0 : 200) });
      case 3:
        return tcp({ ...ends, flags: flagsOf('A'), sequence: i, data: new Uint8Array(1_200) });
      case 4:
        return (i >> 3) % 2 === 0
          ? echoRequest(source, destination, i)
          : echoReply(source, destination, i);
      case 5:
        return odd(i, ends);
      default:
        return udp({ ...ends, destinationPort: i % 16 === 6 ? 9 : 53, data: new Uint8Array(300) });
    }
  });
}

/** Packets that are rare, or refused. */
function odd(i: number, ends: Parameters<typeof udp>[0]): Uint8Array {
  const { source, destination } = ends;
  switch ((i >> 3) % 7) {
    case 0:
      return udp({ ...ends, source: source.includes(':') ? STRANGER.v6 : STRANGER.v4 });
    case 1:
      return udp({ ...ends, data: new Uint8Array(MTU) });
    case 2:
      return ip({ source, destination, protocol: 17, payload: new Uint8Array(3) });
    case 3:
      return udp({ ...ends, fragment: 0x2000, data: new Uint8Array(120) });
    case 4:
      return ip({ source, destination, protocol: 17, fragment: 16, payload: new Uint8Array(64) });
    case 5:
      return udp({ ...ends, source: source.includes(':') ? 'fe80::2' : '0.0.0.0' });
    default:
      return udp({ ...ends, destination: source.includes(':') ? 'fe80::1' : '169.254.169.254' });
  }
}

/** The addresses of a connection that the device opens. */
function endsOf(round: number): [from: Uint8Array, to: Uint8Array] {
  const version = round % 2 === 0 ? 'v4' : 'v6';
  return [bytesOf(DEVICE[version]), bytesOf(LAN[version])];
}

/** What a warm-up did. */
export interface WarmedUp {
  /** How many rounds it made. */
  readonly rounds: number;
  /** In how many of them packets came through both ways. */
  readonly answered: number;
  /** How many connections were answered to their ends, where packets leave by sockets. */
  readonly calls: number;
}

/** Runs until everything is compiled, or time is over. */
export function warmUp(options: WarmUpOptions): WarmedUp {
  const keys = [makePrivateKey(options.random), makePrivateKey(options.random)] as const;
  const [gatewayKey, deviceKey] = keys.map((key) =>
    Buffer.from(derivePublicKey(key)).toString('base64'),
  ) as [string, string];
  const tun = openSync('/dev/null', 'w');
  const gateway = new End(options, tun, keys[0], { v4: '10.254.0.1', v6: 'fd00:254::1' }, true);
  const lan = { v4: '198.18.0.250', v6: '2001:db8::250' };
  const device = new End(options, tun, keys[1], lan, false);
  const up = packetsBetween(DEVICE, LAN);
  const down = packetsBetween(LAN, DEVICE);
  try {
    const { clock, isAwaited } = options;
    const begunAt = clock.now();
    const limitMs = availableParallelism() > 1 ? PATIENT_LIMIT_MS : LIMIT_MS;
    let [rounds, answered] = [0, 0];
    for (let session = 0; session < SESSIONS; session++) {
      const tookMs = clock.now() - begunAt;
      if (tookMs >= limitMs || (tookMs >= LIMIT_MS && isAwaited())) break;
      gateway.configure(deviceKey, DEVICE, device.port, session);
      device.configure(gatewayKey, LAN, gateway.port, session);
      gateway.pipeline.samplePart();
      for (let round = 0; round < ROUNDS_PER_SESSION; round++, rounds++) {
        const burst = BURSTS[rounds % BURSTS.length]!;
        if (rounds % ROUNDS_PER_CALL === 0) device.caller?.call(...endsOf(rounds));
        device.send(up, rounds, burst);
        const hasPassed = gateway.receive();
        gateway.send(down, rounds, burst);
        if (device.receive() && hasPassed) answered += 1;
      }
    }
    kept.add(gateway);
    if (device.caller !== null) kept.add(device.caller);
    if (device.caller !== null) kept.add(device.caller);
    return { rounds, answered, calls: device.caller?.answered ?? 0 };
  } finally {
    gateway.close();
    device.close();
    closeSync(tun);
  }
}
