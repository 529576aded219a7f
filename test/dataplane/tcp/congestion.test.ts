// What all kinds of congestion control share.

import test from 'ava';
import { MSS, RCV_SHIFT, WORDS } from '../../../dataplane/tcp/columns.ts';
import { initialWindow, OWN_SHIFT, segmentOf } from '../../../dataplane/tcp/congestion.ts';

test('the initial window (RFC 6928, 2)', (t) => {
  t.is(initialWindow(1_000), 10_000);
  t.is(initialWindow(1_460), 14_600);
  t.is(initialWindow(2_000), 14_600);
  t.is(initialWindow(8_000), 16_000);
});

test('a segment is the MSS, and windows of 4 MiB can be announced', (t) => {
  const words = new Int32Array(2 * WORDS);
  words[WORDS + MSS] = 1_380;
  words[WORDS + RCV_SHIFT] = OWN_SHIFT;
  t.is(segmentOf(words, 1), 1_380);
  t.true(65_535 * 2 ** OWN_SHIFT >= 4 * 1_048_576);
});
