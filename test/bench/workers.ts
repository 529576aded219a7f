// What several workers carry where nothing else costs anything:
//   node test/bench/workers.ts [--rounds N] [--record]
//
// Each worker is a thread with the native engine and the packet path. Its packets come from memory:
// datagrams of a device that were sealed before (opened, judged, joined, written to /dev/null), and
// packets of the host (judged, sealed, and refused by a socket that does not exist). One worker alone
// is compared with two of one gateway, and with two gateways of one worker, which shows what the
// machine gives to two threads. Then handing over alone, beside a copy of the packet. The bar is 1.8 times one worker, and 0.5 µs for each packet that is handed over.

import { execFileSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { cpus, release } from 'node:os';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { SLOT_BYTES, SLOT_HEADROOM_BYTES } from '../../dataplane/constants.ts';
import {
  ADDRESS,
  ALONE,
  DESCRIPTOR_WORDS,
  KIND_FROM_PEER,
  LENGTH,
  MARK,
  MARK_DROP,
  MARK_HAND_OVER,
  OFFSET,
  type Team,
} from '../../dataplane/contract.ts';
import { ConfigInForce } from '../../dataplane/diff.ts';
import { TypeScriptEngine } from '../../dataplane/io/engine.ts';
import { TunnelClient } from '../../dataplane/memory/client.ts';
import { teamsOf } from '../../dataplane/memory/node.ts';
import { NativeEngine } from '../../dataplane/native/index.ts';
import { derivePublicKey } from '../../dataplane/noise/keys.ts';
import { Pipeline } from '../../dataplane/worker/pipeline.ts';
import { createEndpointTable, writeEndpoint } from '../../dataplane/wire/address.ts';
import { endpointLayout } from '../../dataplane/wireguard/tunnel.ts';
import { addon, implementations, MTU } from '../support/dataplane/native.ts';
import { address, counting, udp } from '../support/dataplane/packets.ts';
import { gatewayPeer, peer, randomBytes, seededRandom } from '../support/dataplane/simulation.ts';
import { mark, openTeam } from '../support/dataplane/team.ts';
import { median } from './median.ts';
import { keepResult } from './results.ts';

/** Sealed datagrams for one measurement. */
const SEALED = 131_072;
/** Datagrams of one batch, one for each slot. */
const BATCH = 64;
/** Batches of one measurement of packets of the host. */
const BATCHES = 6_000;
const GATEWAY = { address: '192.0.2.1', port: 51_820 };
const now = 1_000;
const wallMs = 1_700_000_000_000;
const [, primitives] = implementations.at(-1)!;

type Direction = 'in' | 'out';

/** What a thread is given. */
interface Task {
  readonly team: Team;
  readonly bytes: number;
  readonly direction: Direction;
  /** One word: how many threads are ready. */
  readonly ready: SharedArrayBuffer;
  readonly threads: number;
}

// ---- a worker ------------------------------------------------------------------------------

const clientKey = (i: number): Uint8Array => randomBytes(seededRandom(100 + i), 32);
const clientAddress = (i: number): string => `10.0.0.${2 + i}`;
const clientEndpoint = (i: number) => ({ address: '198.51.100.7', port: 40_000 + i });

/** A worker with a session with its own device. */
class Bench {
  readonly engine: NativeEngine;
  readonly pipeline: Pipeline;
  readonly client: TunnelClient;
  readonly #sealed: Uint8Array[] = [];
  readonly #self: number;

  constructor(team: Team) {
    this.#self = team.self;
    const options = { udp4: -1, udp6: -1, wake: -1, tunTakesUdp: true, mtu: MTU };
    const tun = openSync('/dev/null', 'w');
    const endpoints = createEndpointTable(endpointLayout.total);
    const parts = [addon!, primitives, endpoints, endpointLayout.total] as const;
    this.engine = new NativeEngine(...parts, { ...options, tun }, team, endpointLayout.handed);
    const privateKey = randomBytes(seededRandom(99), 32);
    const identity = { privateKey, publicKey: derivePublicKey(privateKey) };
    this.pipeline = new Pipeline({
      engine: this.engine,
      team,
      identity,
      random: seededRandom(1),
      timestampFloorMs: 0,
      ipv4: { network: address('10.0.0.1'), prefixBits: 24, address: address('10.0.0.1') },
      ipv6: null,
      defaultAction: 'accept',
      allowsMetadata: false,
      listenPort: GATEWAY.port,
      mtu: MTU,
      hasTun: true,
    });
    const around = {
      now,
      wallMs,
      random: seededRandom(2),
      transmit: (bytes: Uint8Array) => void this.#sealed.push(bytes),
    };
    this.client = new TunnelClient(around, {
      endpoint: clientEndpoint(team.self),
      primitives,
      privateKey: clientKey(team.self),
      makeEngine: (...made) => new TypeScriptEngine(...made),
      deliver: () => undefined,
    });
    const key = Buffer.from(identity.publicKey).toString('base64');
    this.client.addPeer(
      gatewayPeer({ key, endpoint: GATEWAY } as Parameters<typeof gatewayPeer>[0]),
    );
    this.#connect(team.size);
  }

  /** The gateway initiates, so that it does not matter which worker takes initiations. */
  #connect(size: number): void {
    const peers = Array.from({ length: size }, (_, i) => {
      const key = Buffer.from(derivePublicKey(clientKey(i))).toString('base64');
      const endpoint = clientEndpoint(i);
      return peer({ key, ipv4: clientAddress(i), endpoint, heardAtMs: 0 });
    });
    const change = new ConfigInForce().replace({
      peers: new Map(peers.map((config) => [config.publicKey, config])),
      rules: new Map(),
    });
    const send = this.engine.send.bind(this.engine);
    const messages: Uint8Array[] = [];
    this.engine.send = (message) => void messages.push(message.slice());
    this.pipeline.apply(change, now, wallMs);
    this.#load(this.#packet(100), 1);
    this.pipeline.outbound(now, wallMs);
    for (const message of messages) this.client.receive(message, GATEWAY);
    this.engine.send = send;
    for (const message of this.#sealed.splice(0)) this.#receive([message]);
    // The first packet of the gateway would confirm it, but no socket brings it.
    this.client.tunnel.confirmNextKeypair(this.client.peer);
    if ((this.pipeline.sample().peers[0]?.latestHandshakeMs ?? 0) === 0)
      throw new Error('no session');
  }

  #receive(messages: readonly Uint8Array[]): void {
    const { datagrams } = this.engine;
    for (const [i, message] of messages.entries()) this.#place(i, message);
    datagrams.count = messages.length;
    this.pipeline.inbound(now, wallMs);
    this.pipeline.expire(now, wallMs);
    datagrams.count = 0;
  }

  #place(i: number, message: Uint8Array): void {
    const { bytes, descriptors } = this.engine.datagrams;
    const offset = i * SLOT_BYTES + SLOT_HEADROOM_BYTES;
    bytes.set(message, offset);
    descriptors[i * DESCRIPTOR_WORDS + OFFSET] = offset;
    descriptors[i * DESCRIPTOR_WORDS + LENGTH] = message.length;
    descriptors[i * DESCRIPTOR_WORDS + MARK] = MARK_DROP;
    descriptors[i * DESCRIPTOR_WORDS + ADDRESS] = i;
  }

  /** Seals packets of the device; returns datagrams. */
  seal(bytes: number, to: string, count: number): readonly Uint8Array[] {
    for (let slot = 0; slot < BATCH; slot++) {
      const { address: from, port } = clientEndpoint(this.#self);
      writeEndpoint(this.engine.endpoints, slot, address(from), port);
    }
    const data = counting(bytes - 28);
    const packet = udp({ source: clientAddress(this.#self), destination: to, data });
    while (this.#sealed.length < count) this.client.send(packet);
    return this.#sealed.splice(0);
  }

  /** Opens and judges datagrams; returns seconds. */
  in(datagrams: readonly Uint8Array[]): number {
    const began = performance.now();
    for (let at = 0; at < datagrams.length; at += BATCH)
      this.#receive(datagrams.slice(at, at + BATCH));
    return (performance.now() - began) / 1_000;
  }

  /** A packet of the host for the device. */
  #packet(bytes: number): Uint8Array {
    const data = counting(bytes - 28);
    return udp({ source: '192.0.2.9', destination: clientAddress(this.#self), data });
  }

  /** Puts a packet so many times where the TUN would have put it. */
  #load(packet: Uint8Array, count: number): void {
    const { packets } = this.engine;
    for (let i = 0; i < count; i++) {
      const offset = i * SLOT_BYTES + SLOT_HEADROOM_BYTES;
      packets.bytes.fill(0, offset - 10, offset);
      packets.bytes.set(packet, offset);
      const at = i * DESCRIPTOR_WORDS;
      packets.descriptors[at + OFFSET] = offset;
      packets.descriptors[at + LENGTH] = packet.length;
      packets.descriptors[at + MARK] = MARK_DROP;
    }
    packets.count = count;
  }

  /** Judges and seals packets of the host; returns seconds. */
  out(bytes: number): number {
    const packet = this.#packet(bytes);
    const began = performance.now();
    for (let batch = 0; batch < BATCHES; batch++) {
      this.#load(packet, BATCH);
      this.pipeline.outbound(now, wallMs);
      this.engine.flush();
    }
    return (performance.now() - began) / 1_000;
  }
}

/** Waits until all threads are ready, so that they are measured at the same time. */
function meet({ ready, threads }: Task): void {
  const word = new Int32Array(ready);
  const all = Atomics.add(word, 0, 1) + 1;
  if (all === threads) Atomics.notify(word, 0);
  for (let seen = all; seen < threads; seen = Atomics.load(word, 0))
    Atomics.wait(word, 0, seen, 1_000);
}

/** Packets a second. */
function runTask(task: Task): number {
  const bench = new Bench(task.team);
  const isIn = task.direction === 'in';
  const warmUp = isIn ? bench.seal(task.bytes, '8.8.8.8', SEALED / 4) : [];
  const datagrams = isIn ? bench.seal(task.bytes, '8.8.8.8', SEALED) : [];
  if (isIn) bench.in(warmUp);
  else bench.out(task.bytes);
  meet(task);
  const seconds = isIn ? bench.in(datagrams) : bench.out(task.bytes);
  return (isIn ? datagrams.length : BATCHES * BATCH) / seconds;
}

// ---- handing over --------------------------------------------------------------------------

/** Microseconds of handing one packet over and taking it, and of a copy of its bytes. */
function handingOver(bytes: number): { handed: number; copied: number } {
  const [from, to] = openTeam(['native', 'native']);
  const content = counting(bytes);
  const rounds = 20_000;
  const measure = (act: () => void): number => {
    for (let i = 0; i < 2_000; i++) act();
    const began = performance.now();
    for (let i = 0; i < rounds; i++) act();
    return ((performance.now() - began) * 1_000) / (rounds * BATCH);
  };
  for (let i = 0; i < BATCH; i++)
    mark(from!.packets, i, 1, { kind: KIND_FROM_PEER, bytes: content });
  const { descriptors } = from!.packets;
  const handed = measure(() => {
    for (let i = 0; i < BATCH; i++) descriptors[i * DESCRIPTOR_WORDS + MARK] = MARK_HAND_OVER;
    if (from!.handOver(from!.packets) > 0) throw new Error('no room');
    to!.takeHanded(0);
    if (to!.handed[0]!.count !== BATCH) throw new Error('not all was handed over');
    to!.freeHanded(0);
  });
  const target = new Uint8Array(SLOT_BYTES * BATCH);
  const copied = measure(() => {
    for (let i = 0; i < BATCH; i++) {
      const at = i * SLOT_BYTES;
      target.set(from!.packets.bytes.subarray(at, at + bytes), at);
    }
  });
  return { handed, copied };
}

// ---- the run -------------------------------------------------------------------------------

/** Packets a second of all threads. */
async function runThreads(teams: readonly Team[], bytes: number, direction: Direction) {
  const ready = new SharedArrayBuffer(4);
  const rates = await Promise.all(
    teams.map(
      (team) =>
        new Promise<number>((resolve, reject) => {
          const task = { team, bytes, direction, ready, threads: teams.length } satisfies Task;
          const worker = new Worker(new URL(import.meta.url), { workerData: task });
          worker.once('message', resolve);
          worker.once('error', reject);
        }),
    ),
  );
  return rates.reduce((sum, rate) => sum + rate, 0);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      record: { type: 'boolean', default: false },
    },
  });
  const rounds = Number(values.rounds);
  const rows: string[] = [];
  for (const direction of ['in', 'out'] as const)
    for (const bytes of [128, 1_400]) {
      const rates: [number, number, number][] = [];
      for (let round = 0; round < rounds; round++) {
        process.stderr.write(`${direction}, ${bytes} bytes, round ${round + 1} of ${rounds}\n`);
        rates.push([
          await runThreads([ALONE], bytes, direction),
          await runThreads(teamsOf(2), bytes, direction),
          await runThreads([ALONE, ALONE], bytes, direction),
        ]);
      }
      const [one, two, apart] = [0, 1, 2].map((i) => median(rates.map((rate) => rate[i]!)));
      const shown = [one!, two!, apart!].map((rate) => `${(rate / 1e3).toFixed(0)}`);
      rows.push(
        `| ${direction === 'in' ? 'from a device' : 'to a device'}, ${bytes} bytes | ${shown.join(' | ')} | ${(two! / one!).toFixed(2)} | ${(two! / apart!).toFixed(2)} |`,
      );
    }
  const handed = [128, 1_400].map((bytes) => {
    const cost = handingOver(bytes);
    return `${bytes} bytes: ${cost.handed.toFixed(2)} µs, a copy ${cost.copied.toFixed(2)} µs`;
  });
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' });
  const report = `
### ${new Date().toISOString().slice(0, 10)}, ${commit.trim()}: one worker, two of one gateway, two gateways

\`node test/bench/workers.ts --rounds ${rounds}\`; ${cpus().length} × ${cpus()[0]?.model.trim()}, Linux ${release()}, Node ${process.versions.node}; medians, thousand packets a second.

| | one worker | two workers | two gateways | two workers to one | to two gateways |
|---|---:|---:|---:|---:|---:|
${rows.join('\n')}

Handing over and taking, for each packet: ${handed.join('; ')}.
`;
  process.stdout.write(report);
  if (values.record) keepResult('node test/bench/workers.ts', report);
}

if (isMainThread) await main();
else parentPort!.postMessage(runTask(workerData as Task));
