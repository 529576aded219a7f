// The way out: sealing or staging, initiations and their pace, keepalives, and what an engine's
// report makes of it.

import test from 'ava';
import {
  MAX_STAGED_BYTES,
  MAX_STAGED_PER_PEER,
  REJECT_AFTER_TIME_MS,
  REKEY_AFTER_TIME_MS,
  REKEY_TIMEOUT_MS,
} from '../../../dataplane/constants.ts';
import {
  GENERATION,
  KEY,
  LENGTH,
  OFFSET,
  MARK,
  MARK_DROP,
  MARK_SEAL_EXHAUSTED,
  MARK_SEAL_INVALID,
  MARK_SEALED,
  MARK_SEALED_REKEY,
} from '../../../dataplane/contract.ts';
import { response } from '../../../dataplane/wire/messages.ts';
import { VIRTIO_HEADER_BYTES } from '../../../dataplane/wire/virtio.ts';
import { counting, udp, viewOf } from '../../support/dataplane/packets.ts';
import {
  type Client,
  DATA,
  INITIATION,
  peer,
  RESPONSE,
  twoTunnels,
  type World,
} from '../../support/dataplane/simulation.ts';
import '../../support/dataplane/seeded-test.ts';
import { lowOrderPoints } from '../../vectors/primitives.ts';

function numbered(i: number): Uint8Array {
  return udp({ source: '10.0.0.2', destination: '10.0.0.1', data: `number ${i}` });
}

const packet = numbered(0);
const answer = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: 'answer' });

/** Two tunnels with a session that both have used. */
function connected(): { world: World; responder: Client; initiator: Client } {
  const scene = twoTunnels();
  scene.initiator.send(packet);
  scene.world.run(100);
  scene.responder.send(answer);
  scene.world.run(100);
  return scene;
}

// ---- staging ---------------------------------------------------------------------------------

test('packets without a keypair wait, and are sent in order once there is one', (t) => {
  const { world, responder, initiator } = twoTunnels();
  const packets = Array.from({ length: 10 }, (_, i) => numbered(i));
  initiator.send(...packets);
  t.is(world.sent(DATA).length, 0);
  world.run(100);
  t.deepEqual(responder.delivered, packets);
  t.is(world.sent(INITIATION).length, 1);
});

test('the newest packets are kept, the oldest dropped and counted', (t) => {
  const { world, responder, initiator } = twoTunnels();
  const packets = Array.from({ length: MAX_STAGED_PER_PEER + 8 }, (_, i) => numbered(i));
  initiator.send(...packets);
  world.run(100);
  t.deepEqual(responder.delivered, packets.slice(8));
  t.deepEqual(initiator.drops(), { staged_overflow: 8 });
  t.is(initiator.tunnel.staging.bytes, 0);
});

test('a staged packet is a copy: the arena may be used again', (t) => {
  const { world, responder, initiator } = twoTunnels();
  initiator.send(packet);
  initiator.engine.packets.bytes.fill(0xff);
  world.run(100);
  t.deepEqual(responder.delivered, [packet]);
});

test('a staged packet keeps the virtio_net_hdr before it', (t) => {
  const { world, initiator } = twoTunnels();
  const { engine, sender, peer: to } = initiator;
  engine.acceptPacket(packet);
  const { bytes, descriptors } = engine.packets;
  const at = descriptors[OFFSET]! - VIRTIO_HEADER_BYTES;
  bytes.set(counting(VIRTIO_HEADER_BYTES, 1), at);
  sender.sendPacket(to, engine.packets, 0, VIRTIO_HEADER_BYTES, world.now);
  bytes.fill(0, at, at + 200);
  engine.packets.count = 0;
  t.is(to.staged[0]!.bytes.length, VIRTIO_HEADER_BYTES + packet.length);
  // The engine finds it again where a packet from the TUN would have it.
  let seen: Uint8Array | null = null;
  const seal = engine.seal.bind(engine);
  engine.seal = (batch) => {
    seen ??= batch.bytes.slice(
      batch.descriptors[OFFSET]! - VIRTIO_HEADER_BYTES,
      batch.descriptors[OFFSET]!,
    );
    seal(batch);
  };
  world.run(100);
  t.deepEqual(seen, counting(VIRTIO_HEADER_BYTES, 1));
});

