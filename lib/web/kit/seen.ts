// Forms about a record say with which values they were shown, so that nobody overwrites a change of
// somebody else without seeing it.

import { createHash } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import type { FormErrors } from './plain-words.ts';
import type { Asked, Section, Typed } from './form.ts';
import { textOf } from './form-token.ts';

/** The field that names the values with which the form was shown. */
const SEEN_FIELD = 'seen';

/** What such a page says above its fields. */
export const CHANGED_MEANWHILE =
  'Somebody changed this after you had opened it. Each field that differs shows its present value below. Save again to overwrite it, or open the page again to keep it.';

/** A short name of the values with which a form is shown. */
export function seenOf(shown: Typed): string {
  return createHash('sha256').update(JSON.stringify(shown)).digest('base64url').slice(0, 22);
}

/**
 * What to tell a person whose form was shown before somebody else changed its record; null where
 * nobody did. `present` is the record as the form shows it now.
 */
export function changedMeanwhile(
  request: Pick<Request, 'payload'>,
  { typed, present }: { readonly typed: Typed; readonly present: Typed },
  sections: readonly Section[] = [],
): FormErrors | null {
  const seen = textOf(request, SEEN_FIELD);
  if (seen === '' || seen === seenOf(present)) return null;
  const asked = new Map(sections.flatMap(({ fields }) => fields).map((one) => [one.name, one]));
  const differing = Object.entries(present)
    .filter(([name, text]) => asked.get(name)?.kind !== 'secret' && (typed[name] ?? '') !== text)
    .map(([name, text]) => [name, [`is ${valueInWords(text, asked.get(name))} now`]] as const);
  // Where what was typed is what is there, nothing would be overwritten.
  return differing.length === 0
    ? null
    : { base: [CHANGED_MEANWHILE], ...Object.fromEntries(differing) };
}

function valueInWords(text: string, asked: Asked | undefined): string {
  if (asked?.kind === 'box') return text === 'true' ? 'ticked' : 'not ticked';
  const label = asked?.choices?.find(([value]) => value === text)?.[1];
  if (label !== undefined) return `“${label}”`;
  return text === '' ? 'empty' : `“${text}”`;
}
