// A graceful restart, as an upgrade does it, with a client that only goes on with what it did: it is
// served again by the time that the gateway says it is ready, because the gateway calls it. So what
// it waits is what the process takes to stop and to start, which is in the log of this test.

import test from 'ava';
import { Postern } from '../support/postern.ts';
import { buildTopology, canPing, GATEWAY4, LAN4, Traffic } from '../support/topology.ts';
import { enrol } from './people.ts';

const API = '10.255.74';
const BEACON_MS = 5;
const ROUNDS = 3;
/** A handshake and its packets on a machine that is busy. */
const LATE_MS = 500;

test.serial('a running client is served again once the gateway is ready', async (t) => {
  t.timeout(180_000);
  const topology = await buildTopology('gr', API);
  t.teardown(() => topology.network.remove());
  const postern = new Postern(topology.gateway, `${API}.2`);
  await postern.start();
  t.teardown(() => postern.stop());
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  const { host } = alice.client;
  t.true(await canPing(host, LAN4));
  const watch = await new Traffic(topology.lan, 'watch', 7100, LAN4).ready();
  const beacon = new Traffic(host, 'beacon', 7100, BEACON_MS, LAN4);
  for (let round = 0; round < ROUNDS; round++) {
    await watch.line((line) => Number(line['at']) > 0);
    // The gateway has to have seen where the device is.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await postern.stop();
    const stoppedAt = Date.now();
    const startMs = await postern.start();
    const { at } = await watch.line((line) => Number(line['at']) > stoppedAt);
    const last = watch.lines.findLast((line) => Number(line['at']) <= stoppedAt);
    const silentMs = Number(at) - Number(last?.['at']);
    const lateMs = Number(at) - (stoppedAt + startMs);
    t.log({ silentMs, startMs: Math.round(startMs), lateMs: Math.round(lateMs) });
    t.true(lateMs < LATE_MS, `${lateMs} ms after it was ready`);
  }
  await beacon.stop();
  await watch.stop();
});
