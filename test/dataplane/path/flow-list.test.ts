// The list of live flows: in any course of packets, rules and changes it is what a slow twin says,
// and several workers list what one lists. Pages, filters and parts lose no flow and list none
// twice.

import test, { type ExecutionContext } from 'ava';
import { FLOWS_LOOKED_AT_PER_PART, MAX_LISTED_PER_PART } from '../../../dataplane/constants.ts';
import {
  FlowList,
  type FlowPage,
  type FlowPlace,
  type FlowQuery,
  type LiveFlow,
} from '../../../dataplane/path/flow-list.ts';
import { OverQuota } from '../../../dataplane/path/over-quota.ts';
import type { KnownPeer } from '../../../dataplane/wireguard/known-peer.ts';
import { coursesOf, peerAddresses } from '../../support/filter/courses.ts';
import { Pair } from '../../support/filter/pair.ts';
import { Scene } from '../../support/filter/scene.ts';
import type { Side } from '../../support/filter/slow-filter.ts';
import { Bench, SYN } from '../../support/filter/tracking.ts';
import { address, tcp, udp, viewOf } from '../../support/dataplane/packets.ts';
import { rule, SEEDED } from '../../support/dataplane/simulation.ts';

const EVERYTHING: FlowQuery = { device: null, scope: null, destination: null, rule: null };
const KEYS = ['zero', 'one', 'two'];
/** 10.0.0.1 as a word. */
const GATEWAY = 0x0a000001;

/** The list of a tracker whose peers are named by their slots. */
function listOf({ tracker }: Bench, overQuota = new OverQuota()): FlowList {
  const known = KEYS.map((id, slot) => ({ id, slot, isHere: true }) as unknown as KnownPeer);
  const tunnel = {
    known: (key: string) => known[KEYS.indexOf(key)],
    atSlot: (slot: number) => known[slot] ?? null,
  };
  const sanity = {
    isGateway: (version: number, [word]: readonly number[]) => version === 4 && word === GATEWAY,
  };
  return new FlowList({ tracker, tunnel, overQuota, sanity });
}

function allOf(bench: Bench, query: Partial<FlowQuery> = {}): LiveFlow[] {
  const list = listOf(bench);
  const flows: LiveFlow[] = [];
  bench.tracker.setTime(bench.now, 0);
  for (let from: number | null = 1; from !== null;) {
    const wallMs = bench.now + 500;
    const part: ReturnType<FlowList['part']> = list.part(
      { ...EVERYTHING, ...query },
      from,
      1_000,
      bench.now,
      wallMs,
    );
    refuseLongPart(part.found);
    flows.push(...part.found);
    from = part.next;
  }
  return flows;
}

function refuseLongPart(found: readonly LiveFlow[]): void {
  if (found.length > MAX_LISTED_PER_PART) throw new Error(`${found.length} flows in one part`);
}

const keyOf = (side: Side): string | null => (side === 'tun' ? null : KEYS[side]!);

/** What both say of a flow, without the rule: several rules may mean the same. */
function lineOf(flow: LiveFlow): string {
  const { by: _by, rule: _rule, sentBytes: _sent, replyBytes: _reply, ...rest } = flow;
  return JSON.stringify(rest);
}

function slowLines({ slow, bench }: Pair): string[] {
  slow.now = bench.now;
  return slow
    .live()
    .map(({ flow }) => {
      const { packet, opener, target } = flow;
      const hasPorts = packet.protocol === 6 || packet.protocol === 17;
      return JSON.stringify({
        opener: keyOf(opener),
        target: keyOf(target),
        source: packet.source,
        destination: packet.destination,
        protocol: packet.protocol,
        sourcePort: hasPorts ? packet.sourcePort : null,
        destinationPort: hasPorts ? packet.destinationPort : null,
        isAnswered: flow.replied,
        sentPackets: flow.sent,
        replyPackets: flow.replies,
        openedMs: flow.openedAt + 500,
        latestMs: flow.latestAt + 500,
      });
    })
    .toSorted();
}

