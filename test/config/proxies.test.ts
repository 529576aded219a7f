// Ranges of proxies that hold addresses of devices.

import test from 'ava';
import { parseConfig } from '../../config/index.ts';

for (const [environment, overlaps] of [
  [{ TRUSTED_PROXIES: '10.0.0.0/8, 127.0.0.1,caddy' }, []],
  [{ TRUSTED_PROXIES: '100.64.0.80,100.64.0.81/32,fd00::80/128' }, []],
  [
    { TRUSTED_PROXIES: '10.0.0.0/8,100.64.0.0/24,fd00::/8' },
    [
      /^100\.64\.0\.0\/24, which overlaps WIREGUARD_IPV4_NETWORK \(100\.64\.0\.0\/10\)/,
      /^fd00::\/8, which overlaps WIREGUARD_IPV6_NETWORK \(fd00::\/106\)/,
    ],
  ],
  [
    {
      TRUSTED_PROXIES: '10.0.0.0/8',
      WIREGUARD_IPV4_NETWORK: '10.8.0.0/24',
      WIREGUARD_IPV4_ADDRESS: '10.8.0.1',
    },
    [/^10\.0\.0\.0\/8, which overlaps WIREGUARD_IPV4_NETWORK \(10\.8\.0\.0\/24\)/],
  ],
  [{ TRUSTED_PROXIES: '::/0', WIREGUARD_IPV6_ENABLED: 'false' }, []],
] as const)
  test(`${JSON.stringify(environment)} overlaps the tunnel ${overlaps.length} times`, (t) => {
    const { advice } = parseConfig(environment, () => '');
    const found = advice.filter((one) => /TRUSTED_PROXIES has /.test(one));
    t.is(found.length, overlaps.length);
    for (const [i, pattern] of overlaps.entries())
      t.regex(found[i]?.replace('TRUSTED_PROXIES has ', '') ?? '', pattern);
  });
