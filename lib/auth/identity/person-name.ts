// The name of a person as a provider says it. People may choose it there, so it is only read beside
// the e-mail: nothing is decided by it. docs/api.md#sign-in.

import { PERSON_NAME_CHARACTERS_MAX, UNSEEN } from '../../../models/index.ts';
import { isUuid } from '../../kit/validation/texts.ts';

const BLANKS = /\s+/gu;
const ALL_UNSEEN = new RegExp(UNSEEN, 'gu');

/**
 * A name as the API would take it: one line, in NFC, without characters that nobody sees. Null for
 * what is no such name.
 */
export function readPersonName(said: unknown): string | null {
  if (typeof said !== 'string' || !said.isWellFormed()) return null;
  // A text that is far too long is not worth the work.
  if (said.length > 4 * PERSON_NAME_CHARACTERS_MAX) return null;
  const name = said.replaceAll(BLANKS, ' ').replaceAll(ALL_UNSEEN, '').normalize('NFC').trim();
  const isFit = name !== '' && Array.from(name).length <= PERSON_NAME_CHARACTERS_MAX;
  return isFit && !isUuid(name) ? name : null;
}
