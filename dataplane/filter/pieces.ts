// The prefixes of one family of one scope, in pieces of some hundreds that follow each other
// through the address space. Each piece is laid out by itself, so that a change costs the pieces
// that it falls in: most often one, and all of them only for a prefix that holds everything.
//
// A piece also lays out the wider prefixes that begin before it and reach into it. So its table is
// right for every address from its first one to the next piece, whatever the others hold.

import { type CompiledFamily, type CompiledTable, layOut } from './compile.ts';
import type { NumberedRule } from './ports.ts';
import { type Bound, orderOf, type Prefix, prefixOf } from './prefixes.ts';

/**
 * A piece with more prefixes is split in two; two that have half as many together are joined.
 * Laying out so many takes some 0.1 ms.
 */
export const PIECE_MAX = 512;

/** In place of a place: it has to be laid out. */
const CHANGED = -1;

interface Piece {
  /** Where it begins: with a prefix of that order, which may be gone, and its first address. */
  readonly order: string;
  readonly first: Bound;
  /** What begins in it, by order. */
  readonly own: Prefix[];
  /** What begins before it and holds its first address, by order: wider ones first. */
  readonly open: Prefix[];
  /** Its place among the pieces that were handed over last, or CHANGED. */
  place: number;
}

/** The pieces of one family of one scope. */
export class Pieces {
  readonly #words: 1 | 4;
  readonly #max: number;
  /** The first address of the family. */
  readonly #zero: Bound;
  readonly #prefixes = new Map<string, Prefix>();
  #pieces: Piece[] = [];
  /** How many pieces were handed over last. */
  #handedOver = 0;

  constructor(words: 1 | 4, max: number) {
    this.#words = words;
    this.#max = max;
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

  /** What differs from what was handed over last, laid out; null where nothing does. */
  compile(): CompiledFamily | null {
    if (!this.#hasChanged()) return null;
    return this.#family((piece) => (piece.place === CHANGED ? this.#layOut(piece) : piece.place));
  }

  /** All pieces, laid out, for a worker that has none of them; null where there are none. */
  compileAll(): CompiledFamily | null {
    return this.#pieces.length === 0 ? null : this.#family((piece) => this.#layOut(piece));
  }

  /** Notes that what was compiled is handed over. */
  handOver(): void {
    for (const [place, piece] of this.#pieces.entries()) piece.place = place;
    this.#handedOver = this.#pieces.length;
  }

  /**
   * Notes that one more worker has all pieces as they are. Where other workers have different ones,
   * because a change was undone, the next change brings all pieces to all of them.
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

  #layOut({ open, own }: Piece): CompiledTable {
    return layOut([...open, ...own], this.#words);
  }

  #touch(prefix: Prefix): void {
    prefix.ports = null;
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

  /** Gives a piece what the next one holds, where both have become small. */
  #joinNext(at: number): void {
    const piece = this.#pieces[at]!;
    const next = this.#pieces[at + 1];
    if (next === undefined || piece.own.length + next.own.length > this.#max >> 1) return;
    // What reaches into the next one begins in this one, or reaches into it too.
    piece.own.push(...next.own);
    piece.place = CHANGED;
    this.#pieces.splice(at + 1, 1);
  }

  /** The place of the piece that a prefix begins in. */
  #placeOf({ order }: Prefix): number {
    return countUpTo(this.#pieces, order) - 1;
  }

  /** The piece that a prefix begins in, then those into which it reaches. */
  #piecesOf(prefix: Prefix): Piece[] {
    const at = this.#placeOf(prefix);
    let end = at + 1;
    while (end < this.#pieces.length && holds(prefix, this.#pieces[end]!.first)) end++;
    return this.#pieces.slice(at, end);
  }

  /** The lists that hold a prefix, or have to. */
  #listsOf(prefix: Prefix): Prefix[][] {
    return this.#piecesOf(prefix).map(({ own, open }, i) => (i === 0 ? own : open));
  }
}

/** Whether a prefix holds an address that is not before its first. */
function holds(prefix: Prefix, address: Bound): boolean {
  return prefix.lastHex >= address.hex;
}

/** How many of a sorted list come before an order, or have it. */
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
