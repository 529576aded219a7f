// The checksum: the example of RFC 1071, odd lengths, and a sum that is begun elsewhere.

import test from 'ava';
import { checksum } from '../../../dataplane/wire/checksum.ts';

const bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
const view = new DataView(Uint8Array.of(9, ...bytes, 9).buffer);

test('the example of RFC 1071, section 3', (t) => {
  t.is(checksum(view, 1, 8, 0), ~0xddf2 & 0xffff);
});

test('a last byte alone is the upper half of a word', (t) => {
  t.is(checksum(view, 1, 7, 0), ~0xdcfb & 0xffff);
  t.is(checksum(view, 1, 0, 0), 0xffff);
});

test('a sum goes on, and what is right comes to 0', (t) => {
  const first = ~checksum(view, 1, 4, 0) & 0xffff;
  t.is(checksum(view, 5, 4, first), checksum(view, 1, 8, 0));
  t.is(checksum(view, 1, 8, checksum(view, 1, 8, 0)), 0);
  t.is(checksum(view, 1, 0, 0xff_ffff), ~0xff & 0xffff);
});
