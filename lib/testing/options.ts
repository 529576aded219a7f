// Refuses unknown options. Else a mistyped name would be ignored in silence, and the test would try
// something else than it says.

import { nearestName } from '../../config/index.ts';
import type { Answers } from '../../dataplane/memory/index.ts';

/** A name of this length or more may have two typing errors, a shorter name one. */
const LONG = 6;

/** Throws a TypeError for unknown options; `where` names what takes them: `addDevice`. */
export function refuseUnknownOptions(where: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new TypeError(unknown.map((name) => errorOf(where, name, known)).join('\n'));
}

/** Throws a TypeError for unknown options of how hosts and devices answer. */
export function refuseUnknownAnswers(answers: Answers): void {
  refuseUnknownOptions('answers', answers, ['udp', 'tcp', 'ports']);
}

function errorOf(where: string, name: string, known: readonly string[]): string {
  const meant = nearestName(name, known, name.length < LONG ? 1 : 2);
  const end = meant === null ? `it takes ${known.join(', ')}` : `is ${meant} meant?`;
  return `${where} has no option ${name}; ${end}`;
}
