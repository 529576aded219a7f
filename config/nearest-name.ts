// Which of some names was probably meant by one with slips.

/** The nearest of `known` that is at most `slips` away; null where none is. */
export function nearestName(name: string, known: readonly string[], slips: number): string | null {
  const letters = lettersOf(name);
  const near = known
    .filter((one) => Math.abs(one.length - name.length) <= slips)
    // A slip takes one letter away and brings another at most. A start asks about every variable of
    // its environment, and nearly all names end here.
    .filter((one) => bitsIn(letters ^ lettersOf(one)) <= 2 * slips)
    .map((one) => ({ one, distance: editDistance(name, one, slips) }))
    .filter(({ distance }) => distance <= slips)
    .toSorted((a, b) => a.distance - b.distance);
  return near[0]?.one ?? null;
}

/** Which letters a name has: one bit for each, which some share. */
function lettersOf(name: string): number {
  let letters = 0;
  for (let i = 0; i < name.length; i += 1) letters |= 1 << (name.charCodeAt(i) & 31);
  return letters;
}

function bitsIn(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/**
 * Letters that were added, left out, changed, or exchanged with the next one. Where there are more
 * than `most`, the answer is some number above it: rows that are above it twice never fall again.
 */
function editDistance(a: string, b: string, most: number): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  const at = (row: readonly number[], j: number): number => row[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isExchanged = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          at(last, j) + 1,
          at(row, j - 1) + 1,
          at(last, j - 1) + (isSame ? 0 : 1),
          isExchanged ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    if (Math.min(...row, ...last) > most) return most + 1;
    [before, last] = [last, row];
  }
  return at(last, b.length);
}
