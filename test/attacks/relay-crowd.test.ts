// A gateway without root has two files open for each TCP connection of a device, and an ordinary user
// may have 1,024 files open. A device opens 1,024 connections, which need twice as many files, to a
// host that never reads, and keeps them. This once ended the gateway, and later held up its stop.

import test from 'ava';
import { until } from '../support/gateway/postern.ts';
import { buildRootless } from '../support/gateway/rootless.ts';
import {
  canPing,
  canReach,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  Traffic,
  TUNNEL4,
} from '../support/network/topology.ts';
import { enrol } from '../e2e/people.ts';

const FILES = 1_024;
const CROWD = 1_024;
const PORT = 7_501;
const OTHER_PORT = 7_502;
/** The gateway waits for nothing of a device when it stops. */
const STOP_MS = 5_000;

test.serial('a device that opens more connections than there may be files', async (t) => {
  const limit = ['prlimit', `--nofile=${FILES}:${FILES}`];
  const { topology, postern } = await buildRootless(t, 'rc', { limit });
  const { lan } = topology;
  await postern.start();
  t.teardown(() => postern.stop());
  t.regex(postern.output, /ulimit -n/);
  const mallory = await enrol(postern, topology.alice, 'm@example.test', `${GATEWAY4}:51820`);
  const bob = await enrol(postern, topology.bob, 'b@example.test', `${GATEWAY4_BOB}:51820`);
  for (const { client } of [mallory, bob])
    await until('connected', () => canPing(client.host, TUNNEL4), 15_000);
  await new Traffic(lan, 'listen', PORT).ready();
  await new Traffic(lan, 'accept', OTHER_PORT).ready();

  const crowd = new Traffic(mallory.client.host, 'crowd', LAN4, PORT, CROWD);
  const { opened, ended } = await crowd.line((line) => 'opened' in line);
  t.true(Number(opened) > 0, `${String(opened)} opened`);
  t.true(Number(ended) >= CROWD / 2, `${String(ended)} of ${CROWD} ended again`);
  t.is((await postern.readiness()).status, 'ready');
  t.true(await canReach(bob.client.host, LAN4, OTHER_PORT), 'others have room');
  const counted = async (): Promise<number> =>
    Number(/reason="relay_full"\} (\d+)/.exec(await postern.metrics())?.[1] ?? 0);
  await until('the rest is counted', async () => (await counted()) >= CROWD / 2, 10_000);

  const began = performance.now();
  await postern.stop();
  t.true(performance.now() - began < STOP_MS, 'the stop waits for none of them');
  t.regex(postern.output, /Postern has stopped/);
});
