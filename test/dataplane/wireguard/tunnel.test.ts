// The state of WireGuard: peers are added, change and are removed without a trace; and the three
// places of the keypairs of a peer.

import test from 'ava';
import {
  HANDED_PER_TURN,
  MAX_PEERS,
  MAX_QUEUED_INITIATIONS,
  MAX_WORKERS,
} from '../../../dataplane/constants.ts';
import { NO_SLOT } from '../../../dataplane/places.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import {
  hasEndpoint,
  readEndpoint,
  readLocal,
  restoreEndpoint,
} from '../../../dataplane/wire/address.ts';
import type { Keypair } from '../../../dataplane/wireguard/keypair.ts';
import type { KnownPeer } from '../../../dataplane/wireguard/known-peer.ts';
import type { Peer } from '../../../dataplane/wireguard/peer.ts';
import { endpointLayout } from '../../../dataplane/wireguard/tunnel.ts';
import { address, counting, udp, viewOf } from '../../support/dataplane/packets.ts';
import {
  type Client,
  DATA,
  gatewayPeer,
  peer,
  randomBytes,
  seededRandom,
  twoTunnels,
  World,
} from '../../support/dataplane/simulation.ts';
import { withoutNulls } from '../../support/filter/without-nulls.ts';
import '../../support/dataplane/seeded-test.ts';

const packet = udp({ source: '10.0.0.2', destination: '10.0.0.1', data: 'hello' });
const answer = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: 'answer' });

function alone(): Client {
  return new World().addClient({ endpoint: { address: '192.0.2.1', port: 51_820 } });
}

function keyOf(seed: number): string {
  return Buffer.from(randomBytes(seededRandom(seed), 32)).toString('base64');
}

function ownerOf(client: Client, text: string): KnownPeer | null {
  const view = viewOf(address(text));
  const { allowedIps } = client.tunnel;
  return view.byteLength === 4
    ? allowedIps.lookUp4(view.getInt32(0))
    : allowedIps.lookUp6(view.getInt32(0), view.getInt32(4), view.getInt32(8), view.getInt32(12));
}

// ---- peers that come -------------------------------------------------------------------------

test('a peer is found by its key, in either form, and by its addresses alone', (t) => {
  const box = alone();
  const key = keyOf(1);
  const added = box.addPeer(peer({ key, ipv4: '10.0.0.2', ipv6: 'fd00::2' }));
  t.is(box.tunnel.peers.get(key), added);
  t.is(box.tunnel.knownByPublicKey(new Uint8Array(Buffer.from(key, 'base64'))), added);
  t.is(ownerOf(box, '10.0.0.2'), added);
  t.is(ownerOf(box, 'fd00::2'), added);
  for (const other of ['10.0.0.1', '10.0.0.3', '0.0.0.0', 'fd00::3', '::'])
    t.is(ownerOf(box, other), null);
});

test('an unknown key finds nobody', (t) => {
  t.is(alone().tunnel.knownByPublicKey(new Uint8Array(32)), null);
});

test('a peer without an address of a family owns none of it', (t) => {
  const box = alone();
  const added = box.addPeer(peer({ key: keyOf(1), ipv6: 'fd00::2' }));
  t.is(ownerOf(box, 'fd00::2'), added);
  t.is(ownerOf(box, '0.0.0.0'), null);
});

test('a peer that was heard before a restart has its endpoint again', (t) => {
  const box = alone();
  for (const [i, endpoint] of [
    { address: '198.51.100.9', port: 7 },
    { address: '2001:db8::9', port: 65_535 },
  ].entries()) {
    const added = box.addPeer(peer({ key: keyOf(i), endpoint }));
    t.deepEqual(readEndpoint(box.engine.endpoints, added.endpointSlot), endpoint);
  }
});

test('an endpoint that cannot be read counts as none', (t) => {
  const box = alone();
  const added = box.addPeer(
    peer({ key: keyOf(1), endpoint: { address: 'gateway.example', port: 7 } }),
  );
  t.false(hasEndpoint(box.engine.endpoints, added.endpointSlot));
});

