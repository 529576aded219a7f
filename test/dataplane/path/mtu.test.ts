// Sizes: TCP handshakes are clamped and packets that are too big are answered, in the whole packet
// path and with each engine; partial checksums as the TUN hands them out.

import test, { type ExecutionContext } from 'ava';
import { type GatewayConfig, type PeerConfig, MARK_DROP } from '../../../dataplane/contract.ts';
import { diff, EMPTY_CONFIG } from '../../support/dataplane/whole-configs.ts';
import { Pipeline } from '../../../dataplane/worker/pipeline.ts';
import { copyEndpoint, formatAddress } from '../../../dataplane/wire/address.ts';
import { endpointLayout } from '../../../dataplane/wireguard/tunnel.ts';
import {
  benches,
  type BenchOptions,
  type EngineBench,
  setMarks,
  MTU,
  NativeBench,
  place,
  TARGET,
} from '../../support/dataplane/native.ts';
import { fragmentsOf } from '../../support/dataplane/fragments.ts';
import {
  address,
  checksum,
  concat,
  counting,
  destinationOf,
  GSO_TCPV4,
  ip,
  join,
  NEEDS_CSUM,
  sourceOf,
  tcp,
  type TcpFields,
  type TunMessage,
  udp,
  viewOf,
  virtioHeader,
} from '../../support/dataplane/packets.ts';
import {
  type Client,
  gatewayPeer,
  peer,
  randomBytes,
  World,
} from '../../support/dataplane/simulation.ts';
import '../../support/dataplane/seeded-test.ts';
import nacl from 'tweetnacl';

/** A gateway on an engine, and devices with a session each: 10.0.0.2, fd00::2 and so on. */
class Scene {
  readonly world = new World();
  readonly bench: EngineBench;
  readonly pipeline: Pipeline;
  readonly clients: Client[] = [];
  readonly #peers: PeerConfig[];

