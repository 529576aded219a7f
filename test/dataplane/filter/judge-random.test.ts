// Random courses of packets, rules and changes, judged as by a slow twin.

import test from 'ava';
import fc from 'fast-check';
import { type ReasonName } from '../../../dataplane/reasons.ts';
import { address } from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';
import {
  anyStep,
  bytesOf,
  errorOf,
  hosts,
  rulesOf,
  type Step,
  tailOf,
  turned,
} from '../../support/filter/courses.ts';
import { type Described, SlowTracker } from '../../support/filter/slow-filter.ts';
import { withoutNulls } from '../../support/filter/without-nulls.ts';
import { Bench, peerText, sideOf } from '../../support/filter/tracking.ts';

/** Both filters side by side. */
class Pair {
  readonly bench: Bench;
  readonly slow: SlowTracker;
  readonly seen: Described[] = [];
  /** How often what happened. */
  readonly met = new Map<string, number>();
  #ruleNumber = 0;
  #isBatch = false;

  constructor(defaultAction: 'accept' | 'drop') {
    this.bench = new Bench({ default: defaultAction });
    this.slow = new SlowTracker(defaultAction);
    for (const peer of [0, 1, 2]) this.slow.scopes.set(peer, `${peer}`);
  }

  /** Takes a step with both; a text tells where they differ. */
  take(step: Step): string | null {
    const { bench, slow } = this;
    if (!('about' in step) && step.type !== 'packet') this.#isBatch = false;
    const known = 'about' in step ? this.seen.at(-1 - step.about) : undefined;
    switch (step.type) {
      case 'packet':
        return this.#judge(step.packet);
      case 'again':
        return known === undefined ? null : this.#judge(known);
      case 'back':
        return known === undefined || (known.from === 'tun' && known.to === 'tun')
          ? null
          : this.#judge(turned(known));
      case 'tail':
        return known?.fragment === 'first'
          ? this.#judge(tailOf(known, step.offset, step.header))
          : null;
      case 'error':
        return known === undefined ? null : this.#judgeError(known, step.from);
      case 'wait':
        bench.now += step.ms;
        return null;
      case 'rules': {
        const rules = rulesOf(step, this.#ruleNumber);
        this.#ruleNumber += rules.length;
        bench.rules(step.scope, ...rules);
        slow.setRules(step.scope, rules);
        return null;
      }
      case 'default':
        bench.filter.setDefault(step.action);
        slow.setDefault(step.action);
        return null;
      case 'move':
        bench.tracker.moveToScope(step.peer, step.scope);
        slow.move(step.peer, step.scope);
        return null;
      case 'forget':
        bench.tracker.forgetAddress(step.peer, step.family);
        slow.forget(step.peer, step.family);
        return null;
      case 'restart':
        slow.now = bench.now;
        slow.restart();
        bench.restart([...slow.scopes.values()]);
        return null;
    }
  }

  #meet(packet: Described, reason: ReasonName): void {
    const meet = (what: string): void => void this.met.set(what, (this.met.get(what) ?? 0) + 1);
    meet(reason);
    const alone = this.slow.byRules({ ...packet, fragment: 'whole' });
    if (reason === 'none' && alone !== 'none') meet('freed');
    if (reason !== 'none' && packet.from === 'tun') meet('refused');
    if (reason === 'none' && packet.fragment === 'later' && packet.from !== 'tun')
      if (this.slow.byRules(packet) === 'inner_fragment_unsafe') meet('followed');
  }

  #judgeError(about: Described, from: number): string | null {
    const error = errorOf(about, from);
    return error === null ? null : this.#judge(error);
  }

  #judge(packet: Described): string | null {
    this.seen.push(packet);
    const { bench, slow } = this;
    // Packets between which nothing else happens come in one batch.
    bench.keepsTurn = this.#isBatch;
    this.#isBatch = true;
    slow.now = bench.now;
    const reason = bench.judge(bytesOf(packet));
    const wanted = slow.judge(packet);
    const hits = withoutNulls(bench.filter.takeHits());
    this.#meet(packet, reason);
    const isCounted = hits.length === Math.min(1, wanted.rules.length);
    if (reason === wanted.reason && isCounted && hits.every(({ id }) => wanted.rules.includes(id)))
      return null;
    return JSON.stringify({ packet, reason, hits, wanted });
  }
}

// No shrinking: a course is a history, and the difference says what was judged in the end.
for (const defaultAction of ['accept', 'drop'] as const) {
  test(`any course of events goes as with the slow twin, where the default is ${defaultAction} at first`, (t) => {
    const courses = fc.sample(fc.array(anyStep, { minLength: 300, maxLength: 300 }), {
      ...SEEDED,
      numRuns: 400,
    });
    const met = new Map<string, number>();
    for (const [run, steps] of courses.entries()) {
      const pair = new Pair(defaultAction);
      for (const [i, step] of steps.entries()) {
        const difference = pair.take(step);
        if (difference !== null)
          return t.fail(`seed ${SEEDED.seed}, run ${run}, step ${i}: ${difference}`);
      }
      for (const [what, count] of pair.met) met.set(what, (met.get(what) ?? 0) + count);
      met.set('doubted', (met.get('doubted') ?? 0) + pair.slow.doubted);
    }
    t.log(Object.fromEntries(met));
    // The courses lead everywhere.
    const wanted = ['none', 'rule_drop', 'inner_fragment_unsafe', 'freed', 'refused', 'followed'];
    for (const what of [...wanted, 'doubted']) t.true((met.get(what) ?? 0) > 50, what);
  });
}

test('the addresses of this file are who they say', (t) => {
  t.deepEqual([sideOf('10.0.0.2'), sideOf('fd00::4'), sideOf(hosts[4][0]!)], [0, 2, 'tun']);
  t.is(peerText(address('fd00::3')), 'fd00::3');
});
