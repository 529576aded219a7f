// Which of some names was probably meant by one with slips.

import { distance } from 'fastest-levenshtein';

/** The nearest of `known` that is at most `slips` away; null where none is. */
export function nearestName(name: string, known: readonly string[], slips: number): string | null {
  let nearest: string | null = null;
  let fewest = slips;
  for (const one of known) {
    if (Math.abs(one.length - name.length) > fewest) continue;
    const count = slipsBetween(name, one, fewest);
    if (count < fewest || (count === fewest && nearest === null)) [nearest, fewest] = [one, count];
  }
  return nearest;
}

/** Letters that were added, left out or changed, and neighbours that changed places. */
function slipsBetween(a: string, b: string, most: number): number {
  const count = distance(a, b);
  // What an exchange makes equal is two letters away without it.
  if (count < 2 || count > 2 * most) return count;
  let fewest = count;
  for (let at = 1; at < a.length; at += 1) {
    const exchanged = `${a.slice(0, at - 1)}${a[at]}${a[at - 1]}${a.slice(at + 1)}`;
    fewest = Math.min(fewest, slipsBetween(exchanged, b, most - 1) + 1);
  }
  return fewest;
}
