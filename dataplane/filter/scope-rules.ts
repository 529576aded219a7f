// The rules of one scope as the main thread keeps them: understood once, numbered, and compiled
// piece by piece, so that a change costs little more than itself. A number stays a rule's for as
// long as the rule stays, whatever becomes of others; the worker counts hits by it.

import type { RuleConfig } from '../contract.ts';
import { sameBytes } from '../wire/bytes.ts';
import type { CompiledScope } from './compile.ts';
import { PIECE_MAX, Pieces } from './pieces.ts';

interface Entry {
  readonly number: number;
  readonly rules: readonly RuleConfig[];
}

const NO_RULES: readonly RuleConfig[] = [];

/** The rules of one scope. */
export class ScopeRules {
  readonly #entries = new Map<string, Entry>();
  readonly #ipv4: Pieces;
  readonly #ipv6: Pieces;
  /** Numbers below the count of all that were given and are nobody's. */
  readonly #free: number[] = [];
  /** By number: whose it is since the last time that rules were compiled. */
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
    if (sameRules(present?.rules ?? NO_RULES, rules)) return false;
    const number = present?.number ?? this.#numberFor(id);
    for (const rule of present?.rules ?? NO_RULES) this.#familyOf(rule).remove(rule);
    for (const rule of rules) this.#familyOf(rule).add(rule, number);
    if (rules.length === 0) this.#delete(id, number);
    else this.#entries.set(id, { number, rules });
    return true;
  }

  /** What changed since the last time; tables that were compiled then stay what they are. */
  compile(): CompiledScope {
    const ids = [...this.#renamed];
    this.#renamed.clear();
    return { ipv4: this.#ipv4.compile(), ipv6: this.#ipv6.compile(), ids };
  }

  /** Everything, for one who knows nothing. */
  compileAll(): CompiledScope {
    this.#ipv4.forgetCompiled();
    this.#ipv6.forgetCompiled();
    this.#renamed.clear();
    for (const [id, { number }] of this.#entries) this.#renamed.set(number, id);
    return this.compile();
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

  #familyOf(rule: RuleConfig): Pieces {
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
