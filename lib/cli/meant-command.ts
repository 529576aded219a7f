// The command that somebody probably meant who typed another one: a slip, the plural of a noun, the
// words in the wrong order, or a verb that other programs have.

import { distance } from 'fastest-levenshtein';
import { otherVerbs } from './grammar.ts';

/** Verbs of other programs, and what is here for them. */
const OTHER_VERBS: Readonly<Record<string, readonly string[]>> = {
  ...otherVerbs,
  new: ['create'],
  make: ['create'],
  register: ['create'],
  show: ['members', 'list', 'show'],
  get: ['members', 'list', 'config', 'show'],
  status: ['list'],
  del: ['delete'],
  destroy: ['delete'],
  revoke: ['delete', 'disable'],
  edit: ['update', 'set'],
  change: ['update', 'set'],
  modify: ['update'],
  set: ['update', 'limit'],
  password: ['set-password'],
  passwd: ['set-password'],
  role: ['set-role'],
  promote: ['set-role'],
  block: ['disable'],
  lock: ['disable'],
  invite: ['enrol'],
  enroll: ['enrol'],
  import: ['create'],
  download: ['config'],
};

/** Words of other programs for a noun here. */
const OTHER_NOUNS: Readonly<Record<string, string>> = {
  peer: 'device',
  client: 'device',
  node: 'device',
  machine: 'device',
  policy: 'rule',
  acl: 'rule',
  people: 'user',
  config: 'configuration',
  settings: 'configuration',
  apikey: 'token',
  key: 'keys',
  log: 'audit',
};

/** More letters than that are no slip: a third of what was typed, and at least one. */
const PART = 3;

/** The command that was probably meant; null where none is near. */
export function meantCommand(words: readonly string[], names: readonly string[]): string | null {
  const [first = '', second = ''] = words.map((word) => word.toLowerCase());
  const ofNoun = names.filter((name) => name.startsWith(`${first} `));
  const isOfNoun = ofNoun.length > 0;
  const known = isOfNoun ? ofNoun : names;
  const tries = [
    [first, second],
    [second, first],
  ].flatMap(([noun = '', verb = '']) => spellings(noun, verb));
  // A noun alone, devices say, asks for its list.
  const lists = second === '' ? spellings(first, 'list') : [];
  const exact = [...tries, ...lists].find((one) => known.includes(one));
  if (exact !== undefined) return exact;
  let [meant, fewest]: [string | null, number] = [null, Number.POSITIVE_INFINITY];
  for (const one of tries)
    for (const name of known) {
      const most = Math.max(1, Math.floor((isOfNoun ? second : one).length / PART));
      // So many letters more or fewer are so many slips.
      if (Math.abs(one.length - name.length) > most) continue;
      const slips = slipsBetween(one, name);
      if (slips <= most && slips < fewest) [meant, fewest] = [name, slips];
    }
  return meant;
}

/** Of names that are equally near, one with the same letters is nearer. */
function slipsBetween(typed: string, name: string): number {
  const lettersOf = (text: string): string => text.split('').toSorted().join('');
  return distance(typed, name) - (lettersOf(typed) === lettersOf(name) ? 1 : 0);
}

function spellings(noun: string, verb: string): string[] {
  const singular = noun.replace(/s$/, '');
  const nouns = [noun, singular, OTHER_NOUNS[singular] ?? singular];
  const verbs = [verb, ...(Object.hasOwn(OTHER_VERBS, verb) ? (OTHER_VERBS[verb] ?? []) : [])];
  return [...new Set(nouns)].flatMap((one) => verbs.map((other) => `${one} ${other}`.trim()));
}

/** So many letters at the beginning of an option may stand for all of it. */
const BEGINNING = 2;

/** The option that was probably meant, by a slip or by its beginning; null where none is near. */
export function meantOption(typed: string, names: readonly string[]): string | null {
  const most = Math.max(1, Math.floor(typed.length / PART));
  const near = names.map((name) => [slipsBetween(typed, name), name] as const);
  const [nearest] = near.toSorted(([a], [b]) => a - b);
  if (nearest !== undefined && nearest[0] <= most) return nearest[1];
  const begin = (one: string, other: string): boolean =>
    one.length >= BEGINNING && other.startsWith(one);
  const alike = names.filter((name) => begin(name, typed) || begin(typed, name));
  return alike.length === 1 ? (alike[0] ?? null) : null;
}
