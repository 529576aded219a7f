// The rules of one scope on the main thread, or those of all groups. They are numbered and compiled
// in pieces, so that a change costs little more than itself. A rule keeps its number for as long as
// it exists, whatever happens to others; the worker counts hits by that number.

import type { RuleConfig } from '../contract.ts';
import { type Comparison, sameBytes, sameParts } from '../wire/bytes.ts';
import { type CompiledScope, layOut, layOutGroups } from './compile.ts';
import { PIECE_MAX, Pieces } from './pieces.ts';
import type { NumberedRule } from './ports.ts';

const NO_RULES: readonly NumberedRule[] = [];

/** One change by `set`, which can be undone. */
export interface RuleStep {
  readonly id: string;
  readonly group: number;
  readonly number: number;
  readonly before: readonly NumberedRule[];
  /** Whether the id has no rule after the change. */
  readonly isGone: boolean;
}

/** The rules of one scope, or those of all groups. */
export class ScopeRules {
  /** By group and id: its rules, at least one, all with one number. */
  readonly #rules = new Map<string, readonly NumberedRule[]>();
  readonly #ipv4: Pieces;
  readonly #ipv6: Pieces;
  /** Numbers that were given to rules and are free again. */
  readonly #free: number[] = [];

  constructor(pieceMax = PIECE_MAX, isOfGroups = false) {
    const compile = isOfGroups ? layOutGroups : layOut;
    this.#ipv4 = new Pieces(1, pieceMax, compile);
    this.#ipv6 = new Pieces(4, pieceMax, compile);
  }

  /** The rules, one for each id. */
  *rules(): Generator<NumberedRule> {
    for (const [first] of this.#rules.values()) yield first!;
  }

  get isEmpty(): boolean {
    return this.#rules.size === 0;
  }

  /** Sets the rules of an id: none, one or several. Null where they are the ones that it has. */
  set(id: string, rules: readonly RuleConfig[], group = 0): RuleStep | null {
    const before = this.#rules.get(keyOf(id, group)) ?? NO_RULES;
    if (sameRules(before, rules)) return null;
    const number = before[0]?.number ?? this.#free.pop() ?? this.#rules.size;
    const after = rules.map((rule) => ({ rule, number, group }));
    this.#put(keyOf(id, group), number, before, after);
    return { id, group, number, before, isGone: rules.length === 0 };
  }

  /** Undoes steps; they must be the last ones that were taken. */
  undo(steps: readonly RuleStep[]): void {
    for (const { id, group, number, before } of steps.toReversed()) {
      const key = keyOf(id, group);
      const after = this.#rules.get(key) ?? NO_RULES;
      if (after.length === 0) this.#free.pop();
      this.#put(key, number, after, before);
    }
  }

  /** Compiles what steps changed; they must be all steps since the last hand-over. */
  compile(steps: readonly RuleStep[]): CompiledScope {
    const renamed = new Map<number, string | null>();
    for (const { id, number, before, isGone } of steps)
      if (isGone) renamed.set(number, null);
      else if (before.length === 0) renamed.set(number, id);
    const [numbers, ids] = [[...renamed.keys()], [...renamed.values()]];
    const hosts = new Map(
      steps.map(({ id, group, number }) => [
        number,
        namesHost(this.#rules.get(keyOf(id, group)) ?? NO_RULES),
      ]),
    );
    return { ipv4: this.#ipv4.compile(), ipv6: this.#ipv6.compile(), numbers, ids, hosts };
  }

  /** Compiles all rules, for a worker that has none of them. */
  compileAll(): CompiledScope {
    const all = [...this.rules()];
    const numbers = all.map(({ number }) => number);
    const ids = all.map(({ rule }) => rule.id);
    const hosts = new Map(
      [...this.#rules.values()].map((rules) => [rules[0]!.number, namesHost(rules)]),
    );
    return { ipv4: this.#ipv4.compileAll(), ipv6: this.#ipv6.compileAll(), numbers, ids, hosts };
  }

  /** Notes that what was compiled is handed over: the next change starts from there. */
  handOver(): void {
    this.#ipv4.handOver();
    this.#ipv6.handOver();
  }

  /** Notes that one more worker has all rules. */
  handOverAll(): void {
    this.#ipv4.handOverAll();
    this.#ipv6.handOverAll();
  }

  #put(
    key: string,
    number: number,
    before: readonly NumberedRule[],
    after: readonly NumberedRule[],
  ): void {
    for (const one of before) this.#familyOf(one).remove(one);
    for (const one of after) this.#familyOf(one).add(one);
    if (after.length > 0) {
      this.#rules.set(key, after);
      return;
    }
    this.#rules.delete(key);
    this.#free.push(number);
  }

  #familyOf({ rule }: NumberedRule): Pieces {
    return rule.address.length === 4 ? this.#ipv4 : this.#ipv6;
  }
}

/** Whether the rules of an id have one address as their destination. */
function namesHost([first, ...others]: readonly NumberedRule[]): boolean {
  if (first === undefined || others.length > 0) return false;
  return first.rule.prefixBits === 8 * first.rule.address.length;
}

/** One rule can leave a group and come to another in one change. */
function keyOf(id: string, group: number): string {
  return `${group} ${id}`;
}

function sameRules(a: readonly NumberedRule[], b: readonly RuleConfig[]): boolean {
  const isSame = ({ rule }: NumberedRule, i: number) => sameParts(RULE_PARTS, rule, b[i]!);
  return a.length === b.length && a.every(isSame);
}

const RULE_PARTS: Comparison<RuleConfig> = {
  id: Object.is,
  action: Object.is,
  address: sameBytes,
  prefixBits: Object.is,
  portType: Object.is,
  portFirst: Object.is,
  portLast: Object.is,
};
