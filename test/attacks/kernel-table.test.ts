// A device sends what the kernel cannot translate, and opens more connections than it may: nothing
// leaves with an inner address, and the kernel's table of connections has room for others.

import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { MAX_FLOWS_PER_PEER } from '../../dataplane/constants.ts';
import { enrol, type Person } from '../e2e/people.ts';
import { readExposition, valueOf } from '../support/observe/exposition.ts';
import type { Host } from '../support/network/namespaces.ts';
import { flagsOf, ip, tcp, udp } from '../support/dataplane/packets.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  buildTopology,
  canPing,
  canReach,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  LAN6,
  type Topology,
  traffic,
  Traffic,
} from '../support/network/topology.ts';

const API = '10.255.75';
/** Beyond what a device may have, by more than any other packet of the test. */
const FLOWS = MAX_FLOWS_PER_PEER + 1_000;
const METRICS_MS = 12_000;

interface Scene extends Topology {
  readonly postern: Postern;
  readonly person: Person;
}

async function scene(t: ExecutionContext, prefix: string): Promise<Scene> {
  t.timeout(120_000);
  const topology = await buildTopology(prefix, API);
  t.teardown(() => topology.network.remove());
  const postern = new Postern(topology.gateway, `${API}.2`, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
  });
  await postern.start();
  t.teardown(() => postern.stop());
  const person = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  t.true(await canPing(topology.alice, LAN4));
  return { ...topology, postern, person };
}

/** Lets a host send packets of any shape. */
async function inject(host: Host, packets: Iterable<Uint8Array>): Promise<void> {
  const child = host.start(process.execPath, [
    join(import.meta.dirname, '../support/network/packet-injector.ts'),
  ]);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  await lines.next();
  let sent = 0;
  for (const packet of packets) {
    child.stdin!.write(`${Buffer.from(packet).toString('base64')}\n`);
    // Queues on the way hold some hundred packets.
    if (++sent % 100 === 0) await sleep(10);
  }
  const exited = once(child, 'exit');
  child.stdin!.end();
  await exited;
}

/** Everything that a host hears with an address of the tunnel; a tcpdump that listens already. */
async function listenForInner(host: Host): Promise<{ end: () => Promise<string> }> {
  const inner = 'net 100.64.0.0/10 or net fd00::/106';
  const child: ChildProcess = host.start('tcpdump', ['-nli', 'l0', ...inner.split(' ')]);
  const heard = text(child.stdout!);
  await once(child.stderr!, 'data');
  await sleep(300);
  return {
    end: async () => {
      child.kill('SIGINT');
      return heard;
    },
  };
}

async function counted(postern: Postern, name: string, labels = {}): Promise<number> {
  return valueOf(readExposition(await postern.metrics()), name, labels) ?? 0;
}

const dropped = 'wg_gateway_dropped_packets_total';

/** A late end of a connection that the kernel forgot, and what belongs to none. */
function* untranslatable(source: string, destination: string): Generator<Uint8Array> {
  const ports = { sourcePort: 4_000, destinationPort: 80, sequence: 77, acknowledgement: 99 };
  for (const letters of ['FA', 'R', 'RA', '', 'SF', 'FP', 'SR'])
    yield tcp({ source, destination, ...ports, flags: flagsOf(letters) });
  const payload = new Uint8Array([0x0f, 0xa1, 0, 80, 0, 3, 0, 0]);
  yield ip({ source, destination, protocol: 17, payload });
  // To the kernel a neighbour's question belongs to no connection at all.
  if (source.includes(':'))
    yield ip({
      source,
      destination,
      protocol: 58,
      payload: new Uint8Array([133, 0, 0, 0, 0, 0, 0, 0]),
    });
}

test.serial('nothing leaves with an inner address', async (t) => {
  const { alice, lan, postern, person } = await scene(t, 'ki');
  const { ipv4, ipv6 } = person.device;
  const inner = await listenForInner(lan);
  await inject(alice, untranslatable(String(ipv4), LAN4));
  await inject(alice, untranslatable(String(ipv6), LAN6));
  await sleep(300);
  t.is((await inner.end()).trim(), '');
  await until(
    'it is counted',
    async () => (await counted(postern, dropped, { reason: 'kernel_untranslatable' })) >= 4,
    METRICS_MS,
  );
});

test.serial('one device leaves room in the kernel’s table', async (t) => {
  const { alice, bob, lan, gateway, postern, person } = await scene(t, 'kt');
  const { ipv4, ipv6 } = person.device;
  // A helper outside answers, so that the kernel takes each connection for a good one.
  const echo = new Traffic(lan, 'echo', 7, LAN4, LAN6);
  await echo.ready();
  const connections = async (): Promise<number> => {
    const { stdout } = await gateway.run('cat', '/proc/sys/net/netfilter/nf_conntrack_count');
    return Number(stdout);
  };
  const flows = function* (source: string, destination: string): Generator<Uint8Array> {
    for (let i = 0; i < FLOWS; i++)
      yield udp({ source, destination, sourcePort: 10_000 + i, destinationPort: 7, data: 'x' });
  };
  // A busy machine loses some of them; they are sent again.
  let after4 = 0;
  for (let tries = 0; tries < 10 && after4 < MAX_FLOWS_PER_PEER * 0.9; tries++) {
    await inject(alice, flows(String(ipv4), LAN4));
    after4 = await connections();
  }
  t.true(after4 >= MAX_FLOWS_PER_PEER * 0.9 && after4 < MAX_FLOWS_PER_PEER + 100, `${after4}`);
  await inject(alice, flows(String(ipv6), LAN6));
  const after6 = await connections();
  t.true(after6 < 2 * MAX_FLOWS_PER_PEER + 100, `${after6}`);
  await until(
    'it is counted',
    async () => (await counted(postern, dropped, { reason: 'kernel_too_many_flows' })) >= 1_000,
    METRICS_MS,
  );
  t.true((await counted(postern, 'wg_gateway_kernel_connections')) >= MAX_FLOWS_PER_PEER * 0.9);
  t.true((await counted(postern, 'wg_gateway_kernel_connections_max')) > 0);
  t.false(await canPing(alice, LAN4), 'it has what it may');
  await enrol(postern, bob, 'b@example.test', `${GATEWAY4_BOB}:51820`);
  t.is((await traffic(bob, 'ask', LAN4, 7, 100, 20))['answered'], 20, 'others have room');
  t.false(await canReach(bob, LAN4, 9));
});
