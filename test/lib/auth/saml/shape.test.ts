// The shape of SAML messages, apart from their meaning; through whole answers: response.test.ts.

import test from 'ava';
import {
  checkMessageShape,
  decodeMessage,
  MESSAGE_CHARACTERS_MAX,
  parseMessage,
} from '../../../../lib/auth/saml/shape.ts';

const EXCLUSIVE = '<s:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>';
const SIGNATURE = '<s:Signature xmlns:s="http://www.w3.org/2000/09/xmldsig#"';

function examine(xml: string): void {
  const message = parseMessage(xml);
  checkMessageShape(message, [message]);
}

test('a plain message has a good shape, with one signature in its place too', (t) => {
  t.notThrows(() => examine('<m ID="a"><b ID="b">text</b></m>'));
  t.notThrows(() => examine(`<m>${SIGNATURE}/><b/></m>`));
});

const method = (name: string, algorithm: string) =>
  `<m>${SIGNATURE}><s:${name} Algorithm="${algorithm}"/></s:Signature></m>`;
const bad: [says: string, xml: string, why: RegExp][] = [
  ['a comment', '<m><!-- --></m>', /a comment/],
  ['an instruction', '<m><?a b?></m>', /instruction/],
  ['one id twice', '<m ID="a"><b ID="a"/></m>', /twice/],
  ['one id twice, written otherwise', '<m ID="a"><b id="a"/></m>', /twice/],
  ['one id twice, under another namespace', '<m ID="a"><b xmlns:x="u" x:Id="a"/></m>', /twice/],
  ['two signatures', `<m>${SIGNATURE}/>${SIGNATURE}/></m>`, /two signatures/],
  ['a signature deeper', `<m><b>${SIGNATURE}/></b></m>`, /out of place/],
  ['a signature in a signature', `<m>${SIGNATURE}>${SIGNATURE}/></s:Signature></m>`, /out of/],
  ['an object', `<m>${SIGNATURE}><s:Object/></s:Signature></m>`, /Object/],
  ['HMAC', method('SignatureMethod', 'http://www.w3.org/2000/09/xmldsig#hmac-sha1'), /algorithm/],
  ['no algorithm', method('SignatureMethod', ''), /algorithm/],
  ['XSLT', method('Transform', 'http://www.w3.org/TR/1999/REC-xslt-19991116'), /transformation/],
  ['two references', `<m>${SIGNATURE}><s:Reference/><s:Reference/></s:Signature></m>`, /one ref/],
  ['three transformations', `<m>${SIGNATURE}>${EXCLUSIVE.repeat(3)}</s:Signature></m>`, /too many/],
  ['MD5', method('DigestMethod', 'http://www.w3.org/2001/04/xmldsig-more#md5'), /algorithm/],
];
for (const [says, xml, why] of bad)
  test(`refused: ${says}`, (t) => {
    t.throws(() => examine(xml), { name: 'ProviderRefusal', message: why });
  });

test('a message is base64 of UTF-8, of bounded length', (t) => {
  t.is(decodeMessage(Buffer.from('<ü/>').toString('base64')), '<ü/>');
  t.is(decodeMessage('PH\r\ngvPg=='), '<x/>');
  for (const [text, why] of [
    ['', /not base64/],
    ['PHgvPg==x', /not base64/],
    ['-_', /not base64/],
    ['/w==', /not UTF-8/],
    ['A'.repeat(MESSAGE_CHARACTERS_MAX * 2), /too long/],
  ] as const)
    t.throws(() => decodeMessage(text), { message: why });
});
