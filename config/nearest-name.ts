// Which of some names was probably meant by one with slips.

/** The nearest of `known` that is at most `slips` away; null where none is. */
export function nearestName(name: string, known: readonly string[], slips: number): string | null {
  const near = known
    .filter((one) => Math.abs(one.length - name.length) <= slips)
    .map((one) => ({ one, distance: editDistance(name, one) }))
    .filter(({ distance }) => distance <= slips)
    .toSorted((a, b) => a.distance - b.distance);
  return near[0]?.one ?? null;
}

/** Letters that were added, left out, changed, or exchanged with the next one. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const steps = [(last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + +!isSame];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        steps.push((before[j - 2] ?? 0) + 1);
      row.push(Math.min(...steps));
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
