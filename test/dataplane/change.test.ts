// Changes of configuration in virtual time: rules, defaults, owners, peers, addresses and keys are
// in force from the next packet on, and cost nobody else a session.

import test from 'ava';
import { MAX_FLOWS_PER_PEER } from '../../dataplane/constants.ts';
import { address, counting, udp } from '../support/dataplane/packets.ts';
import {
  type Client,
  gatewayAndClients,
  INITIATION,
  peer,
  rule,
} from '../support/dataplane/simulation.ts';
import {
  MINUTE,
  SECOND,
  connected,
  connectedClients,
  down,
  from,
  from6,
  toClient,
  toGateway,
  up,
} from '../support/dataplane/pipeline-scenes.ts';

// ---- rules -----------------------------------------------------------------------------------

test('a rule that drops does so from the next packet on, and one that goes does not', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  const attempt = (): number => {
    const before = gateway.delivered.length;
    clients[0]!.send(udp(from));
    world.run(50);
    return gateway.delivered.length - before;
  };
  t.is(attempt(), 1);
  gateway.apply(peers, { owner: [rule('1', 'drop', '192.0.2.0/24')] });
  t.is(attempt(), 0);
  gateway.apply(peers, { owner: [rule('1', 'accept', '192.0.2.0/24')] });
  t.is(attempt(), 1);
  gateway.apply(peers, { '': [rule('2', 'drop', '0.0.0.0/0')] });
  t.is(attempt(), 0);
  gateway.apply(peers);
  t.is(attempt(), 1);
  t.deepEqual(gateway.drops(), { rule_drop: 2 });
});

test('a device that opens more flows than it may costs its own, which are counted', (t) => {
  // Each worker has a part of the room, and its device may have so much of it.
  const flows = 16 * MAX_FLOWS_PER_PEER;
  const { world, gateway, clients } = connectedClients(1, { gateway: { flows } });
  const more = 7;
  for (let port = 1; port <= MAX_FLOWS_PER_PEER + more; port++) {
    clients[0]!.send(udp({ ...from, sourcePort: port }));
    if (port % 64 === 0) world.run(1);
  }
  world.run(100);
  t.is(gateway.delivered.length, MAX_FLOWS_PER_PEER + more, 'none of its packets is refused');
  t.deepEqual(gateway.drops(), { flows_share: more });
});

test('a change of rules makes no handshake and costs no session', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  const messages = world.sent(INITIATION).length;
  for (let i = 0; i < 20; i++) {
    gateway.apply(peers, { owner: [rule(`${i}`, 'accept', '192.0.2.0/24')] });
    clients[0]!.send(udp(from));
    world.run(10);
  }
  t.is(gateway.delivered.length, 20);
  t.is(world.sent(INITIATION).length, messages);
});

test('what no rule matches is dropped where the default says so', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1, {
    gateway: { defaultAction: 'drop' },
  });
  gateway.apply(peers, { owner: [rule('1', 'accept', '192.0.2.0/24')] });
  clients[0]!.send(udp(from), udp({ ...from, destination: '192.0.3.1' }), udp(from6));
  world.run(100);
  t.deepEqual(gateway.delivered, [udp(from)]);
  t.deepEqual(gateway.drops(), { default_drop: 2 });
});

test('what no rule matches follows the default as it changes, rules as before', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  gateway.apply(peers, { owner: [rule('1', 'accept', '192.0.2.0/24')] });
  const setDefault = (defaultAction: 'accept' | 'drop'): void =>
    gateway.change({ removed: [], updated: [], added: [], scopes: [], defaultAction });
  const other = udp({ ...from, destination: '192.0.3.1' });
  const send = (): Uint8Array[] => {
    gateway.delivered.length = 0;
    clients[0]!.send(udp(from), other, udp(from6));
    world.run(100);
    return [...gateway.delivered];
  };
  t.deepEqual(send(), [udp(from), other, udp(from6)]);
  setDefault('drop');
  t.deepEqual(send(), [udp(from)], 'of flows that are open too');
  t.deepEqual(gateway.drops(), { default_drop: 2 });
  setDefault('accept');
  t.deepEqual(send(), [udp(from), other, udp(from6)]);
  t.deepEqual(gateway.drops(), { default_drop: 2 });
});

test('a device that changes its owner is judged by the rules of the new one', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  const rules = { strict: [rule('1', 'drop', '0.0.0.0/0')] };
  gateway.apply(peers, rules);
  clients[0]!.send(udp(from));
  world.run(50);
  gateway.apply([{ ...peers[0]!, scope: 'strict' }], rules);
  clients[0]!.send(udp(from));
  world.run(50);
  t.is(gateway.delivered.length, 1);
  t.deepEqual(gateway.drops(), { rule_drop: 1 });
});

