// The rules of one scope as the main thread keeps them: understood once, numbered, and compiled
// piece by piece, so that a change costs little more than itself. A number stays a rule's for as
// long as the rule stays, whatever becomes of others; the worker counts hits by it.

import type { RuleConfig } from '../contract.ts';
import { type Comparison, sameBytes, sameParts } from '../wire/bytes.ts';
import type { CompiledScope } from './compile.ts';
import { PIECE_MAX, Pieces } from './pieces.ts';
import type { NumberedRule } from './ports.ts';

const NO_RULES: readonly NumberedRule[] = [];

/** The rules of one scope. */
export class ScopeRules {
  /** By id: its rules, one at least, all of the same number. */
  readonly #rules = new Map<string, readonly NumberedRule[]>();
  readonly #ipv4: Pieces;
  readonly #ipv6: Pieces;
  /** Numbers below the count of all that were given and are nobody's. */
  readonly #free: number[] = [];
  /** By number: whose it is since it was told last. */
  readonly #renamed = new Map<number, string | null>();

  constructor(pieceMax = PIECE_MAX) {
    this.#ipv4 = new Pieces(1, pieceMax);
    this.#ipv6 = new Pieces(4, pieceMax);
  }

  /** Ids of the rules. */
  get ids(): Iterable<string> {
    return this.#rules.keys();
  }

  get isEmpty(): boolean {
    return this.#rules.size === 0;
  }

  /** Says what has an id: no rule, one, or several. Returns whether that is a change. */
  set(id: string, rules: readonly RuleConfig[]): boolean {
    const present = this.#rules.get(id) ?? NO_RULES;
    if (sameRules(present, rules)) return false;
    const number = present[0]?.number ?? this.#numberFor(id);
    const numbered = rules.map((rule) => ({ rule, number }));
    for (const one of present) this.#familyOf(one).remove(one);
    for (const one of numbered) this.#familyOf(one).add(one);
    if (rules.length === 0) this.#delete(id, number);
    else this.#rules.set(id, numbered);
    return true;
  }

  /** What changed since it was told last; tables of earlier times stay what they are. */
  untold(): CompiledScope {
    const numbers = [...this.#renamed.keys()];
    const ids = [...this.#renamed.values()];
    return { ipv4: this.#ipv4.untold(), ipv6: this.#ipv6.untold(), numbers, ids };
  }

  /** Notes that what is untold has been told. */
  told(): void {
    this.#ipv4.told();
    this.#ipv6.told();
    this.#renamed.clear();
  }

  /** Notes that who was told has forgotten, so that everything is untold. */
  forget(): void {
    this.#ipv4.forget();
    this.#ipv6.forget();
    this.#renamed.clear();
    for (const [id, [first]] of this.#rules) this.#renamed.set(first!.number, id);
  }

  #numberFor(id: string): number {
    const number = this.#free.pop() ?? this.#rules.size;
    this.#renamed.set(number, id);
    return number;
  }

  #delete(id: string, number: number): void {
    this.#rules.delete(id);
    this.#free.push(number);
    this.#renamed.set(number, null);
  }

  #familyOf({ rule }: NumberedRule): Pieces {
    return rule.address.length === 4 ? this.#ipv4 : this.#ipv6;
  }
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