test('a packet that was staged without a header gets an empty one', (t) => {
  const { world, initiator } = twoTunnels();
  const { engine, sender, peer: to } = initiator;
  engine.acceptPacket(packet);
  sender.sendPacket(to, engine.packets, 0, 0, world.now);
  engine.packets.count = 0;
  engine.packets.bytes.fill(0xff);
  let seen: Uint8Array | null = null;
  const seal = engine.seal.bind(engine);
  engine.seal = (batch) => {
    seen ??= batch.bytes.slice(
      batch.descriptors[OFFSET]! - VIRTIO_HEADER_BYTES,
      batch.descriptors[OFFSET]!,
    );
    seal(batch);
  };
  world.run(100);
  t.deepEqual(seen, new Uint8Array(VIRTIO_HEADER_BYTES));
});

test('the bytes staged for all peers are bounded, and the oldest packets go first', (t) => {
  const { world, initiator } = twoTunnels();
  const { tunnel, engine, sender } = initiator;
  const large = counting(60_000, 0x45);
  const peers = Array.from({ length: 8 }, (_, i) =>
    initiator.addPeer(
      peer({
        key: Buffer.from(counting(32, 9 * i + 1)).toString('base64'),
        endpoint: { address: '192.0.2.9', port: 9 },
      }),
    ),
  );
  for (const to of peers) {
    for (let n = 0; n < MAX_STAGED_PER_PEER; n++) {
      engine.acceptPacket(large);
      sender.sendPacket(to, engine.packets, 0, 0, world.now);
      engine.packets.count = 0;
      if (tunnel.staging.bytes > MAX_STAGED_BYTES) t.fail(`${tunnel.staging.bytes}`);
    }
  }
  const kept = Math.floor(MAX_STAGED_BYTES / 60_000);
  t.is(initiator.drops()['staged_overflow'], 8 * MAX_STAGED_PER_PEER - kept);
  t.deepEqual(
    peers.map(({ staged }) => staged.length),
    [0, 0, 0, kept - 4 * MAX_STAGED_PER_PEER, 32, 32, 32, 32],
  );
});

test('a packet for a peer without an endpoint is dropped, and no handshake begun', (t) => {
  const { world, responder } = twoTunnels();
  responder.send(answer);
  world.run(10_000);
  t.deepEqual(responder.drops(), { peer_no_endpoint: 1 });
  t.is(world.wire.length, 0);
  t.is(responder.tunnel.indices.size, 0);
});

test('packets for a keypair that has expired wait for the next one', (t) => {
  const { world, responder, initiator } = connected();
  world.run(REJECT_AFTER_TIME_MS);
  const delivered = responder.delivered.length;
  initiator.send(packet);
  t.is(initiator.peer.staged.length, 1);
  world.run(100);
  t.is(responder.delivered.length, delivered + 1);
  t.is(world.sent(INITIATION, initiator).length, 2);
});

// ---- initiations -----------------------------------------------------------------------------

// docs/bugs-of-others.md#bug-8: no storm of rekeys.
test('to one peer there is at most one initiation every 5 s', (t) => {
  const { world, initiator } = twoTunnels();
  world.loses = () => true;
  for (let i = 0; i < 60; i++) {
    initiator.send(packet);
    world.run(100);
  }
  t.is(world.sent(INITIATION).length, 2);
  const [first, second] = world.sent(INITIATION);
  t.true(second!.at - first!.at >= REKEY_TIMEOUT_MS);
});

test('each initiation has an index, an ephemeral and a timestamp of its own', (t) => {
  const { world, initiator } = twoTunnels();
  world.loses = () => true;
  initiator.send(packet);
  world.run(11_000);
  const messages = world.sent(INITIATION).map(({ bytes }) => bytes);
  t.is(messages.length, 3);
  for (const [from, to] of [
    [4, 8],
    [8, 40],
    [88, 116],
  ] as const) {
    const parts = messages.map((bytes) => Buffer.from(bytes.subarray(from, to)).toString('hex'));
    t.is(new Set(parts).size, 3);
  }
  t.is(initiator.tunnel.indices.size, 1);
});

