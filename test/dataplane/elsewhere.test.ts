// Two gateways with one key, in virtual time. A device goes from one to the other, and the first
// hears of it from the database. Devices see one server and follow whoever sends to them, so the
// first gateway must be silent until the device comes back.

import test from 'ava';
import { readEndpoint, parseAddress, writeEndpoint } from '../../dataplane/wire/address.ts';
import { udp } from '../support/dataplane/packets.ts';
import {
  type Client,
  gatewayAndClients,
  INITIATION,
  type Node,
  RESPONSE,
  type World,
} from '../support/dataplane/simulation.ts';
import '../support/dataplane/seeded-test.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const B_ENDPOINT = { address: '192.0.2.2', port: 51_820 };

const fromLan = udp({ source: '192.0.2.80', destination: '10.0.0.2', data: 'lan' });
const fromOther = udp({ source: '10.0.0.3', destination: '10.0.0.2', data: 'other' });
const toLan = udp({ source: '10.0.0.2', destination: '192.0.2.80', data: 'hello' });

interface Scene {
  readonly world: World;
  readonly a: Node;
  readonly b: Node;
  /** 10.0.0.2, which moves. */
  readonly client: Client;
  /** 10.0.0.3, which stays at A. */
  readonly other: Client;
}

/** Two gateways; the client and another device have sessions with A. */
function atA(): Scene {
  const { world, gateway: a, clients, peers } = gatewayAndClients(2);
  const b = world.addNode({ endpoint: B_ENDPOINT, privateKey: a.privateKey });
  b.apply(peers);
  const [client, other] = clients as [Client, Client];
  for (const one of clients) one.connect();
  world.run(100);
  a.send(fromLan);
  world.run(6 * SECOND);
  client.delivered.length = 0;
  return { world, a, b, client, other };
}

/** Points a client to a gateway, with which it makes a handshake. */
function lead(client: Client, { endpoint: { address, port } }: Node): void {
  writeEndpoint(client.engine.endpoints, client.peer.endpointSlot, parseAddress(address)!, port);
  client.connect();
}

/** As above, but then the client goes to B, and A has not heard of it. */
function atB(): Scene & { readonly movedAtMs: number } {
  const scene = atA();
  lead(scene.client, scene.b);
  scene.world.run(SECOND);
  return { ...scene, movedAtMs: handshakeAt(scene.b, scene.client) };
}

/** When a gateway completed a handshake with a client; Unix time in ms. */
function handshakeAt(gateway: Node, { key }: Client): number {
  const sample = gateway.sample().peers.find(({ publicKey }) => publicKey === key);
  return sample?.latestHandshakeMs ?? Number.NaN;
}

/** The address of the server, as a client knows it. */
function serverOf(client: Client): string | undefined {
  return readEndpoint(client.engine.endpoints, client.peer.endpointSlot)?.address;
}

test('a gateway that keeps a device that left draws it away from the other gateway', (t) => {
  const { world, a, client } = atB();
  t.is(serverOf(client), '192.0.2.2');
  a.send(fromLan);
  world.run(100);
  t.is(serverOf(client), '192.0.2.1');
});

test('a gateway that released a device sends it nothing, and counts the packets that it drops', (t) => {
  const { world, a, b, client, other, movedAtMs } = atB();
  a.release(new Map([[client.key, movedAtMs]]));
  world.wire.length = 0;
  for (let i = 0; i < 60; i++) {
    a.send(fromLan);
    other.send(fromOther);
    world.run(SECOND);
    t.is(serverOf(client), '192.0.2.2');
  }
  t.deepEqual(a.drops(), { peer_elsewhere: 120 });
  t.true(world.sent(0, a).every(({ to }) => to.port === other.endpoint.port));
  t.deepEqual(client.delivered, []);
  b.send(fromLan);
  world.run(100);
  t.deepEqual(client.delivered, [fromLan]);
});

