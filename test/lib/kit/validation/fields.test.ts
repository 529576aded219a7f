// Fields that more than one resource is made of.

import test from 'ava';
import {
  address,
  cidr,
  cidrList,
  dnsList,
  endpoint,
  reference,
  resource,
  text,
  url,
  urlError,
} from '../../../../lib/kit/validation/fields.ts';
import { validatorOf } from '../../../../lib/kit/validation/validate.ts';
import { validateInSentences } from '../../../support/api/in-sentences.ts';

const validate = validateInSentences(
  validatorOf<Record<string, unknown>>(
    resource({
      owner: reference('a record'),
      routes: cidrList('addresses and CIDRs'),
      dns: dnsList('DNS servers'),
      endpoint: endpoint('an endpoint'),
      ipv4: address('an address', 4),
      ipv6: address('an address', 6),
      destination: cidr('a destination'),
      url: url('a URL'),
      exact: text('four characters').exactly(4),
    }),
  ),
);

const UUID = '0190A0B0-c1d2-7e3f-8a4b-5c6d7e8f9a0b';

test('each field reads what it takes and says what is wrong with the rest', (t) => {
  const table: [field: string, sent: unknown, read: unknown, errors?: string[]][] = [
    ['owner', UUID, UUID.toLowerCase()],
    ['owner', 'nobody', 'nobody', ['does not exist']],
    ['owner', ` ${UUID}`, ` ${UUID}`, ['does not exist']],
    ['owner', 5, undefined, ['is invalid']],
    [
      'routes',
      ['10.1.2.3/8', ' 9.9.9.9/32 ', 'FD00::/8'],
      ['10.1.2.3/8', '9.9.9.9/32', 'fd00::/8'],
    ],
    ['routes', [], []],
    ['routes', ['1.1.1.1', '1.1.1.1/32'], ['1.1.1.1', '1.1.1.1/32']],
    ['routes', ['10.0.0.0/33'], undefined, ['is invalid']],
    ['routes', ['x', '1.1.1.1', '1.1.1.1'], undefined, ['is invalid']],
    ['routes', ['1.1.1.1', 5], undefined, ['is invalid']],
    ['routes', [null], undefined, ['is invalid']],
    ['routes', [''], undefined, ['is invalid']],
    ['routes', '10.0.0.0/8', undefined, ['is invalid']],
    ['routes', '["10.0.0.0/8"]', undefined, ['is invalid']],
    ['routes', { 0: '10.0.0.0/8' }, undefined, ['is invalid']],
    ['dns', ['1.1.1.1', ' dns.example ', 'FD00::1'], ['1.1.1.1', 'dns.example', 'fd00::1']],
    ['dns', ['a.b', 5], undefined, ['is invalid']],
    ['dns', 'a.b', undefined, ['is invalid']],
    ['endpoint', ' vpn.example.com:51820 ', 'vpn.example.com:51820'],
    ['endpoint', '[FD00::1]:51820', '[FD00::1]:51820'],
    ['endpoint', 5, undefined, ['is invalid']],
    ['ipv4', ' 100.64.0.9 ', '100.64.0.9'],
    ['ipv4', 'fd00::9', undefined, ['is invalid']],
    ['ipv4', '100.64.0.9/32', undefined, ['is invalid']],
    ['ipv6', 'FD00:0::9', 'fd00::9'],
    ['ipv6', '100.64.0.9', undefined, ['is invalid']],
    ['destination', ' 10.1.2.3/8 ', '10.1.2.3/8'],
    ['destination', '10.0.0', undefined, ['is invalid']],
    ['url', ' https://id.example/x ', 'https://id.example/x'],
    ['exact', 'abcd', 'abcd'],
    ['exact', '😀😀😀😀', '😀😀😀😀'],
    ['exact', 'abc', 'abc', ['should be 4 character(s)']],
    ['exact', 'abcde', 'abcde', ['should be 4 character(s)']],
  ];
  for (const [field, sent, read, errors] of table) {
    const validated = validate({ [field]: sent }, 'update');
    const label = `${field} ${JSON.stringify(sent)}`;
    t.deepEqual(validated.errors[field], errors, label);
    t.deepEqual(validated.values[field], read, label);
  }
});

test('each error of each member of a list has one message', (t) => {
  const table: [field: string, sent: unknown, errors: string[]][] = [
    ['routes', ['fd00::1', 'FD00:0::1'], ['should not contain duplicates']],
    ['dns', ['1.1.1.1', ' 1.1.1.1'], ['should not contain duplicates']],
    ['dns', ['a b', 'c d'], ['a b is not a valid FQDN', 'c d is not a valid FQDN']],
    ['dns', ['1.1.1.1:53', '8.8.8.8:53'], ['setting port is not allowed']],
    ['dns', ['a b:5'], ['a b is not a valid FQDN', 'setting port is not allowed']],
    ['dns', ['{#label}'], ['{#label} is not a valid FQDN']],
    ['endpoint', 'a b:0', ['a b is not a valid FQDN', 'port is not a number between 0 and 65535']],
  ];
  for (const [field, sent, errors] of table)
    t.deepEqual(validate({ [field]: sent }, 'update').errors, { [field]: errors });
});

test('an address of the web has a host and is http or https', (t) => {
  const noHost = [
    'example.com',
    '//example.com',
    'http://',
    'mailto:a@b.c',
    'http:/x',
    '/x',
    'h t',
  ];
  for (const value of noHost) t.is(urlError(value), 'url.host', value);
  for (const value of ['ftp://example.com', 'javascript://x']) t.is(urlError(value), 'url.scheme');
  t.is(urlError('http://exa mple.com'), 'url.host');
  for (const value of ['http://10.0.0.1:8080/x', 'HTTPS://example.com'])
    t.is(urlError(value), null);
});

test('a list that is too long is refused before its members are looked at', (t) => {
  const many = (count: number, text: (i: number) => string): string[] =>
    Array.from({ length: count }, (_, i) => text(i));
  const routes = many(1_000, (i) => `10.0.${i >> 8}.${i & 255}/32`);
  t.deepEqual(validate({ routes }, 'update').errors, {});
  const dns = many(100, (i) => `dns${i}.example`);
  t.deepEqual(validate({ dns }, 'update').errors, {});
  const longer = { routes: [...routes, '!'], dns: [...dns, '!'] };
  t.deepEqual(validate(longer, 'update'), {
    values: {},
    errors: {
      routes: ['should have at most 1000 item(s)'],
      dns: ['should have at most 100 item(s)'],
    },
  });
  const most = { dns: many(250_000, () => '!') };
  t.deepEqual(validate(most, 'create').errors['dns'], ['should have at most 100 item(s)']);
});
