// `npm run start:rootless` as a user without rights: a whole gateway with a TUN of its own, reached
// through pasta by real clients. The host is the gateway of the usual topology with a default route.

import { once } from 'node:events';
import process from 'node:process';
import type { ChildProcess } from 'node:child_process';
import test from 'ava';
import { until } from '../support/gateway/postern.ts';
import { buildRootless, pidOfPasta } from '../support/gateway/rootless.ts';
import { NFT } from '../support/network/capture.ts';
import type { Host } from '../support/network/namespaces.ts';
import {
  canPing,
  canReach,
  GATEWAY4,
  GATEWAY6_BOB,
  LAN4,
  LAN6,
  type Topology,
  Traffic,
  traffic,
  transfer,
  TUNNEL4,
  TUNNEL6,
} from '../support/network/topology.ts';
import { enrol } from './people.ts';

const TCP_BYTES = 5_000_000;

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** Whether the host has given back the ports of the gateway. */
async function hasPorts({ gateway }: Topology): Promise<boolean> {
  const { stdout } = await gateway.run('ss', '-Hlntu', 'sport = :51820 or sport = :13000');
  return stdout === '';
}

test.serial('a gateway without root serves real clients, and its stop is clean', async (t) => {
  const { topology, postern } = await buildRootless(t, 'pr');
  const { gateway, lan } = topology;
  await postern.start();
  const readiness = await fetch(`${postern.api}/readyz`);
  t.deepEqual(await readiness.json(), {
    status: 'ready',
    tun: 'wg-postern',
    masquerade: true,
    egress: 'tun',
  });

  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  const bob = await enrol(postern, topology.bob, 'b@example.test', `[${GATEWAY6_BOB}]:51820`);
  // A client whose first handshake is lost begins another after five seconds.
  await until('alice is connected', () => canPing(alice.client.host, TUNNEL4), 15_000);
  await until('bob is connected', () => canPing(bob.client.host, TUNNEL6), 15_000);
  t.true(await canPing(alice.client.host, String(bob.device['ipv4'])), 'device to device');
  t.true(await canPing(alice.client.host, LAN4), 'the lan');
  t.true(await canPing(bob.client.host, LAN6), 'the lan over IPv6');
  const echo = await new Traffic(lan, 'echo', 7000, LAN4).ready();
  t.deepEqual(await traffic(alice.client.host, 'ask', LAN4, 7000, 1_200, 20), { answered: 20 });
  await echo.stop();
  await until('the address of the client', async () => {
    const device = await postern.read('device', alice.device.id);
    return device['remote_ip'] === '192.0.2.2';
  });

  const explain = { device_id: alice.device.id, destination: LAN4, protocol: '47' };
  const { body } = await postern.call('POST', '/v0/explain', { explain });
  t.is((body as { data: { reason: string } }).data.reason, 'no_way_out');

  for (const [from, to, address] of [
    [alice.client.host, lan, LAN4],
    [bob.client.host, lan, LAN6],
  ] as const) {
    const { sent, received } = await transfer(from, to, address, TCP_BYTES);
    t.is(received['sha256'], sent['sha256']);
  }

  // The gateway itself takes a connection, and then asks the host.
  const areRelayed = async (): Promise<boolean> => {
    const taken = ([host, address]: readonly [Host, string]): Promise<boolean> =>
      host.succeeds('bash', '-c', `exec 3<>/dev/tcp/${address}/8082`);
    const both = [[alice.client.host, LAN4] as const, [bob.client.host, LAN6] as const];
    return (await Promise.all(both.map(taken))).every(Boolean);
  };
  t.true(await areRelayed());
  const inside = ['nsenter', '--net', '--target', String(postern.pid)] as const;
  const asks = await gateway.run(...inside, 'cat', '/proc/sys/net/ipv6/conf/g1/accept_dad');
  t.is(asks.stdout, '0\n', 'pasta would take the source of the question, ::, for the address');
  await gateway.run(...inside, NFT, 'flush', 'ruleset');
  for (const table of ['wg-postern', 'the relay for TCP'])
    await until(`that the table of ${table} has vanished`, () =>
      postern.output.includes(`the nft table of ${table} has vanished and is loaded again`),
    );
  await until('both are relayed again', areRelayed);
  t.notRegex(postern.output, /not relayed/);
  const accept = await new Traffic(lan, 'accept', 8080).ready();
  t.true(await canReach(alice.client.host, LAN4, 8080));
  const rule = await postern.create('rule', { action: 'drop', destination: LAN4 });
  t.false(await canReach(alice.client.host, LAN4, 8080), 'a rule is in force');
  await postern.remove('rule', rule.id);
  // LAN4 is the default gateway of the host. By default pasta leads packets for it to the host.
  const local = await new Traffic(gateway, 'accept', 8081).ready();
  t.true(await canReach(lan, '198.51.100.1', 8081), 'the host serves');
  t.false(await canReach(alice.client.host, LAN4, 8081), "the host's loopback is out of reach");
  t.false(await canReach(alice.client.host, '198.51.100.1', 8081), 'and so is the host');
  // The gateway sees each address that the host gets.
  for (const [from, address] of [
    [alice.client.host, '198.51.100.77'],
    [bob.client.host, '2001:db8:2::77'],
  ] as const) {
    await gateway.ip('address', 'add', address, 'dev', 'lo');
    t.true(await canReach(gateway, address, 8081), 'the host serves there');
    await until('refused', async () => !(await canReach(from, address, 8081)));
    t.false(await canReach(from, address, 13_000), 'nor is the console reached there');
  }
  await until('both are counted', () => Number(postern.drops()['inner_destination_host']) >= 2);
  await Promise.all([accept.stop(), local.stop()]);

  await postern.stop();
  t.regex(postern.output, /Postern has stopped/);
  t.notRegex(postern.output, /pasta has ended/);
  await until('the ports are free', () => hasPorts(topology));
});

