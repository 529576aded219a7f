// XML that others wrote: what is refused before it is parsed, and what counts as text.
// saml-metadata.test.ts and response.test.ts test the readers that build on it.

import test from 'ava';
import {
  childrenOf,
  isNamed,
  parseXml,
  onlyTextIn,
  XmlError,
} from '../../../../lib/auth/saml/xml.ts';

const LIMITS = { characters: 1_000_000, tags: 10_000, attributes: 2_000 };

const bad: [says: string, text: string, message: RegExp][] = [
  ['nothing', '', /not well-formed/],
  ['half an element', '<a>', /not well-formed/],
  ['two roots', '<a/><b/>', /not well-formed/],
  ['an attribute without quotes', '<a b=c/>', /not well-formed/],
  ['an attribute without a value', '<a b/>', /not well-formed/],
  ['an entity', '<a>&x;</a>', /not well-formed/],
  ['a DOCTYPE', '<!DOCTYPE a><a/>', /DOCTYPE/],
  ['a doctype in small letters', '<!doctype a><a/>', /DOCTYPE/],
  ['a DOCTYPE later on', '<a/><!DOCTYPE a>', /DOCTYPE/],
  ['too long a text', `<a>${'x'.repeat(100)}</a>`, /longer than 50/],
];
for (const [says, text, message] of bad)
  test(`${says} is refused`, (t) => {
    t.throws(() => parseXml(text, { ...LIMITS, characters: 50 }), {
      instanceOf: XmlError,
      message,
    });
  });

test('depth and the number of tags are limited before anything is parsed', (t) => {
  const beganMs = performance.now();
  t.throws(() => parseXml('<a>'.repeat(200_000), LIMITS), { message: /nested deeper than 64/ });
  t.throws(() => parseXml(`<a>${'<b/>'.repeat(20_000)}</a>`, LIMITS), {
    message: /more than 10000 tags/,
  });
  t.true(performance.now() - beganMs < 5_000);
});

test('attributes and prefixes are limited, however they are distributed', (t) => {
  const many = (count: number, text: (i: number) => string): string =>
    `<a>${Array.from({ length: count }, (_, i) => text(i)).join('')}</a>`;
  const attributes = (count: number) => many(count, (i) => `<b c${i} = 'x' d${i}="x"/>`);
  t.notThrows(() => parseXml(attributes(1_000), LIMITS));
  t.throws(() => parseXml(attributes(1_001), LIMITS), { message: /more than 2000 attributes/ });
  // Okta and Keycloak write it like this: two declarations at each value, always of one prefix
  // each.
  const values = many(400, () => '<b xmlns:xs="u" xmlns:xsi="v" xsi:type="xs:string"/>');
  t.notThrows(() => parseXml(values, LIMITS));
  const prefixes = (count: number) => many(count, (i) => `<b xmlns:p${i}="u"/>`);
  t.notThrows(() => parseXml(prefixes(64), LIMITS));
  t.throws(() => parseXml(prefixes(65), LIMITS), { message: /more than 64 prefixes/ });
});

test('only direct children of the right name and namespace are children', (t) => {
  const root = parseXml('<a xmlns="u"><b/><b xmlns="v"/><c><b/></c><b/></a>', LIMITS);
  t.is(childrenOf(root, 'u', 'b').length, 2);
  t.true(isNamed(root, 'u', 'a'));
  t.false(isNamed(root, 'v', 'a'));
});

test('an element has a text only if it holds nothing else', (t) => {
  const text = (xml: string) => onlyTextIn(parseXml(xml, LIMITS));
  t.is(text('<a>one &amp; two</a>'), 'one & two');
  t.is(text('<a>\r\n\t one \n</a>'), 'one', 'the blanks of XML do not count');
  // To take these off would make one person of two.
  for (const blank of ['\u00a0', '\u2003', '\ufeff'])
    t.is(text(`<a>${blank}one${blank}</a>`), `${blank}one${blank}`);
  for (const xml of ['<a/>', '<a>one<!-- -->two</a>', '<a>one<b/></a>', '<a><![CDATA[one]]></a>'])
    t.is(text(xml), null, xml);
});
