// What came through the tunnel of a peer: each thing with its time, in the words of people.

import test from 'ava';
import { reasons } from '../../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { Inside } from '../../../dataplane/wireguard/inside.ts';
import { udp, viewOf } from '../../support/dataplane/packets.ts';

const WALL_MS = 1_000_000;

function read(bytes: Uint8Array): InnerPacket {
  const packet = new InnerPacket();
  parseInner(viewOf(bytes), 0, bytes.length, packet);
  return packet;
}

test('nothing was seen', (t) => {
  t.deepEqual(new Inside(7).read(50, WALL_MS), {
    sinceMs: 7,
    passedAtMs: null,
    largest: 0,
    refused: null,
    wrongSource: null,
    tooBig: null,
  });
});

test('each thing is remembered with its last time', (t) => {
  const inside = new Inside(7);
  inside.passed(1_400, 10);
  inside.passed(60, 20);
  const from4 = read(udp({ source: '192.168.1.7', destination: '10.0.0.1' }));
  const from6 = read(udp({ source: '2001:db8::7', destination: 'fd00::1' }));
  inside.refused(reasons.inner_source_not_allowed, from4, 30);
  t.deepEqual(inside.read(50, WALL_MS).wrongSource, {
    address: '192.168.1.7',
    count: 1,
    atMs: WALL_MS - 20,
  });
  inside.refused(reasons.inner_source_not_allowed, from6, 31);
  inside.refused(reasons.default_drop, from4, 32);
  inside.tooBig(1_500, 33);
  t.deepEqual(inside.read(50, WALL_MS), {
    sinceMs: 7,
    passedAtMs: WALL_MS - 30,
    largest: 1_400,
    refused: { reason: 'default_drop', atMs: WALL_MS - 18 },
    wrongSource: { address: '2001:db8::7', count: 2, atMs: WALL_MS - 19 },
    tooBig: { bytes: 1_500, count: 1, atMs: WALL_MS - 17 },
  });
});

test('sizes are those since the latest handshake', (t) => {
  const inside = new Inside(7);
  inside.passed(1_400, 10);
  inside.tooBig(1_500, 10);
  inside.begin();
  t.like(inside.read(50, WALL_MS), { largest: 0, tooBig: null });
  inside.passed(60, 20);
  t.is(inside.read(50, WALL_MS).largest, 60);
});
