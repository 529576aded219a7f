// The rules of one scope as the main thread keeps them: understood once, numbered, and compiled
// piece by piece, so that a change costs little more than itself. A number stays a rule's for as
// long as the rule stays, whatever becomes of others; the worker counts hits by it.

import type { RuleConfig } from '../contract.ts';
import { sameBytes } from '../wire/bytes.ts';
import type { CompiledScope } from './compile.ts';
import { PIECE_MAX, Pieces } from './pieces.ts';
import type { NumberedRule } from './ports.ts';

interface Entry {
  readonly number: number;
  readonly rules: readonly RuleConfig[];
  readonly numbered: readonly NumberedRule[];
}

const NO_ENTRY = { rules: [], numbered: [] };

/** The rules of one scope. */
export class ScopeRules {
  readonly #entries = new Map<string, Entry>();
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
    return this.#entries.keys();
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** Says what has an id: no rule, one, or several. Returns whether that is a change. */
  set(id: string, rules: readonly RuleConfig[]): boolean {
    const present = this.#entries.get(id);
    const { rules: presentRules, numbered: presentNumbered } = present ?? NO_ENTRY;
    if (sameRules(presentRules, rules)) return false;
    const number = present?.number ?? this.#numberFor(id);
    const numbered = rules.map((rule) => ({ rule, number }));
    for (const one of presentNumbered) this.#familyOf(one).remove(one);
    for (const one of numbered) this.#familyOf(one).add(one);
    if (rules.length === 0) this.#delete(id, number);
    else this.#entries.set(id, { number, rules, numbered });
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
    for (const [id, { number }] of this.#entries) this.#renamed.set(number, id);
  }

  #numberFor(id: string): number {
    const number = this.#free.pop() ?? this.#entries.size;
    this.#renamed.set(number, id);
    return number;
  }

  #delete(id: string, number: number): void {
    this.#entries.delete(id);
    this.#free.push(number);
    this.#renamed.set(number, null);
  }

  #familyOf({ rule }: NumberedRule): Pieces {
    return rule.address.length === 4 ? this.#ipv4 : this.#ipv6;
  }
}

function sameRules(a: readonly RuleConfig[], b: readonly RuleConfig[]): boolean {
  return a === b || (a.length === b.length && a.every((rule, i) => sameRule(rule, b[i]!)));
}

function sameRule(a: RuleConfig, b: RuleConfig): boolean {
  return (
    a.id === b.id &&
    a.action === b.action &&
    a.prefixBits === b.prefixBits &&
    a.portType === b.portType &&
    a.portFirst === b.portFirst &&
    a.portLast === b.portLast &&
    sameBytes(a.address, b.address)
  );
}
