// Reading an assertion whose signature was found good: that it is whole, and for us. What a provider
// may bend in it, with all around it: response.test.ts.

import test from 'ava';
import { readAssertion } from '../../../../lib/auth/saml/assertion.ts';
import { parseSamlMetadata } from '../../../../lib/auth/saml-metadata.ts';
import { addressesOf } from '../../../../lib/auth/saml/service-provider.ts';
import {
  assertionXml,
  goodWords,
  idpKey,
  idpMetadata,
  OUR_ENTITY_ID,
  type Said,
} from '../../../support/auth/bad-saml-provider.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const provider = samlEntry({ metadata: idpMetadata(signOnService()) });
const setup = {
  provider,
  metadata: parseSamlMetadata(provider.metadata),
  ours: { entityId: OUR_ENTITY_ID, key: idpKey },
  requestId: '_r',
};
const { consume } = addressesOf(provider);

function xml(said: Partial<Said> = {}): string {
  return assertionXml({ ...goodWords('_r', consume), ...said });
}

test('whoever bears it for this request, by one of several confirmations', (t) => {
  const other = '<a:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:holder-of-key"/>';
  const good = xml();
  const several = good.replace('<a:SubjectConfirmation ', `${other}<a:SubjectConfirmation `);
  t.is(readAssertion(several, setup, new Date()).nameId, 'person@example.com');
  t.is(readAssertion(good, setup, new Date()).sessionIndex, 's1');
});

test('the name of a person is the attribute displayName, else cn', (t) => {
  const said = (...attributes: [name: string, value: string][]) => {
    const values = attributes.map(
      ([name, value]) =>
        `<a:Attribute Name="${name}"><a:AttributeValue>${value}</a:AttributeValue></a:Attribute>`,
    );
    const statement = `<a:AttributeStatement>${values.join('')}</a:AttributeStatement>`;
    return readAssertion(xml({ attributes: statement }), setup, new Date()).personName;
  };
  t.is(said(['cn', 'ann'], ['displayName', 'Ann Lee']), 'Ann Lee');
  t.is(said(['urn:oid:2.5.4.3', 'Ann Lee']), 'Ann Lee');
  t.is(said(['mail', 'ann@example.com']), undefined);
});

test('groups are the values of the attribute that the entry names', (t) => {
  const attribute = (name: string, ...values: string[]): string =>
    `<a:Attribute Name="${name}">${values.map((value) => `<a:AttributeValue>${value}</a:AttributeValue>`).join('')}</a:Attribute>`;
  const said = (groups_attribute: string | undefined, ...attributes: string[]) => {
    const entry = { ...provider, ...(groups_attribute === undefined ? {} : { groups_attribute }) };
    const statement = `<a:AttributeStatement>${attributes.join('')}</a:AttributeStatement>`;
    const text = xml({ attributes: statement });
    return readAssertion(text, { ...setup, provider: entry }, new Date()).groups;
  };
  const both = attribute('groups', 'vpn', ' ops ');
  t.is(said(undefined, both), undefined, 'nobody asks');
  t.deepEqual(said('groups', both), { names: ['vpn', 'ops'] });
  t.deepEqual(said('groups', attribute('groups')), { names: [] });
  t.deepEqual(said('groups', attribute('groups', '', ' ', 'vpn')), { names: ['vpn'] });
  for (const nested of ['<x xmlns="urn:x">vpn</x>', 'vpn<x xmlns="urn:x"/>'])
    for (const values of [[nested], ['vpn', nested]])
      t.deepEqual(said('GROUPS', attribute('groups', ...values)), { problem: 'unreadable' });
  t.deepEqual(said('member', both), { names: [] });
  const link = attribute('http://schemas.microsoft.com/claims/groups.link', 'https://graph');
  t.deepEqual(said('groups', link), { problem: 'overage' });
  t.deepEqual(said('groups', link, both), { names: ['vpn', 'ops'] });
});

/** Made when each is read: this file may wait for its turn longer than an assertion is valid. */
const bad: [says: string, xml: () => string, why: RegExp][] = [
  ['something else', () => '<a/>', /not an assertion/],
  [
    'another namespace',
    () => xml().replace('SAML:2.0:assertion', 'SAML:1.0:assertion'),
    /not an assert/,
  ],
  ['no id', () => xml({ assertionId: '' }), /ID/],
  [
    'two issuers',
    () => xml().replace('<a:Subject>', '<a:Issuer>x</a:Issuer><a:Subject>'),
    /Issuer/,
  ],
  ['two subjects', () => xml().replace('<a:Subject>', '<a:Subject/><a:Subject>'), /Subject/],
  ['two names', () => xml().replace('<a:NameID', '<a:NameID>admin</a:NameID><a:NameID'), /NameID/],
  [
    'a local time',
    () => xml().replace(/NotBefore="[^"]+"/, 'NotBefore="2026-11-21T12:00:00"'),
    /not a time/,
  ],
  ['no time', () => xml().replace(/NotOnOrAfter="[^"]+"/g, 'NotOnOrAfter="soon"'), /not a time/],
  [
    'two conditions',
    () => xml().replace('<a:Conditions', '<a:Conditions/><a:Conditions'),
    /Conditions/,
  ],
];
for (const [says, makeXml, why] of bad)
  test(`refused: ${says}`, (t) => {
    t.throws(() => readAssertion(makeXml(), setup, new Date()), {
      name: 'ProviderRefusal',
      message: why,
    });
  });
