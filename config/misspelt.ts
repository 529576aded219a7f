// Names that are no settings and were probably meant to be: HTTP_PORTT, WIREGARD_PORT. They would
// be ignored in silence otherwise, and the default would serve.

import { configurationVariables } from './configuration-variables.ts';
import { type Setting, settings } from './schema.ts';

/** Shorter names are near to too many others. */
const LENGTH_MIN = 6;
/** From this length on a name may have two slips, below it one. */
const LONG = 10;

const known: readonly string[] = [
  'POSTERN_CONFIG',
  ...[...(settings as readonly Setting[]), ...configurationVariables].flatMap((setting) => [
    setting.name,
    ...(('aliases' in setting ? setting.aliases : null) ?? []),
    ...('secret' in setting && setting.secret === true ? [`${setting.name}_FILE`] : []),
  ]),
];
const knownNames = new Set(known);

/** The setting that a name was probably meant to be; null where the name is one, or near none. */
export function meantSetting(name: string): string | null {
  if (name.length < LENGTH_MIN || knownNames.has(name)) return null;
  const bare = name.replace(/^POSTERN_/, '');
  if (knownNames.has(bare)) return bare;
  if (bare !== name && meantSetting(bare) !== null) return meantSetting(bare);
  // Further away by letters than a slip is.
  const plural = name.toUpperCase().replace(/Y$/, 'IES');
  if (knownNames.has(plural)) return plural;
  const slips = name.length < LONG ? 1 : 2;
  const near = known
    .filter((one) => one.length >= LENGTH_MIN && Math.abs(one.length - name.length) <= slips)
    .map((one) => ({ one, distance: editDistance(name.toUpperCase(), one) }))
    .filter(({ distance }) => distance <= slips)
    .toSorted((a, b) => a.distance - b.distance);
  return near[0]?.one ?? null;
}

/**
 * A sentence for each name that is no setting: in the environment for those that look like one, in
 * a file of settings for all.
 */
export function unknownNames(environment: readonly string[], file: readonly string[]): string[] {
  return [...new Set([...environment, ...file])].flatMap((name) => {
    if (knownNames.has(name)) return [];
    const meant = meantSetting(name);
    if (meant === null && !name.startsWith('POSTERN_') && !file.includes(name)) return [];
    const end = meant === null ? '' : `; is ${meant} meant?`;
    return [`${name} is not a setting of Postern and is ignored${end}`];
  });
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
