// Whether an address is in a network, as bytes and as texts.

import test from 'ava';
import fc from 'fast-check';
import { holds, isInside } from '../../../../lib/kit/validation/networks.ts';

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

test('an address is inside exactly where the first bits are those of the network', (t) => {
  const bytes = fc.uint8Array({ minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(bytes, bytes, fc.integer({ min: 0, max: 32 }), (address, network, prefixBits) => {
      const bits = (of: Uint8Array): string =>
        [...of].map((byte) => byte.toString(2).padStart(8, '0')).join('');
      const wanted = bits(address).slice(0, prefixBits) === bits(network).slice(0, prefixBits);
      t.is(isInside(address, { network, prefixBits }), wanted);
      t.true(isInside(network, { network, prefixBits }));
    }),
  );
  t.false(isInside(new Uint8Array(16), { network: new Uint8Array(4), prefixBits: 0 }));
});
