// Asking for a verdict changes nothing. All packets of a table are asked about in each state of a
// gateway, and everything that the gateway holds is compared byte by byte, before and after: flows,
// fragments, counters, peers, timers, keys, batches. Whatever explains a verdict relies on it.

import test from 'ava';
import type { PeerConfig, RuleConfig } from '../../../dataplane/contract.ts';
import type { Random } from '../../../dataplane/noise/handshake.ts';
import type { InwardJudge } from '../../../dataplane/path/inward.ts';
import type { OutwardJudge } from '../../../dataplane/path/outward.ts';
import { Verdict } from '../../../dataplane/path/verdict.ts';
import { type ReasonName, reasonNames } from '../../../dataplane/reasons.ts';
import { parseAddress } from '../../../dataplane/wire/address.ts';
import type { Peer } from '../../../dataplane/wireguard/peer.ts';
import type { Tunnel } from '../../../dataplane/wireguard/tunnel.ts';
import {
  counting,
  echoRequest,
  extension,
  fragmentHeader,
  ip,
  tcp,
  udp,
  viewOf,
} from '../../support/dataplane/packets.ts';
import { MINUTE, SECOND } from '../../support/dataplane/pipeline-scenes.ts';
import {
  type Client,
  GATEWAY_ENDPOINT,
  gatewayPeer,
  type Node,
  type NodeOptions,
  peer,
  rule,
  World,
} from '../../support/dataplane/simulation.ts';
import { errorAbout } from '../../support/filter/tracking.ts';
import { copyOf, differences, SCRATCH, StateReader } from '../../support/dataplane/whole-state.ts';

/** Flows for which there is room: few, and more than one turn looks at to see whether they ended. */
const FLOWS = 256;
const SYN = 0x02;
const ACK = 0x10;
const RST = 0x04;

const device = '10.0.0.2';
const other = '10.0.0.3';
const host = '192.0.2.9';
const host6 = '2001:db8::9';
/** An address of the gateway's host, outside of the gateway's network namespace. */
const outside = '192.0.2.66';
const mine = { source: device, destination: host };
const mine6 = { source: 'fd00::2', destination: host6 };
const theirs = { source: host, destination: device };

function fragment(offset: number, more: boolean, identification: number): Uint8Array {
  const flags = (more ? 0x2000 : 0) | offset;
  return ip({ ...mine, protocol: 17, payload: counting(64), fragment: flags, identification });
}

function largeFragment(identification: number): Uint8Array {
  return ip({ ...mine, protocol: 17, payload: counting(1_304), fragment: 0x2000, identification });
}

/** Packets that the first device sends. */
const inwardPackets: readonly Uint8Array[] = [
  udp(mine),
  udp({ ...mine, destinationPort: 7_000 }),
  udp({ ...mine, destination: '192.0.2.77' }),
  udp({ ...mine, destination: '10.0.0.1' }),
  udp({ ...mine, destination: other }),
  udp({ ...mine, destination: other, data: counting(1_300) }),
  udp({ ...mine, destination: other, hopLimit: 1 }),
  udp({ ...mine, destination: '10.0.0.99' }),
  udp({ ...mine, destination: '127.0.0.1' }),
  udp({ ...mine, destination: '168.63.129.16' }),
  udp({ ...mine, destination: outside }),
  udp({ ...mine, destination: '10.0.0.1', destinationPort: 51_820 }),
  udp({ ...mine, source: other }),
  udp({ ...mine, source: '127.0.0.1' }),
  udp(mine6),
  udp({ ...mine6, extensions: [fragmentHeader(0, true)] }),
  udp({ ...mine6, extensions: Array.from({ length: 9 }, () => extension(60)) }),
  tcp({ ...mine, flags: SYN }),
  tcp({ ...mine, flags: SYN, sourcePort: 4_001 }),
  tcp({ ...mine, flags: ACK }),
  tcp({ ...mine, flags: RST }),
  tcp({ ...mine, flags: 0 }),
  tcp({ ...mine, flags: SYN, sourcePort: 5_000, destinationPort: 4_002 }),
  echoRequest(device, host),
  echoRequest(device, '10.0.0.1'),
  errorAbout(udp(theirs), device, host),
  errorAbout(udp({ ...theirs, sourcePort: 9 }), device, host),
  fragment(0, true, 1),
  fragment(0, true, 2),
  fragment(8, true, 1),
  fragment(8, true, 3),
  fragment(1, true, 1),
  largeFragment(4),
  ip({ ...mine, protocol: 17, payload: counting(7), fragment: 0x2008, identification: 1 }),
  ip({ ...mine, protocol: 17, payload: counting(4), fragment: 0x2000 }),
  ip({ ...mine, protocol: 17, payload: counting(8) }),
  ip({ ...mine, protocol: 1, payload: counting(8, 3) }),
  ip({ ...mine, protocol: 47, payload: counting(8) }),
  counting(30, 0x45),
];

