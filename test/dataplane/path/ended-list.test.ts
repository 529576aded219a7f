// The list of ended flows: the one that ended last is first; filters, parts and pages lose none and
// list none twice, also while flows go on ending; several workers list what one lists.

import test from 'ava';
import { FLOWS_LOOKED_AT_PER_PART, MAX_LISTED_PER_PART } from '../../../dataplane/constants.ts';
import {
  endedAmong,
  type EndedFlow,
  EndedList,
  type EndedPage,
  type EndedPlace,
} from '../../../dataplane/path/ended-list.ts';
import type { FlowQuery } from '../../../dataplane/path/flow-list.ts';
import type { Listed } from '../../../dataplane/path/listed.ts';
import { coursesOf, peerAddresses } from '../../support/filter/courses.ts';
import { Pair } from '../../support/filter/pair.ts';
import { Scene } from '../../support/filter/scene.ts';
import { Bench, device, exchange, host, other, SECOND } from '../../support/filter/tracking.ts';
import { address, udp, viewOf } from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

const EVERYTHING: FlowQuery = { device: null, scope: null, destination: null, rule: null };

function allOf({ tracker, now }: Bench, query: Partial<FlowQuery> = {}): EndedFlow[] {
  const list = new EndedList(tracker.ended);
  const flows: EndedFlow[] = [];
  for (let before: number | null = Infinity; before !== null;) {
    const asked = { ...EVERYTHING, ...query };
    const part: Listed<EndedFlow> = list.part(asked, before, 1_000, now, now + 500);
    if (part.found.length > MAX_LISTED_PER_PART) throw new Error('a part is too long');
    flows.push(...part.found);
    before = part.next;
  }
  return flows;
}

test('a flow is listed with all that is known of it', (t) => {
  const bench = new Bench();
  const { ask, answer } = exchange(device, other);
  bench.all(ask, answer, answer);
  bench.now += 180 * SECOND;
  bench.sweep();
  t.deepEqual(allOf(bench), [
    {
      number: 1,
      opener: '0',
      target: '1',
      source: device,
      destination: other,
      protocol: 17,
      sourcePort: 40_000,
      destinationPort: 53,
      isAnswered: true,
      by: 'default',
      rule: null,
      sentPackets: 1,
      sentBytes: ask.length,
      replyPackets: 2,
      replyBytes: 2 * answer.length,
      openedMs: 10_500,
      latestMs: 10_500,
      openerScope: '0',
      targetScope: '1',
      because: 'idle',
      endedMs: 190_500,
    },
  ]);
});

test('each filter leaves the flows that it says, in their order', (t) => {
  let compared = 0;
  for (const [run, steps] of coursesOf(40).entries()) {
    const pair = new Pair(run % 2 === 0 ? 'accept' : 'drop');
    const { bench } = pair;
    for (const step of steps) {
      pair.take(step);
      bench.sweep();
    }
    const all = allOf(bench);
    t.deepEqual(
      all.map(({ number }) => number),
      all.map((_, i) => all.length - i),
    );
    const compare = (query: Partial<FlowQuery>, isAsked: (flow: EndedFlow) => boolean): void => {
      t.deepEqual(allOf(bench, query), all.filter(isAsked));
      compared += all.filter(isAsked).length;
    };
    compare({ device: '1' }, ({ opener, target }) => opener === '1' || target === '1');
    compare({ device: 'nobody' }, () => false);
    const network = (text: string, prefixBits: number): Partial<FlowQuery> => ({
      destination: { network: address(text), prefixBits },
    });
    compare(network('10.0.0.9', 24), ({ destination }) => destination.startsWith('10.0.0.'));
    compare(network('192.0.2.1', 32), ({ destination }) => destination === '192.0.2.1');
    compare(network('::', 0), ({ destination }) => destination.includes(':'));
    for (const rule of new Set(all.map((flow) => flow.rule)))
      if (rule !== null) compare({ rule }, (flow) => flow.rule === rule);
  }
  t.log({ compared });
  t.true(compared > 100);
});

test('the owner is the one of the time when the flow ended', (t) => {
  const bench = new Bench();
  bench.judge(exchange(device, host).ask);
  bench.now += 180 * SECOND;
  bench.sweep();
  bench.tracker.moveToScope(0, 'x');
  t.is(allOf(bench, { scope: '0' }).length, 1);
  t.is(allOf(bench, { scope: '0', device: '0' }).length, 1);
  t.is(allOf(bench, { scope: '0', device: '1' }).length, 0);
  t.is(allOf(bench, { scope: 'x' }).length, 0);
});

test('a part looks at a limited number of flows', (t) => {
  const count = 3 * FLOWS_LOOKED_AT_PER_PART;
  const capacity = 8_192;
  const bench = new Bench({ capacity, quota: capacity, ended: { capacity, share: capacity } });
  const packet = udp({ source: device, destination: host, destinationPort: 53 });
  for (let i = 0; i < count; i++) {
    viewOf(packet).setUint16(20, 1_024 + i);
    bench.judge(packet);
  }
  bench.tracker.removePeer(0);
  while (bench.tracker.flows.live > 0) bench.sweep();
  const list = new EndedList(bench.tracker.ended);
  const nothing = { ...EVERYTHING, rule: 'none has it' };
  const nexts: (number | null)[] = [];
  for (let before: number | null = Infinity; before !== null; nexts.push(before))
    before = list.part(nothing, before, 1_000, 0, 0).next;
  t.deepEqual(
    nexts,
    [2, 1, 0].map((n) => (n === 0 ? null : n * FLOWS_LOOKED_AT_PER_PART + 1)),
  );
  t.is(list.part(EVERYTHING, Infinity, 1_000, 0, 0).found.length, MAX_LISTED_PER_PART);
  t.is(list.part(EVERYTHING, Infinity, 3, 0, 0).next, count - 2);
});

