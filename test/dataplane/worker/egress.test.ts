// What the packet path would drop is not made: a limit, a session that is not there yet, a send
// buffer that is full. Else a TCP of our own would take it for loss. All in virtual time: hosts that
// send, a gateway with sockets, and a device with a TCP of its own.

import test, { type ExecutionContext } from 'ava';
import {
  MAX_STAGED_PER_PEER,
  REJECT_AFTER_TIME_MS,
  REKEY_ATTEMPT_TIME_MS,
} from '../../../dataplane/constants.ts';
import { SocketEgress } from '../../../dataplane/sockets/egress.ts';
import { Ends, setEnds } from '../../../dataplane/tcp/table.ts';
import {
  type Client,
  GATEWAY_ENDPOINT,
  gatewayPeer,
  INITIATION,
  type Node,
  peer,
  seededRandom,
  World,
} from '../../support/dataplane/simulation.ts';
import { address, udp } from '../../support/dataplane/packets.ts';
import { byteAt, cut, Idle, Station } from '../../support/tcp/ends.ts';
import { SendingHosts } from '../../support/tcp/sending-hosts.ts';

const DEVICE = 0;
const MIB = 1_048_576;
const MBIT = 1_000_000;
const NETWORK = { address: address('10.0.0.1'), network: address('10.0.0.0'), prefixBits: 24 };

/** The device's side: it compares every byte. */
class Reader extends Idle {
  readonly #of = new Map<number, number>();
  isRight = true;

  override received(connection: number, bytes: Buffer, offset: number, length: number): number {
    const had = this.#of.get(connection) ?? 0;
    for (let i = 0; i < length; i++) this.isRight &&= bytes[offset + i] === byteAt(had + i);
    this.#of.set(connection, had + length);
    return length;
  }

  get bytes(): number {
    return [...this.#of.values()].reduce((sum, bytes) => sum + bytes, 0);
  }
}

/** A gateway with sockets, hosts behind it, and a device. */
class Scene {
  readonly world = new World();
  readonly reader = new Reader();
  readonly station = new Station(this.reader, 3);
  readonly gateway: Node;
  readonly client: Client;
  hosts!: SendingHosts;
  egress!: SocketEgress;

  constructor(limitDown: number | null = null) {
    const { world } = this;
    this.gateway = world.addNode({
      endpoint: GATEWAY_ENDPOINT,
      ipv6: null,
      hasTun: false,
      workers: 1,
      openEgress: (batches, devices) => {
        this.egress = new SocketEgress({
          ...batches,
          cuts: false,
          capacity: 64,
          devices,
          ipv4: NETWORK,
          ipv6: null,
          random: seededRandom(5),
          poolBytes: 16 * MIB,
          connections: 4_096,
          openSockets: (arenas, eventsMax) => (this.hosts = new SendingHosts(arenas, eventsMax)),
        });
        return { substitute: this.egress, egress: this.egress };
      },
    });
    this.client = world.addClient({ endpoint: { address: '198.51.100.7', port: 40_000 } });
    this.gateway.apply([{ ...peer({ key: this.client.key, ipv4: '10.0.0.2' }), limitDown }]);
    this.client.addPeer(gatewayPeer(this.gateway));
  }

  /** Opens so many connections to hosts. */
  open(count: number): void {
    const ends = new Ends();
    this.station.machine.begin(this.world.now);
    for (let i = 0; i < count; i++) {
      setEnds(ends, address('10.0.0.2'), 30_000 + i, address('203.0.113.9'), 80);
      this.station.machine.open(DEVICE, ends);
    }
    this.run(1_000);
  }

  /** Lets time pass. */
  run(ms: number, until: () => boolean = () => false): void {
    const { machine } = this.station;
    for (let i = 0; i < ms && !until(); i++) {
      this.world.run(1);
      this.gateway.expire();
      machine.begin(this.world.now);
      for (const packet of this.client.delivered.splice(0)) this.station.receive(DEVICE, packet);
      machine.expire();
      for (let made = this.station.make(); made !== null; made = this.station.make())
        for (const one of cut(made)) this.client.send(one);
    }
  }

