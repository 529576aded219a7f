// Devices whose owner is over the quota: nothing passes but what is to or from the gateway itself.
// docs/packets.md#quotas.

import test from 'ava';
import { MAX_PEERS } from '../../../dataplane/constants.ts';
import type { PeerConfig } from '../../../dataplane/contract.ts';
import { OverQuota } from '../../../dataplane/path/over-quota.ts';
import { counting, echoRequest, udp } from '../../support/dataplane/packets.ts';
import {
  type Client,
  gatewayAndClients,
  type Node,
  type World,
} from '../../support/dataplane/simulation.ts';
import '../../support/dataplane/seeded-test.ts';

const HOST = '192.0.2.9';
const GATEWAY = '10.0.0.1';
const OVER = '10.0.0.2';
const FREE = '10.0.0.3';

test('a peer is over its quota until that is taken back, and no other one is', (t) => {
  const over = new OverQuota();
  const seen = (): boolean[] => [0, 1, MAX_PEERS - 1].map((slot) => over.has(slot));
  over.set(1, false);
  t.deepEqual(seen(), [false, false, false]);
  over.set(MAX_PEERS - 1, true);
  over.set(MAX_PEERS - 1, true);
  t.deepEqual(seen(), [false, false, true]);
  over.set(1, true);
  over.set(MAX_PEERS - 1, false);
  t.deepEqual(seen(), [false, true, false]);
  over.set(1, false);
  t.deepEqual(seen(), [false, false, false]);
});

interface Scene {
  readonly world: World;
  readonly gateway: Node;
  readonly over: Client;
  readonly free: Client;
  /** Sends a packet from a device, or from behind the TUN; whether it came to its end. */
  readonly passes: (from: Client | null, source: string, destination: string) => boolean;
  readonly set: (isOverQuota: boolean) => void;
}

/** Two devices on different workers, where there are several; the first is over its quota. */
function scene(workers: number, fields: Partial<PeerConfig> = {}): Scene {
  const { world, gateway, clients, peers } = gatewayAndClients(2, 5, { gateway: { workers } });
  const [over, free] = clients as [Client, Client];
  for (const client of clients) client.connect();
  world.run(100);
  const set: Scene['set'] = (isOverQuota) =>
    gateway.apply([{ ...peers[0]!, ...fields, isOverQuota }, peers[1]!]);
  set(true);
  let port = 4_000;
  const passes: Scene['passes'] = (from, source, destination) => {
    const bytes = udp({ source, destination, sourcePort: port++, data: counting(100) });
    if (from === null) gateway.send(bytes);
    else from.send(bytes);
    world.run(20);
    return [gateway, over, free].some((end) => end.delivered.splice(0).length > 0);
  };
  return { world, gateway, over, free, passes, set };
}

for (const workers of [1, 3]) {
  test(`${workers} workers: each way is refused, and the gateway itself answers`, (t) => {
    const { gateway, over, free, passes } = scene(workers);
    const rows = [
      [over, OVER, HOST, false],
      [over, OVER, FREE, false],
      [free, FREE, OVER, false],
      [null, HOST, OVER, false],
      [over, OVER, GATEWAY, true],
      [null, GATEWAY, OVER, true],
      [free, FREE, HOST, true],
      [null, HOST, FREE, true],
      [free, FREE, GATEWAY, true],
    ] as const;
    for (const [from, source, destination, expected] of rows)
      t.is(passes(from, source, destination), expected, `${source} to ${destination}`);
    t.deepEqual(gateway.drops(), { quota_exceeded: 4 });
  });

  test(`${workers} workers: so it is with IPv6`, (t) => {
    const { gateway, over, passes } = scene(workers);
    const rows = [
      [over, 'fd00::2', '2001:db8::9', false],
      [null, '2001:db8::9', 'fd00::2', false],
      [over, 'fd00::2', 'fd00::1', true],
      [null, 'fd00::1', 'fd00::2', true],
    ] as const;
    for (const [from, source, destination, expected] of rows)
      t.is(passes(from, source, destination), expected, `${source} to ${destination}`);
    t.deepEqual(gateway.drops(), { quota_exceeded: 2 });
  });

  test(`${workers} workers: a flow stops, and goes on when the quota is raised`, async (t) => {
    const { world, gateway, over, set } = scene(workers);
    const there = udp({ source: OVER, destination: HOST, sourcePort: 4_000, destinationPort: 53 });
    const back = udp({ source: HOST, destination: OVER, sourcePort: 53, destinationPort: 4_000 });
    const exchange = (): [number, number] => {
      over.send(there);
      world.run(20);
      gateway.send(back);
      world.run(20);
      return [gateway.delivered.splice(0).length, over.delivered.splice(0).length];
    };
    const opener = async (): Promise<string | null | undefined> =>
      (await gateway.ask('explain', { from: null, packet: back }))?.decision?.opener;
    t.deepEqual(exchange(), [0, 0]);
    t.is(await opener(), null, 'what is refused opens no flow');
    set(false);
    t.deepEqual(exchange(), [1, 1]);
    set(true);
    t.deepEqual(exchange(), [0, 0]);
    t.is(await opener(), over.key, 'the flow is there still');
    set(false);
    t.deepEqual(exchange(), [1, 1]);
  });

  test(`${workers} workers: who asks about a packet learns of it`, async (t) => {
    const { gateway, over, free } = scene(workers);
    for (const [from, source, destination, reason] of [
      [over, OVER, HOST, 'quota_exceeded'],
      [over, OVER, GATEWAY, 'none'],
      [free, FREE, OVER, 'quota_exceeded'],
      [null, HOST, OVER, 'quota_exceeded'],
      [null, GATEWAY, OVER, 'none'],
    ] as const) {
      const question = { from: from?.key ?? null, packet: udp({ source, destination }) };
      const explanation = await gateway.ask('explain', question);
      t.is(explanation?.reason, reason, `${source} to ${destination}`);
      t.is(explanation?.place === 'nowhere', reason !== 'none');
    }
  });
}

test('the next peer in the place of one that was over its quota is not', (t) => {
  const { world, gateway, clients, peers } = gatewayAndClients(2, 5, {});
  gateway.apply([{ ...peers[0]!, isOverQuota: true }]);
  gateway.apply([]);
  gateway.apply([peers[1]!]);
  clients[1]!.connect();
  world.run(100);
  clients[1]!.send(udp({ source: FREE, destination: HOST }));
  world.run(20);
  t.is(gateway.delivered.length, 1);
});

test('without a TUN the gateway answers a ping still', (t) => {
  const { world, gateway, clients, peers } = gatewayAndClients(1, 5, {
    gateway: { hasTun: false },
  });
  gateway.apply([{ ...peers[0]!, isOverQuota: true }]);
  clients[0]!.connect();
  world.run(100);
  clients[0]!.send(echoRequest(OVER, GATEWAY));
  world.run(20);
  t.is(clients[0]!.delivered.length, 1);
});
