// The texts of pages for people who are no administrators, of what every page has, and of scripts:
// in tables, so that other languages can have tables of the same keys. These pages say nothing but
// texts of them (test/lib/web/kit/texts.test.ts).

import { frame } from './english-frame.ts';
import { portal } from './english-portal.ts';
import { timeInWords } from './words.ts';

/** The English table. */
export const english = { ...portal, ...frame } as const;

/** A key of the table. */
export type TextKey = keyof typeof english;

/** The text of a key, with its values in their places. */
export function say(key: TextKey, values: Readonly<Record<string, string>> = {}): string {
  if (!Object.hasOwn(english, key)) throw new Error(`there is no text ${key}`);
  return english[key].replaceAll(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place);
}

/** What is put in a place: a text, a time, a link, what a machine reads, or words with emphasis. */
export type Mark =
  | string
  | { readonly time: string }
  | { readonly code: string }
  /** A site of others, and its name. */
  | { readonly outside: string; readonly text: string }
  | { readonly href: string; readonly key: TextKey; readonly marks?: Marks }
  | { readonly em: TextKey }
  /** A name with emphasis. */
  | { readonly value: string }
  | { readonly strong: TextKey };

/** By the names of the places. */
type Marks = Readonly<Record<string, Mark>>;

/** The text of a key as HTML, whatever its values hold, for `<%~ %>`. */
export function sayMarked(key: TextKey, marks: Marks): string {
  return escaped(say(key)).replaceAll(/\{(\w+)\}/g, (place, name: string) => {
    const mark = Object.hasOwn(marks, name) ? marks[name] : undefined;
    return mark === undefined ? place : markedUp(mark);
  });
}

function markedUp(mark: Mark): string {
  if (typeof mark === 'string') return escaped(mark);
  if ('time' in mark) {
    const time = escaped(mark.time);
    return `<time datetime="${time}">${escaped(timeInWords(mark.time))}</time>`;
  }
  if ('code' in mark) return `<code>${escaped(mark.code)}</code>`;
  if ('outside' in mark)
    return `<a href="${escaped(mark.outside)}" target="_blank" rel="noopener noreferrer">${escaped(mark.text)}</a>`;
  if ('value' in mark) return `<strong>${escaped(mark.value)}</strong>`;
  if ('strong' in mark) return `<strong>${escaped(say(mark.strong))}</strong>`;
  if ('em' in mark) return `<em>${escaped(say(mark.em))}</em>`;
  return `<a href="${escaped(mark.href)}">${sayMarked(mark.key, mark.marks ?? {})}</a>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}
