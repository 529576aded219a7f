// The protocol of a packet that somebody asks about: a name, or a number as text, as lists of
// refused packets have it.

import { mark, type TextSchema, text } from '../../kit/validation/fields.ts';
import { oneOfWords } from '../../kit/validation/messages.ts';

const NAMES = ['tcp', 'udp', 'icmp'] as const;
/** Numbers of the protocols that have names (IANA): ICMP, TCP, UDP, ICMPv6. */
const NAMED = new Set([1, 6, 17, 58]);
const NUMBER_MAX = 255;

/** Ports that a packet can be for. */
export const PORT_MIN = 1;
export const PORT_MAX = 65_535;

/** A text is neither a name nor such a number. */
const BAD_PROTOCOL = oneOfWords(
  `${NAMES.join(', ')}, or the number of another protocol as text, such as 47; 1 and 58 are written as icmp, 6 as tcp, 17 as udp`,
);

/** A name, or a number as text. */
export type AskedProtocol = (typeof NAMES)[number] | `${number}`;

/** The field of a protocol. */
export function askedProtocol(description: string): TextSchema {
  const validated = text(description).custom(
    (value: string, helpers) => (isAskedProtocol(value) ? value : helpers.error('any.only')),
    'a protocol',
  ) as TextSchema;
  return mark(validated, {
    unreadable: BAD_PROTOCOL,
    json: { pattern: `^(${NAMES.join('|')}|\\d{1,3})$` },
  });
}

function isAskedProtocol(value: string): value is AskedProtocol {
  return isName(value) || isNumber(value);
}

function isName(value: string): value is (typeof NAMES)[number] {
  return (NAMES as readonly string[]).includes(value);
}

/** Whether a text is the number of a protocol without a name, as short as it can be written. */
function isNumber(value: string): value is `${number}` {
  const number = Number(value);
  return /^(0|[1-9]\d{0,2})$/.test(value) && number <= NUMBER_MAX && !NAMED.has(number);
}

/** The protocol as the data plane takes it. */
export function numberedProtocol(protocol: AskedProtocol): (typeof NAMES)[number] | number {
  return isName(protocol) ? protocol : Number(protocol);
}
