// Any character of Unicode, one by one: a unit of `fc.string`. Its own unit `binary` means the same
// characters, but makes a table of a million of them first, which takes 0.7 s in each process.

import fc from 'fast-check';

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST = 0x10_ffff;

/** Every code point but the surrogates. */
export const anyCharacter = fc
  .integer({ min: 0, max: LAST - SURROGATES })
  .map(characterOf, numberOf);

function characterOf(number: number): string {
  return String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES);
}

/** The number that makes a character; fast-check uses it to shorten what it did not make itself. */
function numberOf(text: unknown): number {
  const point = typeof text === 'string' ? text.codePointAt(0) : undefined;
  if (point === undefined || String.fromCodePoint(point) !== text || !text.isWellFormed())
    throw new TypeError('not one character');
  return point < FIRST_SURROGATE ? point : point - SURROGATES;
}