  constructor(open: (options: BenchOptions) => EngineBench, mtus: readonly (number | null)[]) {
    const { world } = this;
    this.bench = open({ endpoints: endpointLayout.total });
    const privateKey = randomBytes(world.random, 32);
    const publicKey = nacl.scalarMult.base(privateKey);
    const own = (text: string, prefixBits: number) => ({
      network: address(text),
      prefixBits,
      address: address(text),
    });
    this.pipeline = new Pipeline({
      timestampFloorMs: 0,
      engine: this.bench.engine,
      identity: { privateKey, publicKey },
      random: world.random,
      ipv4: own('10.0.0.1', 24),
      ipv6: own('fd00::1', 64),
      defaultAction: 'accept',
      allowsMetadata: false,
      listenPort: 51_820,
      mtu: MTU,
      hasTun: true,
    });
    const key = Buffer.from(publicKey).toString('base64');
    const endpoint = { address: '192.0.2.1', port: 51_820 };
    this.#peers = mtus.map((mtu, i) => {
      const client = world.addClient({ endpoint: { address: '198.51.100.1', port: 4_000 + i } });
      client.addPeer(gatewayPeer({ key, endpoint } as Client));
      this.clients.push(client);
      return { ...peer({ key: client.key, ipv4: `10.0.0.${2 + i}`, ipv6: `fd00::${2 + i}` }), mtu };
    });
    const rules = new Map();
    const peers = new Map(this.#peers.map((config) => [config.publicKey, config]));
    this.pipeline.apply(diff(EMPTY_CONFIG, { peers, rules }), world.now, world.wallMs);
    for (const [i, client] of this.clients.entries()) {
      client.sender.initiate(client.peer, false, world.now);
      // Initiation, response, and the packet that confirms the session.
      for (let step = 0; step < 3; step++) this.carry(i);
    }
  }

  /** Gives the first device another MTU. */
  changeMtu(mtu: number | null): void {
    const configOf = (peers: readonly PeerConfig[]): GatewayConfig => ({
      peers: new Map(peers.map((config) => [config.publicKey, config])),
      rules: new Map(),
    });
    const before = configOf(this.#peers);
    this.#peers[0] = { ...this.#peers[0]!, mtu };
    this.pipeline.apply(diff(before, configOf(this.#peers)), this.world.now, this.world.wallMs);
  }

  /** Carries what client `i` has sent to the gateway, and what leaves the gateway to the client. */
  carry(i: number): void {
    const { engine } = this.bench;
    for (const [n, { bytes }] of this.world.wire.splice(0).entries()) {
      place(engine.datagrams, n, bytes, { mark: MARK_DROP, address: n });
      copyEndpoint(engine.endpoints, TARGET, n);
    }
    this.#inbound(i);
  }

  /** Carries datagrams that lie right behind each other, as those that arrive joined do. */
  carryTrain(i: number): void {
    const { engine } = this.bench;
    let offset = 0;
    for (const [n, { bytes }] of this.world.wire.splice(0).entries()) {
      engine.datagrams.bytes.set(bytes, offset);
      setMarks(engine.datagrams, n, {
        mark: MARK_DROP,
        address: 0,
        offset,
        length: bytes.length,
      });
      offset += bytes.length;
    }
    copyEndpoint(engine.endpoints, TARGET, 0);
    this.#inbound(i);
  }

  #inbound(i: number): void {
    const { bench, pipeline, world } = this;
    pipeline.inbound(world.now, world.wallMs);
    pipeline.expire(world.now, world.wallMs);
    bench.engine.datagrams.count = 0;
    this.deliver(i);
  }

  deliver(i: number): void {
    const from = { address: '192.0.2.1', port: 51_820 };
    for (const bytes of this.bench.datagrams()) this.clients[i]!.receive(bytes, from);
  }

  /** A device sends; returns what came out at the TUN. */
  up(packet: Uint8Array, from = 0, to = 0): Uint8Array[] {
    this.clients[from]!.send(packet);
    this.carry(to);
    return this.bench.packets();
  }

  /** A packet comes from the TUN; returns what reached the device. */
  down({ packet, header }: TunMessage, to = 0): Uint8Array[] {
    const { engine } = this.bench;
    if (this.bench instanceof NativeBench) {
      this.bench.feed(packet, header);
      this.bench.engine.readTun();
    } else {
      place(engine.packets, 0, packet, { mark: MARK_DROP });
    }
    this.pipeline.outbound(this.world.now, this.world.wallMs);
    this.deliver(to);
    return this.clients[to]!.delivered.splice(0);
  }

  drops(): Readonly<Record<string, number>> {
    return this.pipeline.sample().drops;
  }
}

const SYN = 0x02;
const SYN_ACK = 0x12;

/** A handshake that announces a segment size behind an empty option, at an odd place. */
function handshake(fields: TcpFields, size: number): Uint8Array {
  const options = Uint8Array.from([1, 2, 4, size >> 8, size & 0xff, 3, 3, 7]);
  return tcp({ flags: SYN, ...fields, options });
}

const families = [
  ['IPv4', { source: '10.0.0.2', destination: '192.0.2.9' }, 40],
  ['IPv6', { source: 'fd00::2', destination: '2001:db8::9' }, 60],
] as const;

/** Both ends, the other way. */
function back({ source, destination }: { source: string; destination: string }): TcpFields {
  return { source: destination, destination: source };
}

const plain = virtioHeader({});

/** Everything that an ICMP error says: who says what to whom, of which packet, and its checksums. */
function errorOf(bytes: Uint8Array | undefined): Record<string, unknown> {
  if (bytes === undefined) return {};
  const view = viewOf(bytes);
  const isIpv4 = view.getUint8(0) >> 4 === 4;
  const upper = isIpv4 ? 20 : 40;
  const length = bytes.length - upper;
  const pseudo = concat(bytes.subarray(8, 40), Uint8Array.from([0, 58, length >> 8, length]));
  return {
    from: formatAddress(sourceOf(bytes)),
    to: formatAddress(destinationOf(bytes)),
    protocol: view.getUint8(isIpv4 ? 9 : 6),
    type: view.getUint8(upper),
    code: view.getUint8(upper + 1),
    mtu: isIpv4 ? view.getUint16(upper + 6) : view.getUint32(upper + 4),
    quote: bytes.slice(upper + 8),
    sums: isIpv4
      ? [checksum(bytes.subarray(0, upper)), checksum(bytes.subarray(upper))]
      : [checksum(pseudo, bytes.subarray(upper))],
  };
}

/** What the error that a packet is too big must say; the packet is as the gateway quotes it. */
function tooBig(from: string, mtu: number, packet: Uint8Array): Record<string, unknown> {
  const isIpv4 = packet[0]! >> 4 === 4;
  return {
    from,
    to: formatAddress(sourceOf(packet)),
    ...(isIpv4 ? { protocol: 1, type: 3, code: 4 } : { protocol: 58, type: 2, code: 0 }),
    mtu,
    quote: packet.slice(0, isIpv4 ? 576 - 28 : Math.min(packet.length, 1_280) - 48),
    sums: isIpv4 ? [0, 0] : [0],
  };
}

for (const [name, open] of benches) {
  const inScene = (
    title: string,
    mtus: readonly (number | null)[],
    body: (t: ExecutionContext, scene: Scene) => void,
  ): void => {
    test(`${name}: ${title}`, (t) => {
      const scene = new Scene(open, mtus);
      try {
        body(t, scene);
      } finally {
        scene.bench.close();
      }
    });
  };

  // ---- segment sizes ---------------------------------------------------------------------------

  for (const [family, fields, headers] of families) {
    inScene(`${family}: a handshake is clamped to the tunnel, both ways`, [null], (t, scene) => {
      const fits = MTU - headers;
      for (const flags of [SYN, SYN_ACK]) {
        const up = { ...fields, flags };
        t.deepEqual(scene.up(handshake(up, 1_460)), [handshake(up, fits)]);
        const down = { ...back(fields), flags };
        const packet = handshake(down, 8_960);
        t.deepEqual(scene.down({ packet, header: plain }), [handshake(down, fits)]);
      }
      t.deepEqual(scene.drops(), {});
    });

    inScene(`${family}: a handshake is clamped to a smaller device`, [1_280], (t, scene) => {
      const fits = 1_280 - headers;
      t.deepEqual(scene.up(handshake(fields, 1_380)), [handshake(fields, fits)]);
      const packet = handshake(back(fields), 1_380);
      t.deepEqual(scene.down({ packet, header: plain }), [handshake(back(fields), fits)]);
    });

    inScene(`${family}: what fits, and what is no handshake, stays`, [null], (t, scene) => {
      const data = handshake({ ...fields, flags: 0x10 }, 1_460);
      const small = handshake({ ...fields, sourcePort: 7 }, 536);
      const without = tcp({ ...fields, flags: SYN, sourcePort: 8 });
      for (const packet of [data, small, without]) t.deepEqual(scene.up(packet), [packet]);
    });
  }

  inScene('a changed MTU holds from the next handshake on', [1_280], (t, scene) => {
    const fields = families[0][1];
    for (const mtu of [1_300, null, 9_000]) {
      scene.changeMtu(mtu);
      const fits = Math.min(mtu ?? MTU, MTU) - 40;
      t.deepEqual(scene.up(handshake(fields, 1_460)), [handshake(fields, fits)]);
    }
  });

  inScene('between devices the smallest of all counts', [1_400, 1_300, null], (t, scene) => {
    const between = (from: number, to: number): TcpFields => ({
      source: `10.0.0.${2 + from}`,
      destination: `10.0.0.${2 + to}`,
    });
    for (const [from, to, mtu] of [
      [0, 1, 1_300],
      [1, 0, 1_300],
      [0, 2, 1_400],
      [2, 0, 1_400],
    ] as const) {
      scene.up(handshake({ ...between(from, to), sourcePort: 9 }, 1_460), from, to);
      t.deepEqual(scene.clients[to]!.delivered.splice(0), [
        handshake({ ...between(from, to), sourcePort: 9, hopLimit: 63 }, mtu - 40),
      ]);
    }
  });

  if (name === 'native') {
    for (const [family, fields, headers] of families) {
      inScene(`${family}: under a partial checksum`, [null], (t, scene) => {
        const whole = { ...back(fields), sourcePort: 80 };
        const { packet, header } = join([handshake({ ...whole, data: 'x' }, 1_460)]);
        // One packet, not to be cut: only its checksum is left to the device.
        header[1] = 0;
        t.is(header[0], NEEDS_CSUM);
        const wanted = handshake({ ...whole, data: 'x' }, MTU - headers);
        t.deepEqual(scene.down({ packet, header }), [wanted]);
      });
    }

    inScene('a super-packet whose segments do not fit is answered', [1_280], (t, scene) => {
      const segments = [0, 1, 2].map((i) =>
        tcp({ ...back(families[0][1]), sequence: 1 + 1_300 * i, data: counting(1_300) }),
      );
      const message = join(segments);
      t.is(message.header[1], GSO_TCPV4);
      t.deepEqual(scene.down(message), []);
      const answers = (scene.bench as NativeBench).drain();
      const wanted = tooBig('10.0.0.2', 1_280, message.packet);
      // Nothing of the super-packet is left in what is before the answer.
      t.deepEqual(
        answers.map(({ header, packet }) => ({ header, ...errorOf(packet) })),
        [{ header: plain, ...wanted }],
      );
      t.deepEqual(scene.drops(), { packet_too_big: 1 });
      const fits = segments.map((_, i) =>
        tcp({ ...back(families[0][1]), sequence: 1 + 1_000 * i, data: counting(1_000) }),
      );
      t.is(scene.down(join(fits)).length, 3);
    });
  }

  // ---- packets that are too big ----------------------------------------------------------------

  inScene('between devices: too big, says the gateway to the sender', [null, null], (t, scene) => {
    const fits = udp({ source: '10.0.0.2', destination: '10.0.0.3', data: counting(MTU - 28) });
    scene.up(fits, 0, 1);
    t.is(scene.clients[1]!.delivered.length, 1);
    const fields = { source: '10.0.0.2', destination: '10.0.0.3', data: counting(MTU - 27) };
    scene.up(udp(fields), 0, 0);
    const [answer] = scene.clients[0]!.delivered.splice(0);
    t.deepEqual(errorOf(answer), tooBig('10.0.0.1', MTU, udp({ ...fields, hopLimit: 63 })));
    t.deepEqual(scene.drops(), { packet_too_big: 1 });
  });

  inScene('the same over IPv6', [null, 1_280], (t, scene) => {
    const fields = { source: 'fd00::2', destination: 'fd00::3', data: counting(1_280 - 47) };
    scene.up(udp(fields), 0, 0);
    const [answer] = scene.clients[0]!.delivered.splice(0);
    t.deepEqual(errorOf(answer), tooBig('fd00::1', 1_280, udp({ ...fields, hopLimit: 63 })));
    t.deepEqual(scene.drops(), { packet_too_big: 1 });
  });

  inScene('what is behind a packet that is too big is unharmed', [null, 1_000], (t, scene) => {
    const fields = { source: 'fd00::2', destination: 'fd00::3', data: counting(1_000 - 47) };
    const next = { source: 'fd00::2', destination: '2001:db8::9', data: counting(1_000 - 47, 5) };
    const behind = [7, 8].map((sourcePort) => udp({ ...next, sourcePort }));
    for (const packet of [udp(fields), ...behind]) scene.clients[0]!.send(packet);
    scene.carryTrain(0);
    t.deepEqual(scene.bench.packets(), behind);
    const big = udp({ ...fields, hopLimit: 63 });
    const delivered = scene.clients[0]!.delivered.splice(0);
    t.deepEqual(delivered.map(errorOf), [tooBig('fd00::1', 1_000, big)]);
    t.deepEqual(scene.drops(), { packet_too_big: 1 });
  });

  inScene('what may be cut on its way is not refused', [null, null], (t, scene) => {
    const fields = { source: '10.0.0.2', destination: '10.0.0.3', data: counting(1_450) };
    scene.up(udp({ ...fields, fragment: 0 }), 0, 1);
    t.is(scene.clients[1]!.delivered.length, 1);
    t.deepEqual(scene.drops(), {});
  });

  inScene('an error that is too big is dropped in silence', [null, null], (t, scene) => {
    const fields = { source: '10.0.0.2', destination: '10.0.0.3' };
    const quoted = udp({ ...back(fields), data: counting(1_422) });
    const error = concat(Uint8Array.from([3, 1, 0, 0, 0, 0, 0, 0]), quoted);
    scene.up(ip({ ...fields, protocol: 1, payload: error }), 0, 0);
    t.deepEqual(scene.clients[0]!.delivered, []);
    t.deepEqual(scene.drops(), { packet_too_big: 1 });
  });

  inScene('fragments from the TUN that are too big are answered once', [1_280], (t, scene) => {
    const fields = { source: '2001:db8::1', destination: 'fd00::2', data: counting(3_000) };
    const fragments = fragmentsOf(udp(fields), MTU);
    for (const packet of fragments.toReversed())
      t.deepEqual(scene.down({ packet, header: plain }), []);
    t.deepEqual(scene.bench.packets().map(errorOf), [tooBig('fd00::2', 1_280, fragments[0]!)]);
    t.deepEqual(scene.drops(), { packet_too_big: 1 });
  });

  inScene('fragments leave by this engine, both ways', [null, null], (t, scene) => {
    for (const [, fields] of families) {
      const { source, destination } = fields;
      const up = fragmentsOf(
        udp({ source, destination, data: counting(3_000), fragment: 0 }),
        1_000,
      );
      t.deepEqual(
        up.flatMap((packet) => scene.up(packet, 0, 0)),
        up,
      );
      const data = counting(3_000);
      const down = fragmentsOf(udp({ ...back(fields), data, fragment: 0 }), 1_000, 9);
      const arrived = down.flatMap((packet) => scene.down({ packet, header: plain }));
      t.deepEqual(arrived, down);
    }
    t.deepEqual(scene.drops(), {});
  });

  inScene('from the TUN: the host hears it in the name of the device', [1_280], (t, scene) => {
    for (const [family, fields] of families) {
      const { source, destination } = back(fields);
      const packet = udp({ source, destination, data: counting(1_300) });
      t.deepEqual(scene.down({ packet, header: plain }), [], family);
      const [answer, ...others] = scene.bench.packets();
      t.deepEqual(errorOf(answer), tooBig(destination, 1_280, packet), family);
      t.deepEqual(others, [], family);
    }
    t.deepEqual(scene.drops(), { packet_too_big: 2 });
  });

  inScene(
    'no more than ten a second are answered, each device for itself',
    [1_280, 1_280],
    (t, scene) => {
      const { source } = back(families[0][1]);
      let answers = 0;
      for (let i = 0; i < 100; i++) {
        const packet = udp({ source, destination: '10.0.0.2', data: counting(1_300) });
        scene.down({ packet, header: plain });
        answers += scene.bench.packets().length;
      }
      t.is(answers, 10);
      const other = udp({ source, destination: '10.0.0.3', data: counting(1_300) });
      scene.down({ packet: other, header: plain }, 1);
      t.is(scene.bench.packets().length, 1);
      t.deepEqual(scene.drops(), { packet_too_big: 101 });
    },
  );
}
