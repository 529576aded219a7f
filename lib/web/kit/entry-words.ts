// Messages for entries of a form, which quote the entry. /v0 only says that a value is invalid, in
// texts that programs compare. /v0 also accepts host names made of numbers, such as 1.1.1; a form
// refuses them, because people type them when they forget a part of an address.

import type { FieldErrors, Errors } from '../../kit/validation/validate.ts';
import type { FormError, FormErrors } from './plain-words.ts';
import { codeOf, type FieldError, isFieldError } from '../../kit/validation/messages.ts';
import { readCidr } from '../../kit/validation/network.ts';
import {
  type Measure,
  measureText,
  probablyMeant,
  readMeasure,
} from '../../kit/validation/units.ts';
import { limit, userFields } from '../../../models/index.ts';
import { membersOf } from './form.ts';

/** The texts in the fields of a form, by name. */
type Typed = Readonly<Record<string, string>>;

/** What a field expects. */
interface Kind {
  /** Whether an entry is correct. */
  readonly isGood: (entry: string) => boolean;
  /** What is wrong with an entry that is not; it follows “is” or “are”. */
  readonly error: string | ((entry: string) => string);
  /** What an entry that is too small probably means; null: nothing else. */
  readonly meant?: (entry: string) => string | null;
  /** The least and the most, as people write them; left out: as a number. */
  readonly limitText?: (limit: number) => string;
  /** Whether the field takes several entries. */
  readonly isList?: boolean;
}

const NETWORKS: Kind = {
  isGood: (entry) => readCidr(entry) !== null,
  error:
    'neither an address nor a network. Write it like 10.0.0.5, 10.0.0.0/8 or fd00::/8. Names are not possible here',
  isList: true,
};
const NUMBER = numberOf('');
const SPEED = measureOf('speed', limit.min);
const ADDRESS_4: Kind = { isGood: () => false, error: 'not an IPv4 address, such as 100.64.0.5' };
const ADDRESS_6: Kind = { isGood: () => false, error: 'not an IPv6 address, such as fd00::5' };

/** By the name of the field, without the prefix that fields of the settings have. */
const kinds: Readonly<Record<string, Kind>> = {
  destination: NETWORKS,
  allowed_ips: NETWORKS,
  mtu: numberOf(' of bytes, such as 1280'),
  persistent_keepalive: numberOf(' of seconds, such as 25'),
  vpn_session_duration: NUMBER,
  limit_down: SPEED,
  limit_up: SPEED,
  quota: measureOf('amount', userFields.quota.api.min),
  ipv4: ADDRESS_4,
  ipv6: ADDRESS_6,
};

/** Fields that accept names of hosts. */
const HOSTS = ['dns', 'endpoint'];
const PORT = /:\d+$/;
const OF_NUMBERS = /^\d+(\.\d+)*\.?$/;

/**
 * The errors of a refused form. Where the API only says that a value is invalid, the message quotes
 * the wrong entries and says how to write them. The address of a page is named as one.
 */
export function quotedErrors(errors: FormErrors, typed: Typed): FormErrors {
  return Object.fromEntries(
    Object.entries(errors).map(([name, texts]) => {
      if (HOSTS.includes(nameOf(name))) return [name, texts.map(hostInWords) as FormError[]];
      const kind = kinds[nameOf(name)];
      return [name, kind === undefined ? texts : quoted(texts, typed[name] ?? '', kind)];
    }),
  );
}

/**
 * What a form says before /v0 does: hosts made of numbers that are not an address, which /v0
 * accepts, and addresses of pages, which people copy from their browser.
 */
export function hostErrors(typed: Typed): Errors {
  const errors: Errors = {};
  for (const [name, text] of Object.entries(typed)) {
    if (!HOSTS.includes(nameOf(name))) continue;
    const bad = membersOf(text).flatMap((entry) => hostError(entry) ?? []);
    if (bad.length > 0) errors[name] = bad;
  }
  return errors;
}

/** A number with a unit, or a plain one of at least so much. */
function measureOf(measure: Measure, least: number): Kind {
  return {
    isGood: (entry) => 'value' in readMeasure(entry, measure),
    error: (entry) => {
      const read = readMeasure(entry, measure);
      return 'error' in read ? read.error : '';
    },
    meant: (entry) => probablyMeant(entry, least, measure),
    limitText: (limit) => measureText(limit, measure),
  };
}

/** A whole number; `what` says of what. */
function numberOf(what: string): Kind {
  return { isGood: (entry) => /^\d+$/.test(entry), error: `not a whole number${what}` };
}

function hostError(entry: string): FieldError | null {
  if (isNumbersAlone(entry.replace(PORT, '')))
    return { code: 'hostOfNumbers', values: { host: entry } };
  const host = /^https?:\/\//i.test(entry) && URL.canParse(entry) ? new URL(entry).hostname : '';
  return host === '' ? null : { code: 'hostOfPage', values: { page: entry, host } };
}

/** The error of a form about a host that the API refused; another error stays. */
function hostInWords(one: unknown): unknown {
  if (!isFieldError(one) || one.code !== 'noHostName') return one;
  return hostError(String(one.values?.['host'])) ?? one;
}

function isNumbersAlone(host: string): boolean {
  return OF_NUMBERS.test(host) && readCidr(host) === null;
}

function nameOf(name: string): string {
  return name.replace(/^default_(client_)?/, '');
}

function quoted(
  texts: FieldErrors<FormError>,
  text: string,
  { isGood, error, isList, meant, limitText }: Kind,
): FieldErrors<FormError> {
  const unit = meant?.(text) ?? null;
  if (unit !== null)
    return texts.map((one) =>
      codeOf(one) === 'atLeast' ? `This is very little. Did you mean ${unit}?` : one,
    ) as FormError[];
  const bad = (isList === true ? membersOf(text) : [text.trim()]).filter((entry) => !isGood(entry));
  if (bad.length === 0)
    return limitText === undefined
      ? texts
      : (texts.map((one) => withLimit(one, limitText)) as FormError[]);
  const entries = bad.map((entry) => `“${entry}”`).join(', ');
  const what = typeof error === 'string' ? error : error(bad[0] ?? '');
  return texts.map((one) =>
    codeOf(one) === 'invalid' ? `${entries} ${bad.length === 1 ? 'is' : 'are'} ${what}` : one,
  ) as FormError[];
}

/** An error that names the least or the most, with its unit. */
function withLimit(one: unknown, limitText: (limit: number) => string): unknown {
  if (!isFieldError(one) || (one.code !== 'atLeast' && one.code !== 'atMost')) return one;
  return { ...one, values: { ...one.values, limit: limitText(Number(one.values?.['limit'])) } };
}
