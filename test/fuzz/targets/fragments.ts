// Fragments in any order, damaged and repeated, of several owners: the collector does with them
// what its slow twin does, and gives each datagram out whole, in order and once.

import { fragmentHeader, ip } from '../../support/dataplane/packets.ts';
import { CollectingPair } from '../../support/filter/collecting.ts';
import { ChoiceReader } from '../reader.ts';

const OWNERS = 3;
const FRAGMENTS_MAX = 64;
/** Used by all inputs, because its memory is large. */
const pair = new CollectingPair(OWNERS);

/** Each fragment takes a few bytes of the input, of which some say how it is damaged. */
export function fragments(input: Uint8Array): string {
  const reader = new ChoiceReader(input);
  for (let owner = 0; owner < OWNERS; owner++) pair.forget(owner);
  const met = new Set<string>();
  for (let i = 0; i < FRAGMENTS_MAX && !reader.isAtEnd; i++) {
    const kind = reader.byte();
    const owner = kind % OWNERS;
    if (kind > 250) pair.wait(reader.word());
    else if (kind > 248) pair.forget(owner);
    else met.add(pair.take(fragment(reader, (kind & 64) !== 0), owner));
  }
  return [...met].sort().join();
}

function fragment(reader: ChoiceReader, isIpv6: boolean): Uint8Array {
  const [offset, size, choices] = [reader.byte(), reader.byte(), reader.byte()];
  const identification = choices & 1;
  const isLast = (choices & 2) !== 0;
  const protocol = [17, 6, 1, 58][(choices >> 2) & 3]!;
  // Long ones fill shares; most are whole units of 8 bytes.
  const bytes = (choices & 16) === 0 ? (size & 15) * 8 : size * 256;
  const payload = new Uint8Array(bytes + ((choices & 224) === 224 ? 3 : 0)).fill(choices >> 5);
  const place = (choices & 16) === 0 ? offset & 15 : offset * 32;
  const packet = isIpv6
    ? ip({
        source: 'fd00::2',
        destination: '2001:db8::1',
        protocol,
        payload: payload.subarray(0, 65_000),
        extensions: [fragmentHeader(place, !isLast, identification)],
      })
    : ip({
        source: '10.0.0.2',
        destination: '192.0.2.1',
        protocol,
        payload: payload.subarray(0, 65_000),
        identification,
        fragment: (isLast ? 0 : 0x2000) | place,
      });
  if (reader.byte() > 240) packet[reader.byte() % packet.length]! ^= 1 << (reader.byte() & 7);
  return packet;
}
