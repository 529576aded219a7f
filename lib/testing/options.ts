// Options that nobody knows are refused: a name with a slip would be ignored in silence otherwise,
// and the test would try something else than it says.

import { nearestName } from '../../config/index.ts';
import type { Answers } from '../../dataplane/memory/index.ts';

/** From this length on a name may have two slips, below it one. */
const LONG = 6;

/** Refuses what is given but not known; `where` is what takes the options: `addDevice`. */
export function refuseUnknownOptions(where: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new TypeError(unknown.map((name) => faultOf(where, name, known)).join('\n'));
}

/** The same for how hosts and devices answer. */
export function refuseUnknownAnswers(answers: Answers): void {
  refuseUnknownOptions('answers', answers, ['udp', 'tcp', 'ports']);
}

function faultOf(where: string, name: string, known: readonly string[]): string {
  const meant = nearestName(name, known, name.length < LONG ? 1 : 2);
  const end = meant === null ? `it takes ${known.join(', ')}` : `is ${meant} meant?`;
  return `${where} has no option ${name}; ${end}`;
}
