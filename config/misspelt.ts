// Names that are no settings and were probably meant to be: HTTP_PORTT, WIREGARD_PORT. They would
// be ignored in silence otherwise, and the default would serve.

import { configurationVariables } from './configuration-variables.ts';
import { WARM_UP } from './launch.ts';
import { nearestName } from './nearest-name.ts';
import { rootlessNames } from './rootless.ts';
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
const knownNames = new Set([...known, ...rootlessNames, WARM_UP]);

/** Settings of earlier versions. */
const former: ReadonlySet<string> = new Set(['DATAPLANE_X25519']);

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
  const long = known.filter((one) => one.length >= LENGTH_MIN);
  return nearestName(name.toUpperCase(), long, slips);
}

/**
 * A sentence for each name that is no setting: in the environment for those that look like one, in
 * a file of settings for all.
 */
export function unknownNames(environment: readonly string[], file: readonly string[]): string[] {
  return [...new Set([...environment, ...file])].flatMap((name) => {
    if (knownNames.has(name)) return [];
    if (former.has(name))
      return [`${name} is a setting of earlier versions and is ignored; remove it`];
    const meant = meantSetting(name);
    if (meant === null && !name.startsWith('POSTERN_') && !file.includes(name)) return [];
    const end = meant === null ? '' : `; is ${meant} meant?`;
    return [`${name} is not a setting of Postern and is ignored${end}`];
  });
}
