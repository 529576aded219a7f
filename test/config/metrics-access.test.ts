// Who may read the metrics by default: this host, unless a proxy on it asks for everybody.

import test from 'ava';
import { defaultMetricsAccess } from '../../config/metrics-access.ts';

test('a public address with another port has a proxy in front', (t) => {
  const access = (externalUrl: string | null, httpPort: number): string =>
    defaultMetricsAccess({ externalUrl: externalUrl as string, httpPort });
  t.is(access('https://vpn.example.com/', 443), 'loopback');
  t.is(access('http://vpn.example.com:8080/', 8_080), 'loopback');
  t.is(access('https://vpn.example.com/', 8_080), 'token');
  t.is(access('http://vpn.example.com/', 443), 'token');
  t.is(access(null, 8_080), 'loopback');
  t.is(access('https://vpn.example.com/', 0), 'loopback');
});
