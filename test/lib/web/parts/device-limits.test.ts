// The limits that the pages of a device show: the first who says one counts, each way by itself.

import test from 'ava';
import { inheritedLimits, limitLines } from '../../../../lib/web/parts/device-limits.ts';

const NONE = { limit_down: null, limit_up: null };
const UNSAID = { default_limit_down: null, default_limit_up: null };

function shown(...of: Parameters<typeof limitLines>): unknown {
  return limitLines(...of).map(({ text, from }) => [text, from]);
}

test('the device says it, else its owner, else the settings', (t) => {
  const all = { default_limit_down: 100_000_000, default_limit_up: 64_000 };
  t.deepEqual(shown(NONE, undefined, UNSAID), [
    ['none', null],
    ['none', null],
  ]);
  t.deepEqual(shown(NONE, NONE, all), [
    ['100 Mbit/s', 'by default'],
    ['64 kbit/s', 'by default'],
  ]);
  t.deepEqual(shown(NONE, { limit_down: 1_500_000, limit_up: null }, all), [
    ['1.5 Mbit/s', 'of the user'],
    ['64 kbit/s', 'by default'],
  ]);
  const device = { limit_down: null, limit_up: 100_000_000_000 };
  t.deepEqual(shown(device, { limit_down: 64_001, limit_up: 70_000 }, all), [
    ['64.001 kbit/s', 'of the user'],
    ['100 Gbit/s', null],
  ]);
});

test('an empty field of a device says what it inherits, and of whom', (t) => {
  const all = { default_limit_down: 100_000_000, default_limit_up: null };
  t.deepEqual(inheritedLimits(undefined, all), {
    limit_down: '100 Mbit/s · by default',
    limit_up: 'no limit',
  });
  const owner = { limit_down: null, limit_up: 64_000 };
  t.deepEqual(inheritedLimits(owner, all), {
    limit_down: '100 Mbit/s · by default',
    limit_up: '64 kbit/s · of the user',
  });
});
