// A gateway at rest: one device that is connected and sends nothing, and nobody who asks. How often
// its threads wake and how much they compute, before and after a scrape of /metrics. Other work on
// the machine makes neither more, but V8 still compiles for some time after a start: so the quietest
// of some times counts.

import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { Postern } from '../support/gateway/postern.ts';
import { workOf } from '../support/suite/work.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
} from '../support/network/topology.ts';
import { enrol } from './people.ts';

/** About twice what it takes, so that a timer of a quarter of a second is found. */
const WAKES_MAX = 9;
/** Per cent of a core; three times what it takes on a machine that is busy. */
const CPU_MAX = 0.8;
const LOOK_S = 10;
const LOOKS_MAX = 9;

/** Looks until a time is as quiet as it must be; fails if none is. */
async function isAtRest(t: ExecutionContext, { pid }: Postern, when: string): Promise<void> {
  const seen: string[] = [];
  for (let i = 0; i < LOOKS_MAX; i += 1) {
    const [before, began] = [workOf(pid), performance.now()];
    await sleep(LOOK_S * 1_000);
    const after = workOf(pid);
    const seconds = (performance.now() - began) / 1_000;
    const wakes = (after.wakes - before.wakes) / seconds;
    const cpu = (100 * (after.cpuSeconds - before.cpuSeconds)) / seconds;
    seen.push(`${wakes.toFixed(1)} wakes a second, ${cpu.toFixed(2)} % of a core`);
    if (wakes <= WAKES_MAX && cpu <= CPU_MAX) break;
  }
  t.log(when, seen.at(-1));
  t.true(seen.length < LOOKS_MAX, `${when}: ${seen.join('; ')}`);
}

test.serial('a gateway with a silent device seldom wakes, also after a scrape', async (t) => {
  t.timeout(300_000);
  const topology = await buildTopology('re');
  t.teardown(() => topology.network.remove());
  const postern = new Postern(topology.gateway, API_ADDRESS, {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
  });
  await postern.start();
  t.teardown(() => postern.stop());
  const endpoint = `${GATEWAY4}:51820`;
  const alice = await enrol(postern, topology.alice, 'a@example.test', endpoint, 0);
  t.teardown(() => alice.client.stop());
  t.true(await canPing(alice.client.host, LAN4));
  await isAtRest(t, postern, 'before a scrape');
  t.regex(await postern.metrics(), /^nodejs_eventloop_lag_max_seconds /m);
  await isAtRest(t, postern, 'after a scrape');
  t.true(await canPing(alice.client.host, LAN4), 'and it serves');
});
