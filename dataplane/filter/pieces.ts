// The prefixes of one address family of one scope, in pieces of some hundred that follow each other
// in the address space. Each piece is compiled by itself. So a change costs the pieces that it
// touches: mostly one, and all of them only for a prefix that contains everything.
//
// A piece also compiles the shorter prefixes that begin before it and reach into it. So its table
// is complete for every address from its first one to the next piece.

import type { CompiledFamily, CompiledTable, LayOut } from './compile.ts';
import type { NumberedRule } from './ports.ts';
import { type Bound, orderOf, type Prefix, prefixOf } from './prefixes.ts';

/**
 * A piece with more prefixes is split in two; two with half as many together are joined. Compiling
 * a full piece takes about 0.1 ms.
 */
export const PIECE_MAX = 512;

/** In place of a place: the piece must be compiled. */
const CHANGED = -1;

interface Piece {
  /** The sort key of the prefix with which it began; that prefix may be gone. */
  readonly order: string;
  /** Its first address. */
  readonly first: Bound;
  /** The prefixes that begin in it, sorted. */
  readonly own: Prefix[];
  /**
   * The prefixes that begin before it and contain its first address, sorted: shorter ones first.
   */
  readonly open: Prefix[];
  /** Its place among the pieces of the last hand-over, or CHANGED. */
  place: number;
}

/** The pieces of one family of one scope. */
export class Pieces {
  readonly #words: 1 | 4;
  readonly #max: number;
  readonly #layOut: LayOut;
  /** The first address of the family. */
  readonly #zero: Bound;
  readonly #prefixes = new Map<string, Prefix>();
  #pieces: Piece[] = [];
  /** How many pieces there were at the last hand-over. */
  #handedOver = 0;

  constructor(words: 1 | 4, max: number, layOut: LayOut) {
    this.#words = words;
    this.#max = max;
    this.#layOut = layOut;
    this.#zero = { hex: ''.padStart(words * 8, '0'), words: words === 1 ? [0] : [0, 0, 0, 0] };
  }

  add(numbered: NumberedRule): void {
    const order = orderOf(numbered.rule);
    const prefix = this.#prefixes.get(order) ?? this.#insert(prefixOf(numbered.rule, order));
    prefix.rules.push(numbered);
    this.#touch(prefix);
  }

  remove(numbered: NumberedRule): void {
    const prefix = this.#prefixes.get(orderOf(numbered.rule))!;
    prefix.rules.splice(prefix.rules.indexOf(numbered), 1);
    this.#touch(prefix);
    if (prefix.rules.length === 0) this.#delete(prefix);
  }

  /** Compiles what changed since the last hand-over; null where nothing did. */
  compile(): CompiledFamily | null {
    if (!this.#hasChanged()) return null;
    return this.#family((piece) => (piece.place === CHANGED ? this.#tableOf(piece) : piece.place));
  }

  /** Compiles all pieces, for a worker that has none of them; null where there are none. */
  compileAll(): CompiledFamily | null {
    return this.#pieces.length === 0 ? null : this.#family((piece) => this.#tableOf(piece));
  }

  /** Notes that what was compiled is handed over. */
  handOver(): void {
    for (const [place, piece] of this.#pieces.entries()) piece.place = place;
    this.#handedOver = this.#pieces.length;
  }

  /**
   * Notes that one more worker has all pieces as they are now. Where other workers have different
   * ones, because a change was undone, the next change sends all pieces to all workers.
   */
  handOverAll(): void {
    if (this.#hasChanged()) for (const piece of this.#pieces) piece.place = CHANGED;
  }

  #hasChanged(): boolean {
    if (this.#pieces.length !== this.#handedOver) return true;
    return this.#pieces.some(({ place }) => place === CHANGED);
  }

  #family(tableOf: (piece: Piece) => CompiledTable | number): CompiledFamily {
    const firsts = Uint32Array.from(this.#pieces.flatMap(({ first }) => first.words));
    return { words: this.#words, firsts, pieces: this.#pieces.map(tableOf) };
  }

  #tableOf({ open, own }: Piece): CompiledTable {
    return this.#layOut([...open, ...own], this.#words);
  }

  #touch(prefix: Prefix): void {
    prefix.parts = null;
    for (const piece of this.#piecesOf(prefix)) piece.place = CHANGED;
  }

  #insert(prefix: Prefix): Prefix {
    this.#prefixes.set(prefix.order, prefix);
    if (this.#pieces.length === 0)
      this.#pieces.push({ order: '', first: this.#zero, own: [], open: [], place: CHANGED });
    for (const list of this.#listsOf(prefix)) list.splice(countUpTo(list, prefix.order), 0, prefix);
    const at = this.#placeOf(prefix);
    if (this.#pieces[at]!.own.length > this.#max) this.#split(at);
    return prefix;
  }

  #delete(prefix: Prefix): void {
    this.#prefixes.delete(prefix.order);
    for (const list of this.#listsOf(prefix)) list.splice(countUpTo(list, prefix.order) - 1, 1);
    const at = this.#placeOf(prefix);
    this.#joinNext(at);
    if (at > 0) this.#joinNext(at - 1);
    if (this.#prefixes.size === 0) this.#pieces = [];
  }

  #split(at: number): void {
    const piece = this.#pieces[at]!;
    const own = piece.own.splice(piece.own.length >> 1);
    const { order, first } = own[0]!;
    const open = [...piece.open, ...piece.own].filter((prefix) => holds(prefix, first));
    piece.place = CHANGED;
    this.#pieces.splice(at + 1, 0, { order, first, own, open, place: CHANGED });
  }

  /** Joins a piece with the next one where both have become small. */
  #joinNext(at: number): void {
    const piece = this.#pieces[at]!;
    const next = this.#pieces[at + 1];
    if (next === undefined || piece.own.length + next.own.length > this.#max >> 1) return;
    // A prefix that reaches into the next piece is in this one already: it begins here or reaches
    // here.
    piece.own.push(...next.own);
    piece.place = CHANGED;
    this.#pieces.splice(at + 1, 1);
  }

  /** The place of the piece in which a prefix begins. */
  #placeOf({ order }: Prefix): number {
    return countUpTo(this.#pieces, order) - 1;
  }

  /** The piece in which a prefix begins, then those into which it reaches. */
  #piecesOf(prefix: Prefix): Piece[] {
    const at = this.#placeOf(prefix);
    let end = at + 1;
    while (end < this.#pieces.length && holds(prefix, this.#pieces[end]!.first)) end++;
    return this.#pieces.slice(at, end);
  }

  /** The lists that contain a prefix, or must contain it. */
  #listsOf(prefix: Prefix): Prefix[][] {
    return this.#piecesOf(prefix).map(({ own, open }, i) => (i === 0 ? own : open));
  }
}

/** Whether a prefix contains an address; the address must not be before the prefix. */
function holds(prefix: Prefix, address: Bound): boolean {
  return prefix.lastHex >= address.hex;
}

/** How many entries of a sorted list have a key up to `order`. */
function countUpTo(list: readonly { readonly order: string }[], order: string): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]!.order <= order) low = middle + 1;
    else high = middle;
  }
  return low;
}