test('a responder answers with its response and waits 5 s before it would initiate', (t) => {
  const { world, responder, initiator } = twoTunnels();
  world.loses = ({ bytes }) => bytes[0] === DATA;
  initiator.send(packet);
  world.run(50);
  responder.send(answer);
  world.run(1_000);
  t.is(world.sent(RESPONSE, responder).length, 1);
  t.is(world.sent(INITIATION, responder).length, 0);
});

for (const point of lowOrderPoints.slice(0, 3)) {
  test(`a peer whose key is the low-order point ${point} is never written to`, (t) => {
    const { world, initiator } = twoTunnels();
    const key = Buffer.from(point, 'hex').toString('base64');
    const bad = initiator.addPeer(peer({ key, endpoint: { address: '192.0.2.9', port: 9 } }));
    initiator.sender.initiate(bad, false, world.now);
    t.is(world.wire.length, 0);
    t.is(initiator.tunnel.indices.size, 0);
    t.is(bad.initiator, null);
  });
}

test('without an index no initiation is made, and the next packet has one made', (t) => {
  const { world, responder, initiator } = twoTunnels();
  const { indices } = initiator.tunnel;
  const index = indices.addHandshake(initiator.peer)!;
  while (indices.addHandshake(initiator.peer) !== null);
  initiator.send(numbered(1));
  t.deepEqual(initiator.drops(), { index_table_full: 1 });
  t.is(world.sent(INITIATION).length, 0);
  t.is(initiator.peer.initiator, null);
  indices.remove(index);
  initiator.send(numbered(2));
  world.run(100);
  t.deepEqual(initiator.drops(), { index_table_full: 1 });
  t.deepEqual(responder.delivered, [numbered(1), numbered(2)]);
});

// ---- renewing a keypair (6.2) ----------------------------------------------------------------

test('an initiator renews its keypair with the first data after 120 s', (t) => {
  const { world, initiator } = connected();
  const madeAt = initiator.peer.current!.createdAt;
  world.run(madeAt + REKEY_AFTER_TIME_MS - 1 - world.now);
  initiator.send(packet);
  t.is(world.sent(INITIATION).length, 1);
  world.run(1);
  initiator.send(packet);
  t.is(world.sent(INITIATION).length, 2);
});

test('a responder does not renew the keypair', (t) => {
  const { world, responder } = connected();
  world.loses = ({ bytes }) => bytes[0] === INITIATION;
  const madeAt = responder.peer.current!.createdAt;
  world.run(madeAt + REJECT_AFTER_TIME_MS - 1_000 - world.now);
  responder.send(answer);
  t.is(world.sent(INITIATION, responder).length, 0);
});

test('an initiator renews its keypair also with a keepalive after 120 s', (t) => {
  const { world, responder, initiator } = connected();
  // The responder sends data for two minutes; the initiator only acknowledges it.
  for (let i = 0; i < 140; i++) {
    responder.send(answer);
    world.run(1_000);
  }
  const renewals = world.sent(INITIATION, initiator).slice(1);
  t.is(renewals.length, 1);
  // A keepalive is a transport data message as any other; they go out every ten seconds.
  t.true(renewals[0]!.at < 1_000 + REKEY_AFTER_TIME_MS + 11_000);
});

test('an initiator that only receives renews its keypair before its last seconds', (t) => {
  const { world, responder, initiator } = connected();
  const madeAt = initiator.peer.current!.createdAt;
  world.run(madeAt + 164_900 - world.now);
  responder.send(answer);
  world.run(50);
  t.is(world.sent(INITIATION, initiator).length, 1);
  world.run(100);
  responder.send(answer);
  world.run(50);
  t.is(world.sent(INITIATION, initiator).length, 2);
});

test('the last-minute renewal is begun once for each keypair; repeating it is left to the timer', (t) => {
  const { world, responder, initiator } = connected();
  const madeAt = initiator.peer.current!.createdAt;
  world.run(madeAt + 166_000 - world.now);
  world.loses = ({ bytes }) => bytes[0] === INITIATION;
  for (let i = 0; i < 60; i++) {
    responder.send(answer);
    world.run(100);
  }
  t.is(world.sent(INITIATION, initiator).length, 3);
  // A renewal that was begun again would have begun the count of attempts again.
  t.is(initiator.peer.timers.handshakeAttempts, 1);
});

// ---- confirming a session (6.5) --------------------------------------------------------------

