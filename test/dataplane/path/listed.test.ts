// What lists have in common: which devices are asked for, addresses as text, and times that stay the
// same however often they are read.

import test from 'ava';
import {
  addressText,
  hasPorts,
  ListedDevices,
  type ListedFrom,
  WallTimes,
} from '../../../dataplane/path/listed.ts';
import { wordsOf } from '../../../dataplane/wire/network.ts';
import type { KnownPeer } from '../../../dataplane/wireguard/known-peer.ts';
import { address } from '../../support/dataplane/packets.ts';

const peers = [
  { id: 'a', slot: 0, isHere: true },
  { id: 'b', slot: 1, isHere: false },
  { id: 'c', slot: 2, isHere: true, isElsewhere: true },
] as unknown as KnownPeer[];
const devices = new ListedDevices({
  tracker: { scopeOf: (slot: number) => ['alice', 'bob'][slot] ?? null } as ListedFrom['tracker'],
  tunnel: {
    known: (key) => peers.find(({ id }) => id === key),
    atSlot: (slot) => peers[slot] ?? null,
  },
});

test('a device is asked for by its key, by its scope, or by both', (t) => {
  const asked = (device: string | null, scope: string | null): boolean[] =>
    [-1, 0, 1].map(devices.asked({ device, scope }));
  t.deepEqual(asked(null, null), [true, true, true]);
  t.deepEqual(asked('a', null), [false, true, false]);
  t.deepEqual(asked(null, 'bob'), [false, false, true]);
  t.deepEqual(asked('a', 'bob'), [false, false, false]);
  t.deepEqual(
    ['a', 'x', null].map((device) => devices.isNobody({ device, scope: null })),
    [false, true, false],
  );
  t.deepEqual(
    [-1, 0, 1, 2, 3].map((slot) => devices.keyOf(slot)),
    [null, 'a', 'b', 'c', null],
  );
  t.deepEqual(
    [-1, 0, 1, 2, 3].map((slot) => devices.isHere(slot)),
    [false, true, false, false, false],
  );
});

test('addresses of words are the texts that they were made of', (t) => {
  for (const text of ['10.0.0.2', '255.255.255.255', 'fd00::2', '2001:db8:ffff::1'])
    t.is(addressText(text.includes(':') ? 6 : 4, wordsOf(address(text))), text);
  t.deepEqual([1, 6, 17, 47, 58].map(hasPorts), [false, true, true, false, false]);
});

test('a time is read the same again, and follows a clock that was set', (t) => {
  const times = new WallTimes();
  const wallAt = (now: number): number => Math.floor(now + 1_000_000.4);
  const read = new Set<number>();
  for (let now = 500; now < 900; now += 7.3) {
    times.begin(now, wallAt(now));
    read.add(times.of(400.2));
  }
  t.is(read.size, 1);
  // The thread lost its processor between its looks at the two clocks.
  for (const lateMs of [6.3, 40, 700, 0]) {
    times.begin(900, wallAt(900.8 + lateMs));
    read.add(times.of(400.2));
  }
  t.is(read.size, 1, 'in spite of a thread that waits');
  times.begin(900, wallAt(900) + 60_000);
  t.is(times.of(900), wallAt(900) + 60_000);
});