test('in any course the list is what the slow twin says', (t) => {
  const met = { flows: 0, byRule: 0, byDefault: 0, byNothing: 0 };
  for (const [run, steps] of coursesOf(260).entries()) {
    const pair = new Pair(run % 2 === 0 ? 'accept' : 'drop');
    for (const [i, step] of steps.entries()) {
      if (pair.take(step) !== null) return t.fail(`seed ${SEEDED.seed}, run ${run}, step ${i}`);
      if (i % 5 !== 0) continue;
      const listed = allOf(pair.bench);
      const where = `seed ${SEEDED.seed}, run ${run}, step ${i}`;
      t.deepEqual(listed.map(lineOf).toSorted(), slowLines(pair), where);
      const decided = new Set(pair.slow.live().flatMap(({ rules }) => rules));
      for (const { by, rule, opener } of listed) {
        t.is(by === 'nothing', opener === null, where);
        t.is(rule !== null, by === 'rule', where);
        if (rule !== null) t.true(decided.has(rule), where);
        met.flows++;
        if (by === 'rule') met.byRule++;
        else if (by === 'default') met.byDefault++;
        else met.byNothing++;
      }
    }
  }
  t.log(met);
  for (const count of Object.values(met)) t.true(count > 100);
});

test('a quota stops the flows of its owner, but for those with the gateway itself', (t) => {
  const bench = new Bench();
  const ports = { sourcePort: 1_024, destinationPort: 53 };
  const to = (source: string, destination: string) => udp({ source, destination, ...ports });
  bench.judge(to('10.0.0.2', '192.0.2.1'));
  bench.judge(to('10.0.0.2', '10.0.0.1'));
  bench.judge(to('10.0.0.3', '10.0.0.2'));
  bench.judge(to('10.0.0.3', '192.0.2.1'));
  const overQuota = new OverQuota();
  const list = listOf(bench, overQuota);
  const listed = (): string[] =>
    list
      .part(EVERYTHING, 1, 100, bench.now, 0)
      .found.map(({ source, destination }) => `${source} ${destination}`);
  const ends = (after: [slot: number, isOver: boolean][]): string[] => {
    const trial = { rules: { ends: () => false }, overQuota: new Map(after) };
    const { count, found } = list.ended(trial, 1, 100, bench.now, 0);
    t.is(count, found.length);
    return found.map(({ source, destination }) => `${source} ${destination}`);
  };
  const stopped = ['10.0.0.2 192.0.2.1', '10.0.0.3 10.0.0.2'];
  const others = ['10.0.0.2 10.0.0.1', '10.0.0.3 192.0.2.1'];
  t.deepEqual(listed().toSorted(), [...stopped, ...others].toSorted());
  t.deepEqual(ends([]), []);
  t.deepEqual(ends([[0, true]]), stopped);
  overQuota.set(0, true);
  t.deepEqual(listed(), others);
  t.deepEqual(ends([[0, true]]), [], 'they pass no more');
  t.deepEqual(ends([[1, true]]), ['10.0.0.3 192.0.2.1']);
  t.deepEqual(ends([[0, false]]), []);
});

test('each filter leaves the flows that it says', (t) => {
  let compared = 0;
  for (const [run, steps] of coursesOf(20).entries()) {
    const pair = new Pair(run % 2 === 0 ? 'accept' : 'drop');
    for (const step of steps) pair.take(step);
    const { bench } = pair;
    const all = allOf(bench);
    const compare = (query: Partial<FlowQuery>, isAsked: (flow: LiveFlow) => boolean): void => {
      t.deepEqual(allOf(bench, query), all.filter(isAsked));
      compared += all.filter(isAsked).length;
    };
    compare({ device: 'one' }, ({ opener, target }) => opener === 'one' || target === 'one');
    compare({ device: 'nobody' }, () => false);
    const scopeOf = (key: string | null): string | null =>
      key === null ? null : bench.tracker.scopeOf(KEYS.indexOf(key));
    for (const scope of ['0', '1', '2'])
      compare(
        { scope },
        ({ opener, target }) => scopeOf(opener) === scope || scopeOf(target) === scope,
      );
    const network = (text: string, prefixBits: number): Partial<FlowQuery> => ({
      destination: { network: address(text), prefixBits },
    });
    compare(network('10.0.0.9', 24), ({ destination }) => destination.startsWith('10.0.0.'));
    compare(network('192.0.2.1', 32), ({ destination }) => destination === '192.0.2.1');
    compare(network('fd00::', 64), ({ destination }) => destination.startsWith('fd00:'));
    compare(network('::', 0), ({ destination }) => destination.includes(':'));
    for (const rule of new Set(all.map((flow) => flow.rule)))
      if (rule !== null) compare({ rule }, (flow) => flow.rule === rule);
    compare({ rule: 'none has it' }, () => false);
  }
  t.true(compared > 100);
});