test('every peer has slots of its own, behind those of batches and waiting initiations', (t) => {
  const box = alone();
  const slots = Array.from({ length: 50 }, (_, i) => box.addPeer(peer({ key: keyOf(i) })));
  t.is(new Set(slots.map(({ slot }) => slot)).size, 50);
  t.is(new Set(slots.map(({ endpointSlot }) => endpointSlot)).size, 50);
  t.true(slots.every(({ endpointSlot }) => endpointSlot >= endpointLayout.peers));
  t.is(endpointLayout.peers, endpointLayout.waiting + MAX_QUEUED_INITIATIONS);
  t.is(endpointLayout.handed, endpointLayout.peers + MAX_PEERS);
  t.is(endpointLayout.total, endpointLayout.handed + MAX_WORKERS * HANDED_PER_TURN);
});

test('a peer that got no slot is refused and counted', (t) => {
  const box = alone();
  const config = { ...peer({ key: keyOf(1), ipv4: '10.0.0.2' }), slot: NO_SLOT, generation: 0 };
  t.is(box.tunnel.addPeer(config), null);
  t.deepEqual(box.drops(), { peer_table_full: 1 });
  t.is(ownerOf(box, '10.0.0.2'), null);
});

// ---- peers that go ---------------------------------------------------------------------------

/** A responder whose peer has a session, a handshake under way and staged packets. */
function busy(): { world: World; responder: Client; initiator: Client } {
  const scene = twoTunnels();
  const { world, responder, initiator } = scene;
  initiator.send(packet);
  world.run(100);
  responder.send(answer);
  // The session grows too old to be used; a packet is staged and a handshake begun.
  world.loses = () => true;
  world.run(180_000);
  responder.send(answer);
  return scene;
}

test('the scene of the removals has every kind of state', (t) => {
  const { responder } = busy();
  t.true(responder.engine.liveKeys > 0);
  t.true(responder.tunnel.indices.size > 1);
  t.true(responder.tunnel.staging.bytes > 0);
  t.not(responder.peer.initiator, null);
});

test('a removed peer leaves nothing behind', (t) => {
  const { responder } = busy();
  const { tunnel, engine } = responder;
  const gone = responder.peer;
  const { staticShared, initiator, presharedKey } = gone;
  presharedKey.fill(7);
  tunnel.removePeer(gone);
  t.is(engine.liveKeys, 0);
  t.is(tunnel.indices.size, 0);
  t.is(tunnel.staging.bytes, 0);
  t.is(tunnel.timers.nextDeadline, Number.POSITIVE_INFINITY);
  t.is(tunnel.peers.size, 0);
  t.is(tunnel.knownByPublicKey(gone.publicKey), null);
  t.is(ownerOf(responder, '10.0.0.2'), null);
  t.is(ownerOf(responder, 'fd00::2'), null);
  t.false(hasEndpoint(engine.endpoints, gone.endpointSlot));
  t.true(staticShared!.every((byte) => byte === 0));
  t.true(presharedKey.every((byte) => byte === 0));
  t.true(initiator!.ephemeralPrivate.every((byte) => byte === 0));
});

test('a removed peer drops its packets without a reason', (t) => {
  const { responder } = busy();
  const before = responder.drops();
  responder.tunnel.removePeer(responder.peer);
  t.deepEqual(responder.drops(), before);
});

test('a peer that was released keeps only its place', (t) => {
  const { world, responder } = busy();
  const { tunnel, engine, peer: gone } = responder;
  const staged = gone.staged.length;
  tunnel.release(gone.id, world.wallMs, world.now);
  t.is(engine.liveKeys, 0);
  t.is(tunnel.indices.size, 0);
  t.is(tunnel.staging.bytes, 0);
  t.is(tunnel.timers.nextDeadline, Number.POSITIVE_INFINITY);
  t.false(hasEndpoint(engine.endpoints, gone.endpointSlot));
  t.deepEqual(responder.drops(), { peer_elsewhere: staged });
  t.is(tunnel.peers.get(gone.id), gone);
  t.is(ownerOf(responder, '10.0.0.2'), gone);
});