/** Packets from the TUN. */
const outwardPackets: readonly Uint8Array[] = [
  udp(theirs),
  udp({ ...theirs, sourcePort: 7_000, destinationPort: 4_000 }),
  udp({ ...theirs, sourcePort: 8_000 }),
  udp({ ...theirs, source: other }),
  udp({ ...theirs, destination: '10.0.0.99' }),
  udp({ ...theirs, destination: other, data: counting(1_300) }),
  udp({ source: host6, destination: 'fd00::2' }),
  tcp({ ...theirs, flags: SYN }),
  tcp({ ...theirs, flags: SYN, sourcePort: 5_000, destinationPort: 4_001 }),
  tcp({ ...theirs, flags: ACK }),
  echoRequest(host, device),
  errorAbout(udp(mine), host, device),
  ip({ ...theirs, protocol: 17, payload: counting(64), fragment: 8 }),
  counting(40, 0x45),
  counting(19, 0x45),
];

// ---- states of a gateway ---------------------------------------------------------------------

/** A gateway with two devices that have sessions. The first one sends and receives. */
class Scene {
  readonly gateway: Node;
  readonly #world = new World();
  readonly #sender: Client;
  #peers: readonly PeerConfig[];
  #draws = 0;

  constructor(options: Partial<NodeOptions> = {}) {
    const world = this.#world;
    const { random } = world;
    const counted: Random = (bytes) => {
      this.#draws += 1;
      random(bytes);
    };
    Object.assign(world, { random: counted });
    this.gateway = world.addNode({ endpoint: GATEWAY_ENDPOINT, flows: FLOWS, ...options });
    this.gateway.pipeline.setHostAddresses({ here: [], outside: [parseAddress(outside)!] });
    const clients = [7, 8].map((last) =>
      world.addClient({ endpoint: { address: `198.51.100.${last}`, port: 40_000 } }),
    );
    this.#sender = clients[0]!;
    this.#peers = clients.map(({ key }, i) => ({
      ...peer({ key, ipv4: `10.0.0.${2 + i}`, ipv6: `fd00::${2 + i}`, scope: `${i}` }),
      mtu: i === 1 ? 1_280 : null,
    }));
    this.rules();
    for (const client of clients) {
      client.addPeer(gatewayPeer(this.gateway));
      client.connect();
    }
    world.run(SECOND);
  }

  /** All that the gateway holds, and how often random bytes were drawn. */
  get root(): object {
    return { pipeline: this.gateway.pipeline, draws: this.#draws };
  }

  /** The first device, as judges know it. */
  device(reader: StateReader): Peer {
    const tunnel = reader.privateField(this.gateway.pipeline, '#tunnel') as Tunnel;
    return tunnel.peers.get(this.#peers[0]!.publicKey)!;
  }

  send(inward: readonly Uint8Array[], outward: readonly Uint8Array[] = []): this {
    for (const packet of inward) this.#sender.send(packet);
    this.#world.run(SECOND);
    for (const packet of outward) this.gateway.send(packet);
    this.#world.run(SECOND);
    return this;
  }

  /** Puts rules of the first device in force. Flows are judged anew when they are met. */
  rules(...rules: readonly RuleConfig[]): this {
    this.gateway.apply(this.#peers, { 0: rules });
    return this;
  }

  /** Limits the devices, both ways, to so many bits per second. */
  limits(limit: number): this {
    this.#peers = this.#peers.map((of) => ({ ...of, limitDown: limit, limitUp: limit }));
    return this.rules();
  }

  /** Lets time pass, and one turn begin. */
  skip(ms: number): this {
    this.#world.now += ms;
    this.gateway.pipeline.release(new Map(), this.#world.now, this.#world.wallMs);
    return this;
  }

  /** Refuses all packets, as while the database is away. */
  close(): this {
    this.gateway.change({ removed: [], updated: [], added: [], scopes: [], isClosed: true });
    return this;
  }
}

const dropsAddress = rule('1', 'drop', '192.0.2.77');
const dropsPorts = rule('2', 'drop', host, { type: 'udp', first: 5_000, last: 9_000 });
const manyFlows = Array.from({ length: FLOWS + 8 }, (_, i) =>
  udp({ ...mine, sourcePort: 100 + i }),
);
const manyFragments = Array.from({ length: 200 }, (_, i) => largeFragment(50 + i));

const states: readonly [title: string, make: () => Scene][] = [
  ['no packet has come', () => new Scene()],
  ['flows are known', () => new Scene().rules(dropsAddress).send(inwardPackets, outwardPackets)],
  [
    'the rules have changed since flows were judged',
    () => new Scene().rules(dropsAddress).send(inwardPackets, outwardPackets).rules(dropsPorts),
  ],
  ['the table of flows is full', () => new Scene().send(manyFlows, outwardPackets)],
  [
    'the table is full, flows were forgotten, and a rule has come',
    () => new Scene().send(manyFlows).rules(dropsPorts),
  ],
  ['flows have ended', () => new Scene().send(manyFlows).skip(4 * MINUTE)],
  ['a device has used its share for fragments', () => new Scene().send(manyFragments)],
  ['without a TUN', () => new Scene({ hasTun: false, defaultAction: 'drop' })],
  ['without a TUN, and all may pass', () => new Scene({ hasTun: false }).send(inwardPackets)],
  [
    'a device has reached its limits',
    () => new Scene().limits(1_000).send(inwardPackets, outwardPackets),
  ],
  ['closed', () => new Scene().send(inwardPackets).close()],
];

// ---- questions -------------------------------------------------------------------------------

/** Asks for one verdict; returns all that it says. */
type Question = () => Verdict;

function questionsTo(scene: Scene, reader: StateReader): Question[] {
  const { pipeline } = scene.gateway;
  const path = reader.privateField(pipeline, '#path') as object;
  const inward = reader.privateField(path, '#inward') as InwardJudge;
  const outward = reader.privateField(path, '#outward') as OutwardJudge;
  const from = scene.device(reader);
  return [
    ...inwardPackets.flatMap((bytes) => [
      question(bytes, (view, at, verdict) => inward.judge(view, at, bytes.length, from, verdict)),
      question(bytes, (view, at, verdict) =>
        inward.judgeHanded(view, at, bytes.length, from, verdict),
      ),
    ]),
    ...outwardPackets.flatMap((bytes) =>
      [false, true].map((wasTruncated) =>
        question(bytes, (view, at, verdict) =>
          outward.judge(view, at, bytes.length, wasTruncated, verdict),
        ),
      ),
    ),
  ];
}

/** Before a packet there is room for a header, as in an arena. */
function question(
  bytes: Uint8Array,
  judge: (view: DataView, offset: number, verdict: Verdict) => void,
): Question {
  const offset = 64;
  const arena = new Uint8Array(offset + bytes.length);
  return () => {
    arena.set(bytes, offset);
    const verdict = new Verdict();
    judge(viewOf(arena), offset, verdict);
    if (Buffer.compare(arena.subarray(offset), bytes) !== 0) throw new Error('it wrote a packet');
    return verdict;
  };
}

/** What verdicts must be met, so that each way through the judges was taken. */
const reasonsToMeet: readonly ReasonName[] = [
  'none',
  'database_away',
  'default_drop',
  'hop_limit_exceeded',
  'inner_destination_host',
  'inner_destination_metadata',
  'inner_destination_reserved',
  'inner_fragment_malformed',
  'inner_fragment_unsafe',
  'inner_headers_unparsable',
  'inner_icmp_malformed',
  'inner_malformed',
  'inner_own_endpoint',
  'inner_source_not_allowed',
  'inner_source_reserved',
  'inner_tcp_malformed',
  'inner_udp_malformed',
  'no_peer',
  'no_tun',
  'oversized',
  'packet_malformed',
  'packet_source_forged',
  'packet_too_big',
  'rule_drop',
];

function kindsOf({ reason, wasFiltered, flow }: Verdict): string[] {
  const kinds: string[] = [reasonNames[reason]!];
  if (!wasFiltered) return kinds;
  kinds.push(`step ${flow.step}`);
  if (flow.stale !== 0) kinds.push('stale');
  if (flow.isRenewed) kinds.push('renewed');
  if (flow.isDoubtful) kinds.push('doubtful');
  return kinds;
}

test('asking for a verdict changes nothing, whatever the packet and the state', (t) => {
  const reader = new StateReader();
  t.teardown(() => reader.close());
  const met = new Set<string>();
  for (const [title, make] of states) {
    const scene = make();
    const questions = questionsTo(scene, reader);
    const before = copyOf(reader.read(scene.root, SCRATCH));
    const changed = (): string[] => differences(before, reader.read(scene.root, SCRATCH));
    const verdicts = questions.map((ask) => ask());
    t.deepEqual(changed(), [], title);
    const again = questions.toReversed().map((ask) => ask());
    t.deepEqual(changed(), [], `${title}: in another order`);
    t.deepEqual(again.toReversed(), verdicts, `${title}: in another order`);
    for (const kind of verdicts.flatMap(kindsOf)) met.add(kind);
  }
  for (const kind of [...reasonsToMeet, 'step 0', 'step 1', 'step 2']) t.true(met.has(kind), kind);
  for (const kind of ['stale', 'renewed', 'doubtful']) t.true(met.has(kind), kind);
});

test('what a packet changes when it is sent is seen', (t) => {
  const reader = new StateReader();
  t.teardown(() => reader.close());
  const scene = new Scene();
  const before = copyOf(reader.read(scene.root, SCRATCH));
  scene.send([udp(mine)]);
  const changed = differences(before, reader.read(scene.root, SCRATCH)).join('\n');
  for (const path of [/#flows|flows\./, /rxBytes/, /#greatest/, /#words/, /#live/])
    t.regex(changed, path);
});