test('bytes are those inside the tunnel, each way', (t) => {
  const bench = new Bench();
  const ask = { source: '10.0.0.2', destination: '192.0.2.1', sourcePort: 40, destinationPort: 53 };
  bench.judge(udp({ ...ask, data: 'question' }));
  bench.now += 10;
  const answer = { source: '192.0.2.1', destination: '10.0.0.2', sourcePort: 53 };
  for (const data of ['one answer', 'another'])
    bench.judge(udp({ ...answer, destinationPort: 40, data }));
  const [flow, ...others] = allOf(bench);
  t.deepEqual(others, []);
  t.like(flow, { sentPackets: 1, sentBytes: 28 + 8, replyPackets: 2, replyBytes: 56 + 17 });
  t.is(flow!.latestMs - flow!.openedMs, 10);
});

test('what rules refuse by now is not listed, and is again when they let it pass', (t) => {
  const bench = new Bench();
  bench.judge(tcp({ source: '10.0.0.2', destination: '192.0.2.1', flags: SYN }));
  t.is(allOf(bench).length, 1);
  bench.filter.setDefault('drop');
  t.deepEqual(allOf(bench), []);
  bench.filter.setDefault('accept');
  t.is(allOf(bench).length, 1);
  bench.tracker.forgetAddress(0, 4);
  t.deepEqual(allOf(bench), []);
});

test('a part looks at a limited number of flows, and asking changes none', (t) => {
  const bench = new Bench({ capacity: 8_192, quota: 8_192 });
  const count = 3 * FLOWS_LOOKED_AT_PER_PART;
  const packet = udp({ source: '10.0.0.2', destination: '192.0.2.1', destinationPort: 53 });
  for (let i = 0; i < count; i++) {
    viewOf(packet).setUint16(20, 1_024 + i);
    bench.judge(packet);
  }
  const list = listOf(bench);
  const nothing = { ...EVERYTHING, rule: 'none has it' };
  const nexts: (number | null)[] = [];
  for (let from: number | null = 1; from !== null; nexts.push(from))
    from = list.part(nothing, from, 1_000, bench.now, bench.now).next;
  t.deepEqual(nexts, [...[1, 2].map((n) => n * FLOWS_LOOKED_AT_PER_PART + 1), null]);
  const part = list.part(EVERYTHING, 1, 1_000, bench.now, bench.now);
  t.is(part.found.length, MAX_LISTED_PER_PART);
  t.is(part.next, MAX_LISTED_PER_PART + 1);
  t.is(list.part(EVERYTHING, 1, 3, bench.now, bench.now).next, 4);
  t.is(bench.tracker.flows.live, count);
});

// ---- several workers -------------------------------------------------------------------------

async function listed(scene: Scene, limit: number): Promise<LiveFlow[]> {
  const flows: LiveFlow[] = [];
  let from: FlowPlace | null = null;
  do {
    const page: FlowPage = await scene.gateway.ask('flows', EVERYTHING, limit, from);
    if (page.flows.length > limit) throw new Error('a page is too long');
    flows.push(...page.flows);
    from = page.next;
  } while (from !== null);
  return flows;
}

/** Flows as text, without times and counts; which rule decided of several is left open. */
function linesOf(flows: readonly LiveFlow[]): string[] {
  return flows
    .map(({ opener, target, source, destination, protocol, sourcePort, destinationPort }) =>
      [opener, target, source, destination, protocol, sourcePort, destinationPort].join(' '),
    )
    .toSorted();
}

