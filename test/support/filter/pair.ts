// The filter and a slow twin side by side, which take the same steps of a course.

import type { ReasonName } from '../../../dataplane/reasons.ts';
import { bytesOf, errorOf, rulesOf, type Step, turned } from './courses.ts';
import { type Described, SlowTracker } from './slow-filter.ts';
import { Bench } from './tracking.ts';
import { withoutNulls } from './without-nulls.ts';

/**
 * Room for more flows than a course has packets: each restart makes the tables anew, and with more
 * room a course would spend most of its time on that.
 */
const ROOM = { capacity: 512, ended: { capacity: 512, share: 512 } };

/** Both filters side by side. */
export class Pair {
  readonly bench: Bench;
  readonly slow: SlowTracker;
  readonly seen: Described[] = [];
  /** How often what happened. */
  readonly met = new Map<string, number>();
  #ruleNumber = 0;
  #isBatch = false;

  constructor(defaultAction: 'accept' | 'drop') {
    this.bench = new Bench({ default: defaultAction, ...ROOM });
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
        bench.tracker.join(step.peer, slow.groups.get(step.scope) ?? '');
        slow.move(step.peer, step.scope);
        return null;
      case 'join':
        for (const [peer, scope] of slow.scopes)
          if (scope === step.scope) bench.tracker.join(peer, step.groups);
        slow.join(step.scope, step.groups);
        return null;
      case 'forget':
        bench.tracker.forgetAddress(step.peer, step.family);
        slow.forget(step.peer, step.family);
        return null;
      case 'restart':
        slow.now = bench.now;
        slow.restart();
        bench.restart([...slow.scopes.values()]);
        for (const [peer, scope] of slow.scopes)
          bench.tracker.join(peer, slow.groups.get(scope) ?? '');
        return null;
    }
  }

  #meet(packet: Described, reason: ReasonName): void {
    const meet = (what: string): void => this.#count(what);
    meet(reason);
    const alone = this.slow.byRules(packet);
    if (reason === 'none' && alone !== 'none') meet('freed');
    if (reason !== 'none' && packet.from === 'tun') meet('refused');
  }

  #count(what: string): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1);
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
    const { rules, staged = [] } = wanted;
    if (staged.length > 0) this.#count(reason === 'none' ? 'staged' : 'staged and refused');
    const isOnce = (ids: readonly string[]): boolean =>
      hits.filter(({ id }) => ids.includes(id)).length === Math.min(1, ids.length);
    const isCounted = hits.every(({ id }) => rules.includes(id) || staged.includes(id));
    if (reason === wanted.reason && isCounted && isOnce(rules) && isOnce(staged)) return null;
    return JSON.stringify({ packet, reason, hits, wanted });
  }
}