test('rules hold for devices that come after them', (t) => {
  const { world, gateway, clients, peers } = gatewayAndClients(1);
  gateway.apply([], { owner: [rule('1', 'drop', '0.0.0.0/0')] });
  gateway.apply(peers, { owner: [rule('1', 'drop', '0.0.0.0/0')] });
  clients[0]!.send(udp(from));
  world.run(100);
  t.deepEqual(gateway.drops(), { rule_drop: 1 });
});

test('packets from the TUN to a device are not judged', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  gateway.apply(peers, {
    '': [rule('1', 'drop', '0.0.0.0/0')],
    owner: [rule('2', 'drop', '0.0.0.0/0')],
  });
  gateway.send(toClient);
  world.run(100);
  t.deepEqual(clients[0]!.delivered, [toClient]);
});

test("the gateway's own address is judged by the rules", (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  gateway.apply(peers, { owner: [rule('1', 'drop', '10.0.0.1', { type: 'udp', first: 5_000 })] });
  clients[0]!.send(toGateway);
  clients[0]!.send(udp({ source: '10.0.0.2', destination: '10.0.0.1', destinationPort: 53 }));
  world.run(100);
  t.is(gateway.delivered.length, 1);
  t.deepEqual(gateway.drops(), { rule_drop: 1 });
});

// ---- change ----------------------------------------------------------------------------------

test('a removed peer stops at once, both ways, with what is in the air', (t) => {
  const { world, gateway, client } = connected();
  gateway.delivered.length = 0;
  client.delivered.length = 0;
  client.send(up(1));
  gateway.apply([]);
  const sent = world.sent(0, gateway).length;
  gateway.send(down(1));
  client.send(up(2));
  world.run(10 * MINUTE);
  // The host hears that nobody is there (ICMP).
  t.deepEqual(
    gateway.delivered.map((packet) => packet[9]),
    [1],
  );
  t.deepEqual(client.delivered, []);
  t.is(world.sent(0, gateway).length, sent);
  t.is(gateway.engine.liveKeys, 0);
  t.is(gateway.nextTimeout(), Number.POSITIVE_INFINITY);
  t.like(gateway.drops(), { transport_unknown_index: 2, no_peer: 1 });
});

test('while a gateway is closed nothing passes, and its sessions go on', (t) => {
  const { world, gateway, client } = connected();
  gateway.delivered.length = 0;
  client.delivered.length = 0;
  const messages = world.sent(INITIATION).length;
  const close = (isClosed: boolean): void =>
    gateway.change({ removed: [], updated: [], added: [], scopes: [], isClosed });
  const both = (i: number): void => {
    client.send(up(i));
    world.run(100);
    gateway.send(down(i));
    world.run(100);
  };
  close(true);
  both(1);
  t.deepEqual([...gateway.delivered, ...client.delivered], []);
  t.deepEqual(gateway.drops(), { database_away: 2 });
  close(false);
  both(3);
  t.deepEqual([...gateway.delivered, ...client.delivered], [up(3), down(3)]);
  t.is(world.sent(INITIATION).length, messages);
});

test('a removed peer cannot come back by itself', (t) => {
  const { world, gateway, client } = connected();
  gateway.delivered.length = 0;
  gateway.apply([]);
  client.sender.initiate(client.peer, false, world.now + 10_000);
  world.run(100);
  t.like(gateway.drops(), { initiation_unknown_peer: 1 });
  t.is(gateway.engine.liveKeys, 0);
});

// docs/bugs-of-others.md#bug-20: queued packets.
test('a removed peer drops what waits for it, whatever comes later', (t) => {
  const { world, gateway, client } = connected();
  world.run(181 * SECOND);
  client.delivered.length = 0;
  world.loses = () => true;
  gateway.send(down(1));
  gateway.apply([]);
  world.loses = () => false;
  gateway.apply([peer({ key: client.key, ipv4: '10.0.0.2' })]);
  client.send(up(1));
  world.run(MINUTE);
  t.deepEqual(client.delivered, []);
});

test('a peer that was removed and added again makes a new session', (t) => {
  const { world, gateway, client } = connected();
  const config = peer({ key: client.key, ipv4: '10.0.0.2' });
  gateway.delivered.length = 0;
  gateway.apply([]);
  gateway.apply([config]);
  for (let i = 0; i < 18; i++) {
    client.send(up(i));
    world.run(SECOND);
  }
  t.true(gateway.delivered.length > 0);
});

test('one change removes, changes and adds, and leaves others alone', (t) => {
  const { world, gateway, clients, peers } = connectedClients(4);
  const [stays, goes, moves, second] = clients as [Client, Client, Client, Client];
  const messages = world.sent(INITIATION).length;
  gateway.apply([peers[0]!, { ...peers[2]!, ipv4: address('10.0.0.33') }, peers[3]!]);
  stays.send(udp({ source: '10.0.0.2', destination: '10.0.0.1' }));
  goes.send(udp({ source: '10.0.0.3', destination: '10.0.0.1' }));
  moves.send(udp({ source: '10.0.0.33', destination: '10.0.0.1' }));
  second.send(udp({ source: '10.0.0.5', destination: '10.0.0.1' }));
  world.run(SECOND);
  t.is(gateway.delivered.length, 3);
  t.deepEqual(gateway.drops(), { transport_unknown_index: 1 });
  t.is(world.sent(INITIATION).length, messages);
});