test('a session without data is confirmed by a keepalive', (t) => {
  const { world, responder, initiator } = twoTunnels();
  initiator.sender.initiate(initiator.peer, false, world.now);
  world.run(100);
  t.deepEqual(
    world.sent(DATA).map(({ bytes }) => bytes.length),
    [32],
  );
  t.not(responder.peer.current, null);
});

test('a session with data is confirmed by that data', (t) => {
  const { world, initiator } = twoTunnels();
  initiator.send(packet);
  world.run(100);
  t.is(world.sent(DATA, initiator).length, 1);
  t.true(world.sent(DATA, initiator)[0]!.bytes.length > 32);
});

test('a response leads nowhere until it is confirmed', (t) => {
  const { world, responder, initiator } = twoTunnels();
  world.loses = ({ bytes }) => bytes[0] === DATA;
  initiator.send(packet);
  world.run(100);
  responder.send(answer);
  world.run(100);
  t.is(responder.peer.current, null);
  t.is(world.sent(DATA, responder).length, 0);
});

test('a keepalive needs a keypair', (t) => {
  const { world, initiator } = twoTunnels();
  initiator.sender.keepalive(initiator.peer, world.now);
  t.is(world.wire.length, 0);
});

test('a keepalive is not sent under a keypair that has expired', (t) => {
  const { world, initiator } = connected();
  world.loses = () => true;
  world.run(REJECT_AFTER_TIME_MS);
  const sent = world.sent(DATA).length;
  initiator.sender.keepalive(initiator.peer, world.now);
  t.is(world.sent(DATA).length, sent);
});

// ---- what an engine reports ------------------------------------------------------------------

const reports: readonly [title: string, mark: number, initiations: number, drops: object][] = [
  ['sealed', MARK_SEALED, 0, {}],
  ['sealed, and the key has sent enough', MARK_SEALED_REKEY, 1, {}],
  ['exhausted', MARK_SEAL_EXHAUSTED, 1, { keypair_exhausted: 1 }],
  ['invalid', MARK_SEAL_INVALID, 0, { segment_invalid: 1 }],
  ['staged', MARK_DROP, 0, {}],
];

for (const [title, mark, initiations, drops] of reports) {
  // docs/bugs-of-others.md#bug-1: limit of messages.
  test(`a report of "${title}" is counted, and renews the keypair if it must`, (t) => {
    const { world, initiator } = connected();
    world.run(6_000);
    const before = { sent: world.sent(INITIATION).length, txBytes: initiator.peer.txBytes };
    const { packets } = initiator.engine;
    packets.descriptors[MARK] = mark;
    packets.descriptors[LENGTH] = 1_000;
    initiator.sender.countSealed(initiator.peer, packets, 0, world.now);
    t.is(world.sent(INITIATION).length - before.sent, initiations);
    t.deepEqual(initiator.drops(), drops);
    const isSent = mark === MARK_SEALED || mark === MARK_SEALED_REKEY;
    t.is(initiator.peer.txBytes - before.txBytes - 148 * initiations, isSent ? 1_000 : 0);
    t.is(packets.descriptors[MARK], MARK_DROP);
  });
}

test('a key that is reported exhausted sends nothing more; an old one does not hurt the new', (t) => {
  const { world, initiator } = connected();
  const { packets } = initiator.engine;
  const { current } = initiator.peer;
  const report = (key: number): boolean => {
    packets.descriptors[MARK] = MARK_SEAL_EXHAUSTED;
    packets.descriptors[KEY] = key;
    packets.descriptors[GENERATION] = current!.keyGeneration;
    initiator.sender.countSealed(initiator.peer, packets, 0, world.now);
    return current!.canSend(world.now);
  };
  t.true(report(current!.keySlot + 1));
  t.false(report(current!.keySlot));
  t.false(current!.isExpired(world.now));
});

test('a response carries its macs', (t) => {
  const { world, initiator } = twoTunnels();
  initiator.send(packet);
  world.run(100);
  const message = world.sent(RESPONSE)[0]!.bytes;
  t.is(message.length, response.bytes);
  t.is(viewOf(message).getUint32(0, true), 2);
  t.true(initiator.tunnel.cookieChecker.hasValidMac1(message, response.mac1));
});