for (const workers of [2, 5])
  test(`${workers} workers list each flow once, as one worker does`, async (t: ExecutionContext) => {
    let compared = 0;
    for (const [run, steps] of coursesOf(12).entries()) {
      const one = new Scene(1, 0);
      const several = new Scene(workers, workers);
      for (const [i, step] of steps.entries()) {
        one.take(step);
        several.take(step);
        if (i % 10 !== 0) continue;
        const [wanted, found] = [await listed(one, 1_000), await listed(several, 3)];
        // Between devices of two workers, one may have forgotten what the other remembers.
        const isApart = ({ opener, target }: LiveFlow): boolean =>
          opener !== null && target !== null;
        const where = `seed ${SEEDED.seed}, run ${run}, step ${i}`;
        const apart = (flows: readonly LiveFlow[]): string[] => linesOf(flows.filter(isApart));
        const rest = (flows: readonly LiveFlow[]): string[] =>
          linesOf(flows.filter((flow) => !isApart(flow)));
        t.deepEqual(rest(found), rest(wanted), where);
        t.is(new Set(apart(found)).size, apart(found).length, where);
        compared += found.length;
      }
    }
    t.true(compared > 50);
  });

for (const workers of [1, 2])
  test(`workers: ${workers}: a flow between devices is listed once, with both ways`, async (t) => {
    const scene = new Scene(workers, 1);
    const [alice, bob] = scene.clients.map(({ key }) => key);
    const send = (from: 0 | 1, to: 0 | 1, data: string): void => {
      const [source, destination] = [peerAddresses[4][from]!, peerAddresses[4][to]!];
      scene.clients[from]!.send(
        udp({ source, destination, sourcePort: 40, destinationPort: 40, data }),
      );
      scene.world.run(100);
    };
    send(0, 1, 'one');
    send(1, 0, 'seven');
    send(1, 0, 'eight');
    const [flow, ...others] = await listed(scene, 10);
    t.deepEqual(others, []);
    t.like(flow, {
      opener: alice!,
      target: bob!,
      isAnswered: true,
      by: 'default',
      rule: null,
      sentPackets: 1,
      sentBytes: 31,
      replyPackets: 2,
      replyBytes: 66,
    });
    t.true(flow!.latestMs >= flow!.openedMs + 200);
    t.is(flow!.latestMs, scene.world.wallMs - 100 + scene.world.link.delayMs);
  });

for (const workers of [1, 2, 5])
  test(`workers: ${workers}: flows of a device that went to another gateway are not listed`, async (t) => {
    const scene = new Scene(workers, 1);
    const [alice, bob] = scene.clients.map(({ key }) => key);
    const addresses = peerAddresses[4];
    for (const [i, client] of scene.clients.entries())
      client.send(udp({ source: addresses[i]!, destination: '192.0.2.1', destinationPort: 53 }));
    scene.gateway.send(
      udp({ source: '192.0.2.2', destination: addresses[0]!, destinationPort: 40 }),
    );
    scene.world.run(100);
    const openers = async (): Promise<string[]> =>
      (await listed(scene, 10)).map(({ opener }) => opener ?? 'a host').toSorted();
    const ended = async (): Promise<readonly string[]> => {
      const dropAll = [rule('x', 'drop', '0.0.0.0/0')];
      const amendment = { peers: new Map(), rules: new Map([['', new Map([['x', dropAll]])]]) };
      const { count, devices } = (await scene.gateway.ask('effectOf', amendment, 10)).ended;
      t.is(count, devices.length);
      return devices.toSorted();
    };
    const everyone = scene.clients.map(({ key }) => key).toSorted();
    t.deepEqual(await openers(), [...everyone, 'a host'].toSorted());
    t.deepEqual(await ended(), everyone);

    scene.gateway.release(new Map([[alice!, scene.world.wallMs + 1]]));
    const others = everyone.filter((key) => key !== alice);
    t.deepEqual(await openers(), others);
    t.deepEqual(await ended(), others);
    t.is(
      (await scene.gateway.ask('flows', { ...EVERYTHING, device: bob! }, 10, null)).flows.length,
      1,
    );

    // It comes back, and its flows go on.
    scene.world.run(10_000);
    scene.connect(0);
    t.deepEqual(await openers(), [...everyone, 'a host'].toSorted());
    t.deepEqual(await ended(), everyone);
  });