test('removing a peer does not change another one', (t) => {
  const { world, responder, initiator } = busy();
  world.loses = () => false;
  const second = world.addClient({ endpoint: { address: '198.51.100.8', port: 1 } });
  responder.addPeer(peer({ key: second.key, ipv4: '10.0.0.3' }));
  second.addPeer(gatewayPeer(responder));
  second.send(packet);
  world.run(100);
  const delivered = responder.delivered.length;
  const stays = responder.tunnel.peers.get(second.key)!;
  const { current } = stays;
  responder.tunnel.removePeer(responder.tunnel.peers.get(initiator.key)!);
  second.send(packet);
  world.run(100);
  t.is(responder.delivered.length, delivered + 1);
  t.is(stays.current, current);
  t.is(responder.engine.liveKeys, 1);
});

test('a slot that is used again does not inherit the endpoint', (t) => {
  const { responder } = busy();
  const gone = responder.peer;
  responder.tunnel.removePeer(gone);
  const { slot } = gone;
  const fresh = responder.tunnel.addPeer({ ...peer({ key: keyOf(9) }), slot, generation: 2 })!;
  t.is(fresh.slot, slot);
  t.false(hasEndpoint(responder.engine.endpoints, fresh.endpointSlot));
});

// ---- peers that change -----------------------------------------------------------------------

test('a changed peer keeps keypairs, endpoint, staged packets and counters', (t) => {
  const { responder } = busy();
  const changed = responder.peer;
  const { current, previous, next, staged, rxBytes, txBytes, initiator } = changed;
  const waiting = [...staged];
  t.true(waiting.length > 0);
  const endpoint = readEndpoint(responder.engine.endpoints, changed.endpointSlot);
  const config = peer({
    key: changed.id,
    ipv4: '10.0.0.9',
    presharedKey: counting(32),
    scope: 'x',
  });
  responder.tunnel.updatePeer(changed, config);
  t.like(changed, { current, previous, next, rxBytes, txBytes, initiator });
  t.deepEqual(changed.staged, waiting);
  t.deepEqual(readEndpoint(responder.engine.endpoints, changed.endpointSlot), endpoint);
  t.deepEqual(changed.presharedKey, counting(32));
});

test('a changed peer is found by its new addresses and not by the old ones', (t) => {
  const box = alone();
  const changed = box.addPeer(peer({ key: keyOf(1), ipv4: '10.0.0.2', ipv6: 'fd00::2' }));
  box.tunnel.updatePeer(changed, peer({ key: keyOf(1), ipv4: '10.0.0.3', ipv6: null }));
  t.is(ownerOf(box, '10.0.0.3'), changed);
  t.is(ownerOf(box, '10.0.0.2'), null);
  t.is(ownerOf(box, 'fd00::2'), null);
});

test('two peers may swap their addresses, in either order', (t) => {
  for (const turned of [false, true]) {
    const box = alone();
    const configs = ['10.0.0.2', '10.0.0.3'].map((ipv4, i) => peer({ key: keyOf(i), ipv4 }));
    const peers = configs.map((config) => box.addPeer(config));
    const changes = [0, 1].map(
      (i) => (): void =>
        box.tunnel.updatePeer(peers[i]!, { ...configs[i]!, ipv4: configs[1 - i]!.ipv4 }),
    );
    for (const change of turned ? changes.reverse() : changes) change();
    t.is(ownerOf(box, '10.0.0.2'), peers[1]!);
    t.is(ownerOf(box, '10.0.0.3'), peers[0]!);
  }
});

test('three peers may exchange their addresses in a circle', (t) => {
  const box = alone();
  const texts = ['10.0.0.2', '10.0.0.3', '10.0.0.4'];
  const peers = texts.map((ipv4, i) => box.addPeer(peer({ key: keyOf(i), ipv4 })));
  for (const [i, one] of peers.entries())
    box.tunnel.updatePeer(one, peer({ key: keyOf(i), ipv4: texts[(i + 1) % 3]! }));
  for (const [i, one] of peers.entries()) t.is(ownerOf(box, texts[(i + 1) % 3]!), one);
});

// ---- keypairs (5.4.5, and the kernel's order) ------------------------------------------------

