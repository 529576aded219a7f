// The prefixes of one family of one scope, in pieces of some hundreds that follow each other
// through the address space. Each piece is laid out by itself, so that a change costs the pieces
// that it falls in: most often one, and all of them only for a prefix that holds everything.
//
// A piece also lays out the wider prefixes that begin before it and reach into it. So its table is
// right for every address from its first one to the next piece, whatever the others hold.

import { type CompiledFamily, layOut } from './compile.ts';
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
  /** Where it stood among the pieces that were told last, or CHANGED. */
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
  #hasChanged = false;

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

  /** What changed since it was told last, laid out; null where nothing did. */
  untold(): CompiledFamily | null {
    if (!this.#hasChanged) return null;
    const pieces = this.#pieces.map(({ open, own, place }) =>
      place === CHANGED ? layOut([...open, ...own], this.#words) : place,
    );
    const firsts = Uint32Array.from(this.#pieces.flatMap(({ first }) => first.words));
    return { words: this.#words, firsts, pieces };
  }

  /** Notes that what is untold has been told. */
  told(): void {
    this.#hasChanged = false;
    for (const [place, piece] of this.#pieces.entries()) piece.place = place;
  }

  /** Notes that who was told has forgotten. */
  forget(): void {
    for (const piece of this.#pieces) piece.place = CHANGED;
    this.#hasChanged = this.#pieces.length > 0;
  }

  #touch(prefix: Prefix): void {
    prefix.ports = null;
    for (const piece of this.#piecesOf(prefix)) piece.place = CHANGED;
    this.#hasChanged = true;
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

  /** The lists in which a prefix stands, or has to. */
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
