// A graceful restart, as an upgrade does it, with a client that only goes on with what it did. The
// gateway calls it as soon as the rules are in force, so what it waits is what one process takes to
// stop and the next to get there. What people and requests need may take longer. The client knows a
// second address of the gateway, and a firewall keeps away what comes from the other one.

import { availableParallelism } from 'node:os';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { Postern } from '../support/gateway/postern.ts';
import { measureSlowness } from '../support/suite/slowness.ts';
import { NFT } from '../support/network/capture.ts';
import { buildTopology, canPing, GATEWAY4, LAN4, Traffic } from '../support/network/topology.ts';
import { enginesOfRun } from '../support/gateway/engines.ts';
import { enrol } from './people.ts';

const API = '10.255.74';
const SECOND4 = '192.0.2.9';
const FIREWALL = `table ip firewall {
  chain input { type filter hook input priority 0; ip saddr ${GATEWAY4} drop; }
}`;
const BEACON_MS = 5;
/** So many restarts at most, until one is in time. */
const ROUNDS = 3;
/** What a client may wait, on a quiet machine. */
const SILENT_MS = 1_500;
const WORKERS = Number(process.env['WORKERS'] ?? 1);
const CORES = availableParallelism();
/** Workers for each core, where there are more of them than cores: they start one after the other. */
const CROWDED = Math.max(1, WORKERS / CORES);
/** How long a handshake and its packets may take after the gateway is ready. */
const LATE_MS = 500;

for (const engine of enginesOfRun)
  test.serial(`${engine}: a running client is served again at once`, async (t) => {
    t.timeout(180_000);
    const topology = await buildTopology('gr', API);
    t.teardown(() => topology.network.remove());
    const postern = new Postern(topology.gateway, `${API}.2`, { DATAPLANE_ENGINE: engine });
    await postern.start();
    t.teardown(() => postern.stop());
    await topology.gateway.ip('address', 'add', `${SECOND4}/24`, 'dev', 'g0');
    // The sockets of Node do not say to which address a datagram came.
    const known = engine === 'native' ? SECOND4 : GATEWAY4;
    if (known === SECOND4) await topology.alice.run(NFT, FIREWALL);
    const alice = await enrol(postern, topology.alice, 'a@example.test', `${known}:51820`);
    const { host } = alice.client;
    t.true(await canPing(host, LAN4));
    const watch = await new Traffic(topology.lan, 'watch', 7100, LAN4).ready();
    const beacon = new Traffic(host, 'beacon', 7100, BEACON_MS, LAN4);
    const waits: number[] = [];
    const limits: number[] = [];
    const isInTime = (): boolean => waits.some((waitMs, round) => waitMs <= limits[round]!);
    for (let round = 0; round < ROUNDS && !isInTime(); round++) {
      await watch.line((line) => Number(line['at']) > 0);
      // The gateway has to have seen where the device is.
      await sleep(2_000);
      await postern.stop();
      const stoppedAt = Date.now();
      const starting = postern.start();
      const { at } = await watch.line((line) => Number(line['at']) > stoppedAt);
      const startMs = await starting;
      const last = watch.lines.findLast((line) => Number(line['at']) <= stoppedAt);
      const silentMs = Number(at) - Number(last?.['at']);
      const lateMs = Number(at) - (stoppedAt + startMs);
      // Others on this machine are no error of the gateway.
      const slowness = await measureSlowness(Math.min(WORKERS, CORES));
      waits.push(silentMs);
      limits.push(SILENT_MS * CROWDED * slowness);
      t.log({ silentMs, slowness, startMs, lateMs });
      t.true(lateMs < LATE_MS, `${lateMs} ms after it was ready`);
    }
    t.true(isInTime(), `${waits.join(', ')} ms, where ${limits.join(', ')} ms are allowed`);
    await beacon.stop();
    await watch.stop();
  });
