// Which client address a request has, and which proxies are believed about it.

import type { IncomingMessage } from 'node:http';
import test from 'ava';
import {
  addressFinder,
  addressOf,
  isInAny,
  parseRanges,
} from '../../../../lib/kit/http/client-address.ts';
import { readAuditEntries } from '../../../../models/index.ts';
import { openServer } from '../../../support/api/server.ts';

const proxies = parseRanges('10.0.0.0/8, 192.0.2.7,fd00::/8');
const trusts = (address: string): boolean => isInAny(address, proxies);

const rows: [says: string, remote: string, forwarded: string, address: string][] = [
  ['without a proxy it is the other end', '198.51.100.1', '', '198.51.100.1'],
  ['a stranger is not believed', '198.51.100.1', '203.0.113.5', '198.51.100.1'],
  ['a proxy is', '192.0.2.7', '203.0.113.5', '203.0.113.5'],
  ['the last one that it saw counts', '10.0.0.1', '203.0.113.5, 203.0.113.6', '203.0.113.6'],
  ['a chain of proxies is followed', '10.0.0.1', '203.0.113.5, 10.0.0.9, 10.1.1.1', '203.0.113.5'],
  ['what comes before a stranger is not', '10.0.0.1', '1.1.1.1, 203.0.113.5', '203.0.113.5'],
  ['a proxy that says nothing is the client', '10.0.0.1', '', '10.0.0.1'],
  ['nonsense ends the chain', '10.0.0.1', '203.0.113.5, unknown', '10.0.0.1'],
  ['IPv6 has one spelling', 'fd00::1', '2001:DB8:0:0::1', '2001:db8::1'],
  ['an IPv4 address inside IPv6 is that one', '::ffff:10.0.0.1', '203.0.113.5', '203.0.113.5'],
  ['ports are left out', '10.0.0.1', '[2001:db8::1]:443', '2001:db8::1'],
  ['ports are left out of IPv4 too', '10.0.0.1', '203.0.113.5:443', '203.0.113.5'],
  ['a zone is left out', 'fe80::1%eth0', '', 'fe80::1'],
];

for (const [says, remote, forwarded, address] of rows)
  test(says, (t) => t.is(addressOf(remote, forwarded, trusts), address));

test('no proxies are trusted by default', (t) => {
  t.deepEqual(parseRanges(null), []);
  t.is(
    addressOf('127.0.0.1', '203.0.113.5', () => false),
    '127.0.0.1',
  );
});

test('the audit trail holds the address that a trusted proxy sent', async (t) => {
  const { send, database } = await openServer(t, 'sqlite', { TRUSTED_PROXIES: '127.0.0.0/8' });
  const headers = { 'x-forwarded-for': '203.0.113.5' };
  await send('POST', '/v0/rules', { headers, body: { rule: { destination: '10.0.0.1' } } });
  const [entry] = await readAuditEntries(database, { limit: 1 });
  t.is(entry?.address, '203.0.113.5');
});

test('the address of a request is found once, whoever asks', async (t) => {
  let asked = 0;
  const find = addressFinder({
    trusts,
    trustsPeer: ({ remoteAddress = '' }) => trusts(remoteAddress),
    heed: () => {
      asked += 1;
      return Promise.resolve();
    },
  });
  const headers = { 'x-forwarded-for': '203.0.113.5' };
  const request = { socket: { remoteAddress: '10.0.0.1' }, headers } as unknown as IncomingMessage;
  t.is(await find(request), '203.0.113.5');
  t.is(find(request), '203.0.113.5');
  t.is(asked, 1);
  const other = {
    socket: { remoteAddress: '10.0.0.1' },
    headers: {},
  } as unknown as IncomingMessage;
  t.is(find(other), '10.0.0.1');
  const gone = { socket: {}, headers: {} } as unknown as IncomingMessage;
  t.is(find(gone), '');
});