test('a changed address holds at once, without a handshake; the old one is refused', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  gateway.apply([{ ...peers[0]!, ipv4: address('10.0.0.9'), ipv6: null }]);
  clients[0]!.send(
    udp({ ...from, source: '10.0.0.9' }),
    udp({ ...from, source: '10.0.0.2' }),
    udp(from6),
  );
  world.run(100);
  t.is(gateway.delivered.length, 1);
  gateway.send(udp({ source: '192.0.2.1', destination: '10.0.0.9' }));
  gateway.send(udp({ source: '192.0.2.1', destination: '10.0.0.2' }));
  world.run(100);
  t.is(clients[0]!.delivered.length, 1);
  t.deepEqual(gateway.drops(), { inner_source_not_allowed: 2, no_peer: 1 });
});

test('two devices swap their addresses in one change', (t) => {
  const { world, gateway, clients, peers } = connectedClients(2);
  const [a, b] = peers as [(typeof peers)[0], (typeof peers)[0]];
  gateway.apply([
    { ...a, ipv4: b.ipv4, ipv6: b.ipv6 },
    { ...b, ipv4: a.ipv4, ipv6: a.ipv6 },
  ]);
  clients[0]!.send(udp({ ...from, source: '10.0.0.3' }), udp({ ...from6, source: 'fd00::3' }));
  clients[1]!.send(udp({ ...from, source: '10.0.0.2' }), udp({ ...from6, source: 'fd00::2' }));
  gateway.send(toClient);
  world.run(100);
  t.is(gateway.delivered.length, 4);
  t.deepEqual(clients[1]!.delivered, [toClient]);
  t.deepEqual(gateway.drops(), {});
});

test('an address moves from a device that goes to one that comes', (t) => {
  const { world, gateway, clients, peers } = connectedClients(2);
  gateway.apply([{ ...peers[1]!, ipv4: address('10.0.0.2') }]);
  clients[1]!.send(udp(from));
  clients[0]!.send(udp(from));
  world.run(100);
  t.is(gateway.delivered.length, 1);
  t.deepEqual(gateway.drops(), { transport_unknown_index: 1 });
});

test('the same configuration again changes nothing', (t) => {
  const { world, gateway, clients, peers } = connectedClients(2);
  const rules = { owner: [rule('1', 'accept', '0.0.0.0/0')] };
  gateway.apply(peers, rules);
  const before = {
    keys: gateway.engine.liveKeys,
    wire: world.wire.length,
    timeout: gateway.nextTimeout(),
  };
  gateway.apply(
    peers.map((one) => ({ ...one })),
    { owner: [rule('1', 'accept', '0.0.0.0/0')] },
  );
  t.deepEqual(
    { keys: gateway.engine.liveKeys, wire: world.wire.length, timeout: gateway.nextTimeout() },
    before,
  );
  clients[0]!.send(udp(from));
  world.run(100);
  t.is(gateway.delivered.length, 1);
});

// docs/bugs-of-others.md#bug-3: preshared key at the next handshake.
test('a new preshared key serves from the next handshake; the session goes on meanwhile', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  const client = clients[0]!;
  const presharedKey = counting(32, 5);
  const messages = world.sent(INITIATION).length;
  gateway.apply([{ ...peers[0]!, presharedKey }]);
  client.tunnel.updatePeer(client.peer, { ...client.peer.config, presharedKey });
  client.send(up(0));
  gateway.send(down(0));
  world.run(100);
  t.is(gateway.delivered.length, 1);
  t.is(client.delivered.length, 1);
  t.is(world.sent(INITIATION).length, messages);
  for (let i = 1; i < 200; i++) {
    client.send(up(i));
    gateway.send(down(i));
    world.run(SECOND);
  }
  t.is(gateway.delivered.length, 200);
  t.is(client.delivered.length, 200);
  t.true(world.sent(INITIATION).length > messages);
});

// docs/bugs-of-others.md#bug-3: preshared key at the next handshake.
test('a preshared key that only one side has ends in no session, and nothing is answered', (t) => {
  const { world, gateway, clients, peers } = connectedClients(1);
  const client = clients[0]!;
  gateway.apply([{ ...peers[0]!, presharedKey: counting(32, 5) }]);
  for (let i = 0; i < 300; i++) {
    client.send(up(i));
    world.run(SECOND);
  }
  // The session of before serves until it is 180 s old.
  t.true(gateway.delivered.length >= 179 && gateway.delivered.length <= 181);
  t.true(client.drops()['response_invalid']! > 5);
});