test.serial('a gateway that is killed takes pasta with it', async (t) => {
  const { topology, postern } = await buildRootless(t, 'pr');
  await postern.start();
  await postern.kill();
  await until('the ports are free', () => hasPorts(topology));
  t.notRegex(postern.output, /pasta has ended/);
});

test.serial('pasta that ends is started again, and the gateway goes on', async (t) => {
  const { topology, postern } = await buildRootless(t, 'pr');
  await postern.start();
  const { pid } = postern;
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  await until('alice is connected', () => canPing(alice.client.host, TUNNEL4), 15_000);
  await new Traffic(topology.lan, 'accept', 8080).ready();
  t.true(await canReach(alice.client.host, LAN4, 8080));
  const pasta = await pidOfPasta(topology.gateway);
  process.kill(pasta, 'SIGKILL');
  await until('the lan again', () => canReach(alice.client.host, LAN4, 8080));
  t.true(await canPing(alice.client.host, LAN4));
  t.is((await postern.readiness()).status, 'ready');
  t.not(await pidOfPasta(topology.gateway), pasta);
  t.is(postern.pid, pid);
  t.regex(postern.output, /pasta has ended; it is started again/);
  const ends = /wg_gateway_pasta_ends_total\{reason="ended"\} 1$/m;
  await until('the end is counted', async () => ends.test(await postern.metrics()), 15_000);
  await postern.stop();
  await until('the ports are free', () => hasPorts(topology));
});

test.serial('what is in the way of a start is said, and nothing stays behind', async (t) => {
  const { topology, postern } = await buildRootless(t, 'pr');
  const taken = await new Traffic(topology.gateway, 'echo', 51_820, '0.0.0.0').ready();
  t.not(await exitOf(postern.launch()), 0);
  t.regex(postern.output, /cannot start without root:\n {2}UDP port 51820 is taken/);
  await taken.stop();
  await until('the ports are free', () => hasPorts(topology));
});
