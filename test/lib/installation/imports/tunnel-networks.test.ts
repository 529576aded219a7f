// Which addresses a network of the tunnel holds.

import test from 'ava';
import { holds } from '../../../../lib/installation/imports/tunnel-networks.ts';

const rows: [network: string | null, inside: string[], outside: string[]][] = [
  ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255'], ['9.255.255.255', '11.0.0.0', '::', 'x']],
  ['10.1.2.3/9', ['10.127.0.1'], ['10.128.0.0']],
  ['192.0.2.7', ['192.0.2.7'], ['192.0.2.6', '192.0.2.8']],
  ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255'], ['::1', '::ffff:1.2.3.4']],
  ['fd00::/106', ['fd00::', 'fd00::3f:ffff'], ['fd00::40:0', '0.0.0.0']],
  ['::/0', ['::', 'ffff::1'], ['1.2.3.4', '']],
  ['fd00::1/129', [], ['fd00::1']],
  ['lan', [], ['10.0.0.1']],
  [null, [], ['10.0.0.1']],
];

for (const [network, inside, outside] of rows)
  test(`${network} holds ${inside.join(', ')} and not ${outside.join(', ')}`, (t) => {
    for (const address of inside) t.true(holds(network, address), address);
    for (const address of outside) t.false(holds(network, address), address);
  });