/** A peer with keypairs in some of its places, all with keys and indices. */
function keypairsOf(places: readonly ('previous' | 'current' | 'next')[]): {
  box: Client;
  one: Peer;
  make: () => Keypair<Peer>;
} {
  const box = alone();
  const one = box.addPeer(peer({ key: keyOf(1) }));
  const make = (): Keypair<Peer> => {
    const keys = { send: counting(32), receive: counting(32) };
    const keypair = box.tunnel.makeKeypair(one, keys, 5, true, 0)!;
    keypair.localIndex = box.tunnel.indices.addKeypair(keypair)!;
    return keypair;
  };
  for (const place of places) one[place] = make();
  return { box, one, make };
}

test('an initiator uses its keypair at once; the one before may still receive', (t) => {
  const { box, one, make } = keypairsOf(['previous', 'current']);
  const { previous, current } = one;
  const fresh = make();
  box.tunnel.useInitiatorKeypair(one, fresh);
  t.like(one, { previous: current, current: fresh, next: null });
  t.is(box.tunnel.indices.keypair(previous!.localIndex), undefined);
  t.is(box.engine.liveKeys, 2);
});

test('an initiator that also responded keeps the unconfirmed keypair to receive', (t) => {
  const { box, one, make } = keypairsOf(['previous', 'current', 'next']);
  const { next } = one;
  const fresh = make();
  box.tunnel.useInitiatorKeypair(one, fresh);
  t.like(one, { previous: next, current: fresh, next: null });
  t.is(box.engine.liveKeys, 2);
  t.is(box.tunnel.indices.size, 2);
});

test('a responder sends with its old keypair until the new one is confirmed', (t) => {
  const { box, one, make } = keypairsOf(['previous', 'current', 'next']);
  const { current } = one;
  const fresh = make();
  box.tunnel.useResponderKeypair(one, fresh);
  t.like(one, { previous: null, current, next: fresh });
  t.is(box.engine.liveKeys, 2);
  t.is(box.tunnel.indices.size, 2);
});

test('a confirmed keypair is used; the one before may still receive', (t) => {
  const { box, one } = keypairsOf(['previous', 'current', 'next']);
  const { current, next } = one;
  box.tunnel.confirmNextKeypair(one);
  t.like(one, { previous: current, current: next, next: null });
  t.is(box.engine.liveKeys, 2);
  t.is(box.tunnel.indices.size, 2);
});

test('forgetting keys removes all three keypairs and the handshake in progress', (t) => {
  const { box, one } = keypairsOf(['previous', 'current', 'next']);
  one.initiatorIndex = box.tunnel.indices.addHandshake(one);
  box.tunnel.forgetKeys(one);
  t.like(one, { previous: null, current: null, next: null, initiatorIndex: null });
  t.is(box.engine.liveKeys, 0);
  t.is(box.tunnel.indices.size, 0);
});

test('keys are wiped from where they were derived once the engine has them', (t) => {
  const box = alone();
  const one = box.addPeer(peer({ key: keyOf(1) }));
  const keys = { send: counting(32, 1), receive: counting(32, 1) };
  box.tunnel.makeKeypair(one, keys, 5, true, 0);
  t.true(keys.send.every((byte) => byte === 0) && keys.receive.every((byte) => byte === 0));
});

// ---- statistics ------------------------------------------------------------------------------

test('a sample holds only peers with news, and each news once', (t) => {
  const { world, responder, initiator } = twoTunnels();
  t.deepEqual(withoutNulls(responder.tunnel.takeNews()), []);
  initiator.send(packet);
  world.run(100);
  const [sample] = withoutNulls(responder.tunnel.takeNews());
  t.like(sample, { publicKey: initiator.key, endpoint: initiator.endpoint });
  t.deepEqual(withoutNulls(responder.tunnel.takeNews()), []);
});

