// The path of a packet: a refusal is counted once, and then nothing of the packet goes anywhere.

import test from 'ava';
import { udp } from '../../support/dataplane/packets.ts';
import { gatewayAndClients, rule } from '../../support/dataplane/simulation.ts';

for (const workers of [1, 2])
  test(`${workers} workers: each refusal is counted once, wherever it happens`, (t) => {
    const { world, gateway, clients, peers } = gatewayAndClients(2, 5, { gateway: { workers } });
    gateway.apply(peers, { owner: [rule('1', 'drop', '10.0.0.3'), rule('2', 'drop', '9.9.9.9')] });
    for (const client of clients) client.connect();
    world.run(100);
    for (const destination of ['10.0.0.3', '9.9.9.9', '8.8.8.8'])
      clients[0]!.send(udp({ source: '10.0.0.2', destination }));
    clients[0]!.send(udp({ source: '10.0.0.99', destination: '8.8.8.8' }));
    world.run(100);
    t.deepEqual(gateway.delivered, [udp({ source: '10.0.0.2', destination: '8.8.8.8' })]);
    t.deepEqual(clients[1]!.delivered, []);
    const { rule_drop: dropped, ...others } = gateway.drops();
    t.is(dropped, 2);
    t.deepEqual(others, { inner_source_not_allowed: 1 });
  });

for (const workers of [1, 2])
  test(`${workers} workers: a closed path lets nothing pass, in either direction`, (t) => {
    const { world, gateway, clients } = gatewayAndClients(2, 5, { gateway: { workers } });
    for (const client of clients) client.connect();
    world.run(100);
    const setClosed = (isClosed: boolean): void =>
      gateway.change({ added: [], updated: [], removed: [], scopes: [], isClosed });
    const send = (): void => {
      clients[0]!.send(udp({ source: '10.0.0.2', destination: '10.0.0.3' }));
      clients[0]!.send(udp({ source: '10.0.0.2', destination: '8.8.8.8' }));
      gateway.send(udp({ source: '8.8.8.8', destination: '10.0.0.3' }));
      world.run(100);
    };
    setClosed(true);
    send();
    t.deepEqual([gateway.delivered.length, clients[1]!.delivered.length], [0, 0]);
    t.is(gateway.drops()['database_away'], 3);
    setClosed(false);
    send();
    t.deepEqual([gateway.delivered.length, clients[1]!.delivered.length], [1, 2]);
  });