test('after a release only the counters of the next sample are left', (t) => {
  const { world, a, client, other, movedAtMs } = atB();
  const before = a.engine.liveKeys;
  const atFirst = handshakeAt(a, client);
  client.send(toLan);
  a.send(fromLan);
  a.release(new Map([[client.key, movedAtMs]]));
  t.is(a.engine.liveKeys, before - 1);
  const [last] = a.sample().peers;
  t.like(last, { publicKey: client.key, latestHandshakeMs: atFirst, endpoint: null });
  t.true(last!.txBytes > 0);
  t.deepEqual(a.sample().peers, []);
  world.remove(other);
  world.wire.length = 0;
  world.run(20 * MINUTE);
  t.deepEqual(world.sent(INITIATION, a), [], 'no timer calls it either');
});

test('a release ends a handshake in progress and drops the packets that wait for it', (t) => {
  const { world, a, client, movedAtMs } = atB();
  world.loses = ({ from }) => from.address === '192.0.2.1';
  world.run(3 * MINUTE);
  world.wire.length = 0;
  a.send(fromLan, fromLan);
  t.is(world.sent(INITIATION, a).length, 1);
  // B has renewed its keys in the meantime.
  const renewedAtMs = movedAtMs + 2 * MINUTE;
  a.release(new Map([[client.key, renewedAtMs]]));
  t.deepEqual(a.drops(), { peer_elsewhere: 2 });
  world.run(3 * MINUTE);
  t.is(world.sent(INITIATION, a).length, 1);
});

test('a device that comes back is served, even if an old message says that it is elsewhere', (t) => {
  const { world, a, client, movedAtMs } = atB();
  a.release(new Map([[client.key, movedAtMs]]));
  world.run(6 * SECOND);
  lead(client, a);
  world.run(100);
  a.release(new Map([[client.key, movedAtMs]]));
  a.send(fromLan);
  world.run(100);
  t.deepEqual(client.delivered, [fromLan]);
  t.deepEqual(a.drops(), {});
  t.is(serverOf(client), '192.0.2.1');
});

test('a device that is coming back is not taken for one that left', (t) => {
  const { world, a, client, movedAtMs } = atB();
  world.run(6 * SECOND);
  lead(client, a);
  // A answers its initiation, and hears of the other gateway before the device can confirm.
  world.run(6);
  t.is(world.sent(RESPONSE, a).at(-1)?.to.port, client.endpoint.port);
  a.release(new Map([[client.key, movedAtMs]]));
  a.send(fromLan);
  world.run(100);
  t.deepEqual(client.delivered, [fromLan]);
  t.deepEqual(a.drops(), {});
});

test('a keypair that a device did not confirm is removed with the others', (t) => {
  const { world, a, b, client } = atA();
  // An answer to what A sent; otherwise A would initiate a handshake itself.
  client.send(toLan);
  world.run(100);
  world.loses = ({ bytes, from }) => bytes[0] === RESPONSE && from.address === '192.0.2.1';
  client.connect();
  world.run(6 * SECOND);
  const before = a.engine.liveKeys;
  lead(client, b);
  world.run(6 * SECOND);
  a.release(new Map([[client.key, handshakeAt(b, client)]]));
  t.is(a.engine.liveKeys, before - 2);
});

test('the keys of a return that fails are wiped in time', (t) => {
  const { world, a, client, other, movedAtMs } = atB();
  world.run(6 * SECOND);
  lead(client, a);
  world.run(6);
  world.remove(client);
  world.remove(other);
  a.release(new Map([[client.key, movedAtMs]]));
  t.true(a.engine.liveKeys > 0);
  world.run(10 * MINUTE);
  t.is(a.engine.liveKeys, 0);
});

test('a device that was never at this gateway can be elsewhere too', (t) => {
  const { world, gateway: a, clients } = gatewayAndClients(1);
  a.send(fromLan);
  a.release(new Map([[clients[0]!.key, world.wallMs]]));
  a.send(fromLan, fromLan);
  t.deepEqual(a.drops(), { peer_no_endpoint: 1, peer_elsewhere: 2 });
});

test('other devices are left alone, and unknown keys are ignored', (t) => {
  const { world, a, client, other, movedAtMs } = atB();
  const keypair = other.peer.current;
  a.release(
    new Map([
      [client.key, movedAtMs],
      ['nobody', movedAtMs],
    ]),
  );
  other.delivered.length = 0;
  a.send(udp({ source: '192.0.2.80', destination: '10.0.0.3' }));
  world.run(100);
  t.is(other.delivered.length, 1);
  t.is(other.peer.current, keypair);
});