// ---- several workers -------------------------------------------------------------------------

/** A flow of which only its number and its time are asked. */
function flowAt(worker: number, number: number, endedMs: number): EndedFlow {
  return { number, endedMs, opener: `${worker}` } as EndedFlow;
}

test('pages join what workers say by time, and go on where they stopped', async (t) => {
  const workers = [[50, 40, 30, 20, 10], [45, 44, 43], [], [51, 5]].map((times, worker) =>
    times.map((ms, i) => flowAt(worker, times.length - i, ms)),
  );
  const ask = async (
    worker: number,
    before: number,
    limit: number,
  ): Promise<Listed<EndedFlow> | null> => {
    if (worker === 2) return null;
    const rest = workers[worker]!.filter(({ number }) => number < before);
    const found = rest.slice(0, Math.min(limit, 2));
    return { found, next: found.length === rest.length ? null : found.at(-1)!.number };
  };
  const wanted = [51, 50, 45, 44, 43, 40, 30, 20, 10, 5];
  for (let limit = 1; limit < 12; limit++) {
    const times: number[] = [];
    let place: EndedPlace | null = null;
    do {
      const page: Awaited<ReturnType<typeof endedAmong>> = await endedAmong(4, ask, limit, place);
      t.true(page.flows.length <= limit);
      if (page.next !== null) {
        t.is(page.flows.length, limit);
        // A flow that ends meanwhile is not on a later page.
        workers[1]!.unshift(flowAt(1, workers[1]!.length + 1, 99));
      }
      times.push(...page.flows.map(({ endedMs }) => endedMs));
      place = page.next;
    } while (place !== null);
    t.deepEqual(times, wanted, `limit ${limit}`);
    workers[1] = workers[1]!.filter(({ endedMs }) => endedMs !== 99);
  }
});

test('a cursor of fewer workers lists nothing of the others', async (t) => {
  const ask = async (worker: number): Promise<Listed<EndedFlow>> => ({
    found: [flowAt(worker, 1, 1)],
    next: null,
  });
  t.is((await endedAmong(2, ask, 10, [9])).flows.length, 1);
});

/** So many that no device reaches its share of the ended ones. */
const FLOWS = 65_536;

async function endedOf(scene: Scene, limit: number): Promise<EndedFlow[]> {
  const flows: EndedFlow[] = [];
  let from: EndedPlace | null = null;
  do {
    const page: EndedPage = await scene.gateway.ask('endedFlows', EVERYTHING, limit, from);
    flows.push(...page.flows);
    from = page.next;
  } while (from !== null);
  return flows;
}

/** Flows as text. Between devices of two workers, one may have forgotten what the other has not. */
function linesOf(flows: readonly EndedFlow[]): string[] {
  return flows
    .filter(({ opener, target }) => opener === null || target === null)
    .map(({ opener, target, source, destination, protocol, sourcePort, because, ...rest }) =>
      [opener, target, source, destination, protocol, sourcePort, because, rest.sentPackets].join(
        ' ',
      ),
    )
    .toSorted();
}

for (const workers of [2, 5])
  test(`${workers} workers list each ended flow once, as one worker does`, async (t) => {
    let compared = 0;
    for (const [run, steps] of coursesOf(12).entries()) {
      const one = new Scene(1, 0, false, FLOWS);
      const several = new Scene(workers, workers, false, FLOWS);
      for (const scene of [one, several]) {
        for (const step of steps) {
          scene.take(step);
          scene.world.run(10 * SECOND);
        }
        scene.world.run(3 * 3_600 * SECOND);
      }
      const [wanted, found] = [await endedOf(one, 1_000), await endedOf(several, 3)];
      t.deepEqual(linesOf(found), linesOf(wanted), `seed ${SEEDED.seed}, run ${run}`);
      t.deepEqual(
        found.map(({ endedMs }) => endedMs),
        found.map(({ endedMs }) => endedMs).toSorted((a, b) => b - a),
      );
      compared += found.length;
    }
    t.true(compared > 100, `${compared}`);
  });

for (const workers of [1, 2])
  test(`workers: ${workers}: a flow between devices has ended once, with both ways`, async (t) => {
    const scene = new Scene(workers, 1);
    const [alice, bob] = scene.clients.map(({ key }) => key);
    const send = (from: 0 | 1, to: 0 | 1): void => {
      const [source, destination] = [peerAddresses[4][from]!, peerAddresses[4][to]!];
      scene.clients[from]!.send(udp({ source, destination, sourcePort: 40, destinationPort: 40 }));
      scene.world.run(100);
    };
    send(0, 1);
    send(1, 0);
    scene.setServed(1, false);
    scene.world.run(10 * SECOND);
    const [flow, ...others] = await endedOf(scene, 10);
    t.deepEqual(others, []);
    t.like(flow, {
      opener: alice!,
      target: bob!,
      isAnswered: true,
      because: 'device_removed',
      sentPackets: 1,
      replyPackets: 1,
    });
  });