// docs/bugs-of-others.md#bug-12: bytes with handshakes.
test('bytes are those of UDP payload, handshakes too, as wg shows them', (t) => {
  const { world, responder, initiator } = twoTunnels();
  initiator.send(packet);
  world.run(100);
  const data = world.sent(DATA, initiator)[0]!.bytes.length;
  t.like(withoutNulls(responder.tunnel.takeNews())[0], { rxBytes: 148 + data, txBytes: 92 });
  t.like(withoutNulls(initiator.tunnel.takeNews())[0], { rxBytes: 92, txBytes: 148 + data });
});

test('inner bytes are those of packets: keepalives and handshakes have none', (t) => {
  const { world, responder, initiator } = twoTunnels();
  initiator.send(packet);
  world.run(100);
  const inner = world.sent(DATA, initiator)[0]!.bytes.length - 32;
  const nothing = { rxInnerBytes: 0, txInnerBytes: 0 };
  t.like(withoutNulls(responder.tunnel.takeNews())[0], { ...nothing, rxInnerBytes: inner });
  t.like(withoutNulls(initiator.tunnel.takeNews())[0], { ...nothing, txInnerBytes: inner });
  world.run(15_000);
  const [quiet] = withoutNulls(responder.tunnel.takeNews());
  t.like(quiet, { ...nothing, rxBytes: 0, txBytes: 32 }, 'a keepalive was sent');
});

// docs/bugs-of-others.md#bug-12: latest handshake.
test('the time of a handshake is its confirmation, in Unix time', (t) => {
  const { world, responder, initiator } = twoTunnels();
  world.loses = ({ bytes }) => bytes[0] === DATA;
  const began = world.wallMs;
  initiator.send(packet);
  world.run(100);
  t.is(withoutNulls(initiator.tunnel.takeNews())[0]!.latestHandshakeMs, began + 10);
  t.is(withoutNulls(responder.tunnel.takeNews())[0]!.latestHandshakeMs, null);
  world.loses = () => false;
  initiator.send(packet);
  world.run(100);
  t.is(withoutNulls(responder.tunnel.takeNews())[0]!.latestHandshakeMs, began + 105);
});

test('the last news of a peer are gone when it is removed', (t) => {
  const { world, responder, initiator } = twoTunnels();
  initiator.send(packet);
  world.run(100);
  responder.tunnel.removePeer(responder.peer);
  const [sample] = withoutNulls(responder.tunnel.takeNews());
  t.is(sample?.publicKey, initiator.key);
  t.true((sample?.rxBytes ?? 0) > 148);
  t.deepEqual(withoutNulls(responder.tunnel.takeNews()), []);
});

test('a peer is resumed at the own address and interface where a sample says it was', (t) => {
  const { world, responder, initiator } = twoTunnels();
  const { endpoints } = responder.tunnel.engine;
  const { endpointSlot } = responder.peer;
  initiator.send(packet);
  world.run(100);
  const endpoint = { address: 'fe80::7%3', port: 7 };
  const resume = { endpoint, local: 'fe80::1', heardAtMs: world.wallMs };
  restoreEndpoint(endpoints, endpointSlot, endpoint, resume.local);
  const [sample] = withoutNulls(responder.tunnel.takeNews());
  t.like(sample, { endpoint, local: resume.local });
  const resumed = alone();
  const added = resumed.addPeer({ ...peer({ key: keyOf(1), ipv4: '10.0.0.2' }), resume });
  t.deepEqual(readEndpoint(resumed.tunnel.engine.endpoints, added.endpointSlot), endpoint);
  t.is(readLocal(resumed.tunnel.engine.endpoints, added.endpointSlot), resume.local);
});

// ---- odds and ends ---------------------------------------------------------------------------

test('staged packets that are dropped are counted one by one', (t) => {
  const { world, initiator } = twoTunnels();
  world.loses = () => true;
  for (let i = 0; i < 5; i++) initiator.send(packet);
  initiator.tunnel.dropStaged(initiator.peer, reasons.staged_expired);
  t.deepEqual(initiator.drops(), { staged_expired: 5 });
  t.is(initiator.tunnel.staging.bytes, 0);
});

test('a peer has one cookie maker', (t) => {
  const { initiator } = twoTunnels();
  t.is(
    initiator.tunnel.cookieMakerOf(initiator.peer),
    initiator.tunnel.cookieMakerOf(initiator.peer),
  );
});
