// Inner packets: parsing never throws, never reads outside, and what it accepts lies inside.

import { strict as assert } from 'node:assert';
import { reasons } from '../../../dataplane/reasons.ts';
import {
  findFragmentError,
  hasMore,
  headBytes,
  wholeBytes,
} from '../../../dataplane/wire/fragment.ts';
import { isEchoRequest, turnIntoEchoReply } from '../../../dataplane/wire/icmp.ts';
import { InnerPacket, parseInner, takeHop, WHOLE } from '../../../dataplane/wire/ip.ts';
import { findMalformed } from '../../../dataplane/wire/malformed.ts';
import {
  hasReservedDestination,
  hasReservedSource,
  isBoundForMetadata,
} from '../../../dataplane/wire/ranges.ts';
import { ChoiceReader } from '../reader.ts';

const packet = new InnerPacket();

/** The first byte says how many more are there than the arena holds of the packet. */
export function inner(input: Uint8Array): void {
  const reader = new ChoiceReader(input);
  const offset = reader.byte() % 32;
  const bytes = reader.slice(2_000);
  // The view ends where the packet ends: a read past it throws.
  const arena = new Uint8Array(offset + bytes.length);
  arena.set(bytes, offset);
  const view = new DataView(arena.buffer);
  const before = arena.slice();
  const reason = parseInner(view, offset, bytes.length, packet);
  assert.deepEqual(arena, before, 'parsing changes nothing');
  if (reason !== reasons.none) return;
  assert(packet.length <= bytes.length);
  assert(packet.upperOffset <= packet.length);
  assert(packet.version === 4 || packet.version === 6);
  assert(packet.sourcePort >= -1 && packet.sourcePort <= 65_535);
  hasReservedSource(packet);
  hasReservedDestination(packet);
  isBoundForMetadata(packet);
  findMalformed(view, offset, packet);
  if (packet.fragment !== WHOLE) {
    const error = findFragmentError(view, offset, packet);
    assert(
      [reasons.none, reasons.inner_fragment_malformed, reasons.inner_fragment_unsafe].includes(
        error,
      ),
    );
    hasMore(view, offset, packet);
    assert(headBytes(packet) <= packet.length);
    assert(wholeBytes(packet, 8) > 8);
  }
  if (isEchoRequest(view, offset, packet)) turnIntoEchoReply(view, offset, packet);
  takeHop(view, offset, packet);
  assert.deepEqual(arena.subarray(0, offset), before.subarray(0, offset));
}
