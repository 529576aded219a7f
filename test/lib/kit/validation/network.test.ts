// Texts that name places in a network, as tables.

import test from 'ava';
import {
  canonicalHost,
  readAddress,
  readCidr,
  validateDnsServer,
  validateEndpoint,
} from '../../../../lib/kit/validation/network.ts';

test('an address is read in its canonical form, anything else is none', (t) => {
  const table: [text: string, read: string | null][] = [
    ['100.64.0.2', '100.64.0.2'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['fd00::1', 'fd00::1'],
    ['FD00:0:0::0001', 'fd00::1'],
    ['::', '::'],
    ['::ffff:1.2.3.4', '::ffff:102:304'],
    ['::1.2.3.4', '::102:304'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['10.0.0', null],
    ['10', null],
    ['010.0.0.1', null],
    ['0x0a.0.0.1', null],
    ['256.0.0.1', null],
    ['10.0.0.1/32', null],
    [' 10.0.0.1', null],
    ['fe80::1%eth0', null],
    ['fd00::1::2', null],
    ['::ffff:010.0.0.1', null],
    ['::ffff:0x7f.0.0.1', null],
    ['[fd00::1]', null],
    ['', null],
  ];
  for (const [text, read] of table) t.is(readAddress(text)?.text ?? null, read, text);
});

test('a CIDR keeps host bits and prefix as given', (t) => {
  const table: [text: string, read: string | null][] = [
    ['9.9.9.9/32', '9.9.9.9/32'],
    ['10.1.2.3/8', '10.1.2.3/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['10.1.2.3', '10.1.2.3'],
    ['FD00::/8', 'fd00::/8'],
    ['::/0', '::/0'],
    ['2001:DB8::1/128', '2001:db8::1/128'],
    ['10.0.0.0/33', null],
    ['10.0.0.0/-1', null],
    ['10.0.0.0/08', null],
    ['10.0.0.0/', null],
    ['10.0.0.0/8/8', null],
    ['10.0.0.0/255.0.0.0', null],
    ['10.0.0/8', null],
    ['::/129', null],
    ['fe80::1%1/64', null],
    ['example.com', null],
  ];
  for (const [text, read] of table) t.is(readCidr(text), read, text);
});

const LONG_LABEL = 'a'.repeat(63);
const LONG_NAME = `${LONG_LABEL}.${LONG_LABEL}.${LONG_LABEL}.${'a'.repeat(61)}`;

test('a DNS server is an address or a host name', (t) => {
  const good = [
    '1.1.1.1',
    '2606:4700::1111',
    'dns.example',
    '123',
    '1.2.3',
    'a_b-c',
    'example.com.',
    LONG_NAME,
  ];
  for (const text of good) t.deepEqual(validateDnsServer(text).codes, [], text);
  const bad: [text: string, host: string, codes: string[]][] = [
    ['1.1.1.1:53', '1.1.1.1', ['host.portInDns']],
    ['dns.example:0', 'dns.example', ['host.portInDns']],
    ['[2606:4700::1111]:53', '[2606:4700::1111]', ['host.portInDns']],
    ['a b:53', 'a b', ['host.fqdn', 'host.portInDns']],
    // Brackets are for a port, which none may have; resolvers take no address inside them.
    ['[2606:4700::1111]', '[2606:4700::1111]', ['host.fqdn']],
    ['1.1.1.1/32', '1.1.1.1/32', ['host.fqdn']],
    ['999.1.1.1', '999.1.1.1', ['host.fqdn']],
    ['1.2.3.4.', '1.2.3.4.', ['host.fqdn']],
    ['example..com', 'example..com', ['host.fqdn']],
    ['https://dns.example', 'https://dns.example', ['host.fqdn']],
    ['fe80::1%eth0', 'fe80::1%eth0', ['host.fqdn']],
    ['ü.example', 'ü.example', ['host.fqdn']],
    [`${LONG_LABEL}a`, `${LONG_LABEL}a`, ['host.fqdn']],
    [`${LONG_NAME}a`, `${LONG_NAME}a`, ['host.fqdn']],
    ['', '', ['host.fqdn']],
  ];
  for (const [text, host, codes] of bad)
    t.deepEqual(validateDnsServer(text), { host, codes }, text);
});

test('an endpoint is a host with or without a port', (t) => {
  const good = [
    'vpn.example.com',
    'vpn.example.com:51820',
    '123',
    '198.51.100.7:1',
    '198.51.100.7:65535',
    '2001:db8::1',
    '[2001:db8::1]',
    '[2001:db8::1]:51820',
  ];
  for (const text of good) t.deepEqual(validateEndpoint(text).codes, [], text);
  const bad: [text: string, host: string, codes: string[]][] = [
    ['vpn.example.com:0', 'vpn.example.com', ['host.badPort']],
    ['vpn.example.com:65536', 'vpn.example.com', ['host.badPort']],
    ['vpn.example.com:-1', 'vpn.example.com', ['host.badPort']],
    ['a b:99999', 'a b', ['host.fqdn', 'host.badPort']],
    ['a b', 'a b', ['host.fqdn']],
    ['vpn.example.com:', 'vpn.example.com:', ['host.fqdn']],
    ['vpn.example.com:x', 'vpn.example.com:x', ['host.fqdn']],
    ['https://vpn.example.com', 'https://vpn.example.com', ['host.fqdn']],
    ['1.2.3.4.5:1', '1.2.3.4.5', []],
    ['1.2.3.400:1', '1.2.3.400', ['host.fqdn']],
    ['[2001:db8::1%eth0]:1', '[2001:db8::1%eth0]', ['host.fqdn']],
    ['[1.2.3.4]:1', '[1.2.3.4]', ['host.fqdn']],
    ['[]', '[]', ['host.fqdn']],
  ];
  for (const [text, host, codes] of bad) t.deepEqual(validateEndpoint(text), { host, codes }, text);
});

test('a host name stays as it was given, an address becomes canonical', (t) => {
  t.is(canonicalHost('DNS.example'), 'DNS.example');
  t.is(canonicalHost('FD00::0'), 'fd00::');
});
