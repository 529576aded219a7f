// What the rows of rules mean, and which changes are pending: a change that was not handed over, or
// that the data plane did not acknowledge. A rule with a start or an end is turned on and off by
// time alone.

import {
  type Amendment,
  besideScope,
  groupOfScope,
  type RuleConfig,
  stagedScope,
} from '../../dataplane/index.ts';
import type { ObeyedRule } from '../../models/index.ts';
import { type GroupNumbers, holdScope } from './group-numbers.ts';
import {
  hasTime,
  type RuleTimes,
  ruleTimes,
  type TranslatedRule,
  translateRule,
} from './translate.ts';

interface Rule extends TranslatedRule, RuleTimes {
  readonly id: string;
  readonly scope: string;
  /** Whether its start has come and its end has not. */
  isOn: boolean;
}

/** A rule in force, and its action; `isStaged`: the action that it would take. */
export interface RuleInForce {
  readonly id: string;
  readonly action: RuleConfig['action'];
  readonly isStaged: boolean;
}

/** The meaning of the rows of rules. */
export class TranslatedRules {
  readonly #numbers: GroupNumbers;
  readonly #rules = new Map<string, Rule>();
  /** The rules that have a start or an end. */
  readonly #timed = new Set<Rule>();
  /** Why rows cannot be obeyed, by their id. */
  readonly #refused = new Map<string, string>();
  /** Ids of the rules that are pending, by their scope. */
  readonly #pending = new Map<string, Set<string>>();
  /** Pending rules whose start or end has come. */
  readonly #due = new Set<Rule>();
  /** The rules that `handOverDue` gave last. */
  #handedOverDue: readonly Rule[] = [];
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #nextChangeAtMs = Number.POSITIVE_INFINITY;
  /**
   * True: time alone lets no more packets pass. On a later schema, the rows that are known here may
   * have been changed or deleted.
   */
  opensNothing = false;

  constructor(numbers: GroupNumbers) {
    this.#numbers = numbers;
  }

  /** The ids of all rules. */
  get ids(): Iterable<string> {
    return this.#rules.keys();
  }

  /** Unix time in ms at which a rule begins or ends next; infinite if none does. */
  get nextChangeAtMs(): number {
    return this.#nextChangeAtMs;
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
  }

  /** Why rows cannot be obeyed, by their id. */
  get refused(): ReadonlyMap<string, string> {
    return this.#refused;
  }

  /** The scope of a rule; undefined if there is no such rule. */
  scopeOf(id: string): string | undefined {
    return this.#rules.get(id)?.scope;
  }

  /** The rules that are in force, and what each does; `isStaged`: or would do. */
  *actions(): Generator<RuleInForce> {
    for (const [id, { rules, scope, isOn }] of this.#rules)
      if (isOn && rules[0] !== undefined)
        yield { id, action: rules[0].action, isStaged: besideScope(scope) !== null };
  }

  /** Takes a row that changed, at `nowMs` (Unix time); null: it was deleted. */
  take(id: string, row: ObeyedRule | null, nowMs: number): void {
    const before = this.#rules.get(id);
    const scope = row === null ? '' : this.#hold(row);
    if (before !== undefined) {
      const group = groupOfScope(before.scope);
      if (group !== null) this.#numbers.release(group);
      this.#timed.delete(before);
      this.#due.delete(before);
      this.#mark(before.scope, id);
    }
    this.#rules.delete(id);
    this.#refused.delete(id);
    if (row === null) return;
    const rule = { id, scope, ...translateRule(row), ...ruleTimes(row), isOn: false };
    this.#rules.set(id, rule);
    if (Number.isFinite(rule.startMs) || Number.isFinite(rule.endMs)) this.#timed.add(rule);
    this.#check(rule, nowMs);
    if (rule.message !== null) this.#refused.set(id, rule.message);
    this.#mark(scope, id);
  }

  /** Sets the time, which also goes back if the clock is set: rules may begin or end. */
  passTo(nowMs: number): void {
    if (nowMs >= this.#nextChangeAtMs || nowMs < this.#checkedAtMs) {
      this.#nextChangeAtMs = Number.POSITIVE_INFINITY;
      for (const rule of this.#timed) this.#turn(rule, nowMs);
    }
    this.#checkedAtMs = nowMs;
  }

  /** What is pending. */
  pending(): Amendment['rules'] {
    return new Map(
      [...this.#pending].map(([scope, ids]) => [
        scope,
        new Map([...ids].map((id) => [id, this.#rulesOf(id, scope)])),
      ]),
    );
  }

  /** Notes that the last result of `pending` was sent to the data plane. */
  handOver(): void {
    this.#pending.clear();
    this.#due.clear();
  }

  /** Hands over the rules that are pending because of time alone. */
  handOverDue(): Amendment['rules'] {
    this.#handedOverDue = [...this.#due];
    this.#due.clear();
    const rules = new Map<string, Map<string, readonly RuleConfig[]>>();
    for (const { id, scope } of this.#handedOverDue) {
      const ofScope = rules.get(scope) ?? new Map<string, readonly RuleConfig[]>();
      rules.set(scope, ofScope.set(id, this.#rulesOf(id, scope)));
      this.#unmark(scope, id);
    }
    return rules;
  }

  /** Notes that the data plane did not acknowledge rules: they are pending again. */
  takeBack(rules: Amendment['rules']): void {
    for (const [scope, ids] of rules) for (const id of ids.keys()) this.#mark(scope, id);
  }

  /** Notes that the data plane did not acknowledge what `handOverDue` gave: it is due again. */
  takeBackDue(): void {
    for (const rule of this.#handedOverDue) {
      this.#mark(rule.scope, rule.id);
      if (this.#rules.get(rule.id) === rule) this.#due.add(rule);
    }
  }

  /** The scope of a rule; takes hold of the number of its group. */
  #hold(rule: ObeyedRule): string {
    const scope = holdScope(this.#numbers, rule);
    return rule.enforced ? scope : stagedScope(scope);
  }

  #mark(scope: string, id: string): void {
    const ids = this.#pending.get(scope);
    if (ids === undefined) this.#pending.set(scope, new Set([id]));
    else ids.add(id);
  }

  #unmark(scope: string, id: string): void {
    const ids = this.#pending.get(scope);
    ids?.delete(id);
    if (ids?.size === 0) this.#pending.delete(scope);
  }

  /** Decides whether the time of a rule is now, and when to decide it again. */
  #check(rule: Rule, nowMs: number): void {
    const { startMs, endMs } = rule;
    rule.isOn = hasTime(rule, nowMs);
    const next = nowMs < startMs ? startMs : rule.isOn ? endMs : Number.POSITIVE_INFINITY;
    this.#nextChangeAtMs = Math.min(this.#nextChangeAtMs, next);
  }

  /** Checks a rule again. A rule whose row is pending waits for the other rows of its change. */
  #turn(rule: Rule, nowMs: number): void {
    const wasOn = rule.isOn;
    this.#check(rule, nowMs);
    const opens = rule.isOn === (rule.rules[0]?.action === 'accept');
    if (this.opensNothing && opens) rule.isOn = wasOn;
    if (rule.isOn === wasOn || this.#pending.get(rule.scope)?.has(rule.id) === true) return;
    this.#mark(rule.scope, rule.id);
    this.#due.add(rule);
  }

  #rulesOf(id: string, scope: string): readonly RuleConfig[] {
    const rule = this.#rules.get(id);
    return rule?.scope === scope && rule.isOn ? rule.rules : [];
  }
}
