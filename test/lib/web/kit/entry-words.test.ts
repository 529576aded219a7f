// Wrong entries of forms, quoted, with the form that they should have.

import test from 'ava';
import { messages } from '../../../../lib/kit/validation/messages.ts';
import { hostErrors, quotedErrors } from '../../../../lib/web/kit/entry-words.ts';

test('a bad entry is quoted, and its form is said; other errors stay', (t) => {
  const { invalid, blank } = messages;
  const typed = {
    allowed_ips: '10.0.0.0/8, 10.0.0.300',
    destination: 'intranet.example.com',
    persistent_keepalive: 'often',
    default_client_mtu: '1e3',
    default_quota: '100 GiB',
    ipv4: 'fd00::1, fd00::2',
  };
  const errors = Object.fromEntries(Object.keys(typed).map((name) => [name, [invalid]]));
  const said = quotedErrors({ ...errors, name: [blank], role: [invalid] }, typed);
  t.regex(
    JSON.stringify(said['allowed_ips']),
    /^\["“10\.0\.0\.300” is neither an address nor a network/,
  );
  t.regex(
    JSON.stringify(said['destination']),
    /^\["“intranet\.example\.com” .* Names are not possible here"\]$/,
  );
  t.deepEqual(said['persistent_keepalive'], [
    '“often” is not a whole number of seconds, such as 25',
  ]);
  t.deepEqual(said['default_client_mtu'], ['“1e3” is not a whole number of bytes, such as 1280']);
  t.deepEqual(said['default_quota'], [
    '“100 GiB” is in a unit that is not taken here. It is the same as 107.3741824 GB',
  ]);
  const few = { quota: [{ code: 'atLeast', values: { limit: 1_000_000 } } as const] };
  t.deepEqual(quotedErrors(few, { quota: '100' }), {
    quota: ['This is very little. Did you mean 100 GB?'],
  });
  t.deepEqual(quotedErrors(few, { quota: '100 kB' }), {
    quota: [{ code: 'atLeast', values: { limit: '1 MB' } }],
  });
  const much = { limit_up: [{ code: 'atMost', values: { limit: 100_000_000_000 } } as const] };
  t.deepEqual(quotedErrors(much, { limit_up: '200 Gbit/s' }), {
    limit_up: [{ code: 'atMost', values: { limit: '100 Gbit/s' } }],
  });
  t.deepEqual(said['ipv4'], ['“fd00::1, fd00::2” is not an IPv4 address, such as 100.64.0.5']);
  t.deepEqual([said['name'], said['role']], [[blank], [invalid]]);
  t.deepEqual(quotedErrors({ mtu: [blank] }, { mtu: '' }), { mtu: [blank] });
});

test('hosts of numbers that are no address are refused, names and addresses are not', (t) => {
  const good = {
    dns: '1.1.1.1, fd00::1, 1und1.example, a.b',
    endpoint: '192.0.2.1:51820',
    mtu: '1',
  };
  t.deepEqual(hostErrors(good), {});
  const errors = hostErrors({ dns: '1.1.1.1, 1.1.1', default_client_endpoint: '300.1:51820' });
  t.deepEqual(Object.keys(errors), ['dns', 'default_client_endpoint']);
  t.deepEqual(errors['dns'], [{ code: 'hostOfNumbers', values: { host: '1.1.1' } }]);
});

test('who pastes the address of a page reads which host to give', (t) => {
  const page = 'https://vpn.example.com:8443/devices';
  t.deepEqual(hostErrors({ default_client_endpoint: page, dns: 'ftp://x.example' }), {
    default_client_endpoint: [{ code: 'hostOfPage', values: { page, host: 'vpn.example.com' } }],
  });
  const refused = (host: string) => [{ code: 'noHostName', values: { host } } as const];
  const endpoint = [{ code: 'hostOfPage', values: { page, host: 'vpn.example.com' } }];
  const typed = { endpoint: page, dns: 'dns!' };
  t.deepEqual(quotedErrors({ endpoint: refused(page), dns: refused('dns!') }, typed), {
    endpoint,
    dns: refused('dns!'),
  });
  for (const endpoint of ['https://', 'http:', 'https.example.com', 'https'])
    t.deepEqual(hostErrors({ endpoint }), {}, endpoint);
});
