// Whether an address is in a network.

import test from 'ava';
import fc from 'fast-check';
import { isInside } from '../../../../lib/kit/validation/networks.ts';

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