  /** Lets each host send so many bytes, and waits until the device has all. */
  send(each: number, connections: number, patienceMs: number): void {
    const wanted = this.reader.bytes + each * connections;
    this.hosts.sendMore(each);
    this.run(patienceMs, () => this.reader.bytes >= wanted);
  }

  /** What was lost on the way, as counted. */
  lost(t: ExecutionContext, bytes: number): void {
    t.true(this.reader.isRight);
    t.is(this.reader.bytes, bytes);
    t.is(this.egress.counts.retransmitted, 0, 'nothing was sent again');
    t.deepEqual(this.gateway.drops(), {});
  }
}

test('what a limit would drop is not made', (t) => {
  const scene = new Scene(2 * MBIT);
  scene.open(4);
  const began = scene.world.now;
  scene.send(250_000, 4, 60_000);
  scene.lost(t, 1_000_000);
  // Half a second of the limit may come at once.
  const seconds = (scene.world.now - began) / 1_000;
  t.true(seconds > 3.4 && seconds < 4.6, `${seconds} s for 8 Mbit`);
});

test('without a session one segment asks for it, and the others wait until it is there', (t) => {
  const scene = new Scene();
  const connections = 12;
  scene.open(connections);
  scene.world.run(REJECT_AFTER_TIME_MS + 10_000);
  const each = 40_000;
  t.true(connections * 10 > 2 * MAX_STAGED_PER_PEER, 'more segments at once than may wait');
  scene.send(each, connections, 20_000);
  scene.lost(t, connections * each);
});

test('where no session comes, the gateway asks again, and each connection goes on', (t) => {
  const scene = new Scene();
  const connections = 12;
  scene.open(connections);
  scene.world.run(REJECT_AFTER_TIME_MS + 10_000);
  scene.world.loses = () => true;
  const each = 4_000;
  // It asks for the session, and is given up with it: no connection has anything on its way.
  scene.gateway.send(udp({ source: '203.0.113.9', destination: '10.0.0.2' }));
  scene.hosts.sendMore(each);
  scene.world.run(REKEY_ATTEMPT_TIME_MS + 10_000);
  t.deepEqual(scene.gateway.drops(), { staged_expired: 1 });
  scene.world.loses = ({ from, bytes }) =>
    from.address !== GATEWAY_ENDPOINT.address && bytes[0] === INITIATION;
  scene.world.run(120_000);
  scene.run(20_000, () => scene.reader.bytes >= connections * each);
  t.true(scene.reader.isRight);
  t.is(scene.reader.bytes, connections * each, 'the device has initiated nothing itself');
});

test('where no session ever comes, each connection ends in ten minutes', (t) => {
  const scene = new Scene();
  scene.open(12);
  scene.world.run(REJECT_AFTER_TIME_MS + 10_000);
  scene.world.loses = () => true;
  scene.hosts.sendMore(4_000);
  scene.world.run(600_000);
  const { sockets, bufferedBytes } = scene.egress.counts;
  t.deepEqual({ sockets, bufferedBytes }, { sockets: 0, bufferedBytes: 0 });
});

test('a send buffer that is full is not filled further', (t) => {
  const scene = new Scene();
  scene.open(4);
  const size = 100_000;
  const perMs = 1_000;
  let [queued, at] = [0, scene.world.now];
  const drain = (): void => {
    queued = Math.max(0, queued - (scene.world.now - at) * perMs);
    at = scene.world.now;
  };
  scene.world.sendRoom = () => {
    drain();
    return Math.max(0, size - queued);
  };
  let most = 0;
  scene.world.loses = ({ from, bytes }) => {
    if (from.address !== GATEWAY_ENDPOINT.address) return false;
    drain();
    // As the kernel has it: a packet that finds any room has room.
    if (queued >= size) return true;
    queued += bytes.length;
    most = Math.max(most, queued);
    return false;
  };
  scene.send(500_000, 4, 60_000);
  scene.lost(t, 2_000_000);
  t.true(most > size / 2, 'it is used');
});
