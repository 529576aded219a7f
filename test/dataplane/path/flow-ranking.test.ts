// The ranking of flows: in any table, over any number of parts, the first are those that carried
// most since the last look; no part looks at more flows than it may.

import test from 'ava';
import { FLOWS_RANKED, FLOWS_RANKED_PER_PART } from '../../../dataplane/constants.ts';
import {
  FlowRanking,
  type Ranked,
  type RankedFlows,
} from '../../../dataplane/path/flow-ranking.ts';
import { chance } from '../../support/dataplane/simulation.ts';

/** Flows by number; what is not said of one is 0. */
class Table implements RankedFlows {
  readonly capacity = 20_000;
  used = 0;
  readonly carried = new Map<number, { bytes: number; openedAt: number; latestAt: number }>();
  readonly hidden = new Set<number>();
  looks = 0;
  judged = 0;

  set(flow: number, bytes: number, openedAt = 0, latestAt = openedAt): void {
    this.carried.set(flow, { bytes, openedAt, latestAt });
    this.used = Math.max(this.used, flow);
  }

  readonly isAsked = (flow: number): boolean => {
    this.looks++;
    return this.carried.has(flow);
  };
  readonly mayBeListed = (flow: number): boolean => {
    this.judged++;
    return !this.hidden.has(flow);
  };
  readonly bytes = (flow: number): number => this.carried.get(flow)?.bytes ?? 0;
  readonly openedAt = (flow: number): number => this.carried.get(flow)?.openedAt ?? 0;
  readonly latestAt = (flow: number): number => this.carried.get(flow)?.latestAt ?? 0;
}

function look(ranking: FlowRanking, table: Table, now: number): readonly Ranked[] {
  for (let from = 1; ;) {
    table.looks = 0;
    const { found, next } = ranking.part(table, from, now);
    if (table.looks > FLOWS_RANKED_PER_PART) throw new Error(`${table.looks} in one part`);
    if (next === null) return found;
    from = next;
  }
}

test('the first are those that carried most since the last look', (t) => {
  const draw = chance(7);
  const drawn = new Uint32Array(1);
  const random = (below: number): number => {
    draw(new Uint8Array(drawn.buffer));
    return (drawn[0] ?? 0) % below;
  };
  const table = new Table();
  const ranking = new FlowRanking();
  for (let flow = 1; flow <= 10_000; flow++) if (random(3) > 0) table.set(flow, random(1_000_000));
  look(ranking, table, 1_000);
  for (let at = 2_000; at < 8_000; at += 1_000) {
    const rates = new Map<number, number>();
    for (const [flow, { bytes }] of table.carried) {
      const more = random(4) === 0 ? random(50_000) : 0;
      table.set(flow, bytes + more, 0, at);
      if (random(9) === 0) table.hidden.add(flow);
      if (!table.hidden.has(flow)) rates.set(flow, more);
    }
    const found = look(ranking, table, at);
    const best = [...rates.values()].toSorted((a, b) => b - a).slice(0, FLOWS_RANKED);
    t.deepEqual(
      found.map(({ rate }) => rate),
      best,
    );
    for (const { flow, rate } of found) t.is(rates.get(flow), rate);
    t.is(found.length, FLOWS_RANKED);
    t.true((found.at(-1)?.rate ?? 0) > 1_000, 'so many carry something');
  }
  t.is(look(new FlowRanking(), new Table(), 0).length, 0, 'no flow at all');
});

test('a look costs few verdicts, and idle flows come last, the latest first', (t) => {
  const table = new Table();
  const ranking = new FlowRanking();
  for (let flow = 1; flow <= 50; flow++) table.set(flow, 0, 0, flow);
  table.set(20, 4_000, 0, 20);
  const [first, second, third] = look(ranking, table, 2_000);
  t.like(first, { flow: 20, rate: 2_000 });
  t.deepEqual([second?.flow, third?.flow], [50, 49]);
  const many = new Table();
  for (let flow = 1; flow <= 10_000; flow++) many.set(flow, 20_000_000 - flow);
  look(new FlowRanking(), many, 2_000);
  t.is(many.judged, FLOWS_RANKED);
});

test('a flow that has the number of another one begins with nothing', (t) => {
  const table = new Table();
  const ranking = new FlowRanking();
  table.set(1, 1_000_000);
  look(ranking, table, 1_000);
  table.set(1, 3_000, 2_000);
  t.like(look(ranking, table, 3_000)[0], { rate: 3_000 });
  // Two people look shortly one after the other: both see what it carried in a second.
  table.set(1, 5_000, 2_000);
  t.like(look(ranking, table, 4_000)[0], { rate: 2_000 });
  table.set(1, 5_100, 2_000);
  t.like(look(ranking, table, 4_100)[0], { rate: 200 });
  table.set(1, 6_000, 2_000);
  t.like(look(ranking, table, 5_000)[0], { rate: 1_000 });
  // The table grows, and what was known stays known.
  table.set(9_000, 1);
  t.like(look(ranking, table, 6_000)[0], { flow: 1, rate: 0 });
});
