// How much the kernel may keep of each socket, with sockets that only remember what was set.

import test from 'ava';
import { constants } from 'node:os';
import { ROOM_RECEIVE, ROOM_SEND } from '../../../dataplane/socket-contract.ts';
import { firstOfTcp, firstOfUdp, Rooms } from '../../../dataplane/sockets/rooms.ts';

const KIB = 1_024;
const MIB = 1_024 * KIB;
const FIRST = 32 * KIB;

function makeRooms(slots = 64): { rooms: Rooms; set: Map<number, number>; busy: Set<number> } {
  const set = new Map<number, number>();
  const busy = new Set<number>();
  const setRoom = (handle: number, direction: number, bytes: number): number => {
    const key = 2 * handle + direction;
    if (busy.has(key) && bytes < set.get(key)!) return -constants.errno.EBUSY;
    set.set(key, bytes);
    return bytes;
  };
  return { rooms: new Rooms({ setRoom }, slots, 4), set, busy };
}

/** The rooms of a connection that carries many bytes. */
function grow(rooms: Rooms, slot: number, direction: number, now = 0): void {
  for (let i = 0; i < 10; i++) rooms.carried(slot, direction, 4 * MIB, now);
}

test('the sockets of a device share what they begin with, and each has the least', (t) => {
  t.is(firstOfTcp(1), FIRST);
  t.is(firstOfTcp(512), FIRST);
  t.is(firstOfTcp(1_024), 16 * KIB);
  t.is(firstOfTcp(65_536), 4 * KIB);
  t.is(firstOfUdp(64), 256 * KIB);
  t.is(firstOfUdp(1_024), 16 * KIB);
});

test('a connection grows with what it carries, each direction by itself', (t) => {
  const { rooms, set } = makeRooms();
  rooms.open(1, 1, 0, FIRST);
  rooms.carried(1, ROOM_RECEIVE, FIRST / 4, 0);
  t.is(set.size, 0);
  rooms.carried(1, ROOM_RECEIVE, FIRST / 4, 0);
  t.deepEqual([...set], [[2 + ROOM_RECEIVE, 4 * FIRST]]);
  grow(rooms, 1, ROOM_SEND);
  t.is(set.get(2 + ROOM_SEND), 4 * MIB);
  t.is(set.get(2 + ROOM_RECEIVE), 4 * FIRST);
  rooms.close(1);
  t.is(rooms.grownBytes, 0);
});

test('a device has no more than its part, and leaves a part to its next connection', (t) => {
  const { rooms, set } = makeRooms();
  for (let slot = 1; slot <= 8; slot++) {
    rooms.open(slot, slot, 0, FIRST);
    grow(rooms, slot, ROOM_RECEIVE);
  }
  t.true(rooms.grownBytes <= 16 * MIB);
  t.is(set.get(2), 4 * MIB);
  t.true(set.get(16)! > FIRST, 'the last one has grown too');
  rooms.open(17, 17, 1, FIRST);
  grow(rooms, 17, ROOM_RECEIVE);
  t.is(set.get(34), 4 * MIB, 'another device');
});

test('what carries nothing gives back, unless something waits in it', (t) => {
  const { rooms, set, busy } = makeRooms();
  for (let slot = 1; slot <= 8; slot++) {
    rooms.open(slot, slot, 0, FIRST);
    grow(rooms, slot, ROOM_RECEIVE);
  }
  busy.add(2);
  t.is(set.get(2), 4 * MIB);
  t.is(set.get(4), 4 * MIB);
  rooms.open(9, 9, 0, FIRST);
  for (let i = 0; i < 10; i++) grow(rooms, 9, ROOM_RECEIVE, 20_000);
  t.is(set.get(18), 4 * MIB);
  t.is(set.get(2), 4 * MIB, 'something waits in it');
  t.is(set.get(4), FIRST);
});

test('what the kernel has made larger by itself is counted', (t) => {
  let size = 416 * KIB;
  const setRoom = (_handle: number, _direction: number, bytes: number): number =>
    Math.min(size, Math.max(size, bytes));
  const rooms = new Rooms({ setRoom }, 4, 1);
  rooms.open(1, 1, 0, FIRST);
  grow(rooms, 1, ROOM_RECEIVE);
  t.is(rooms.grownBytes, 4 * MIB - FIRST);
  size = 6 * MIB;
  grow(rooms, 1, ROOM_RECEIVE);
  t.is(rooms.grownBytes, 6 * MIB - FIRST);
});
