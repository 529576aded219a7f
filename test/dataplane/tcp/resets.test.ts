// RST for segments of no connection (RFC 9293, 3.10.7.1).

import test from 'ava';
import { Header } from '../../../dataplane/tcp/header.ts';
import { lengthOf, Resets } from '../../../dataplane/tcp/resets.ts';
import { Segment } from '../../../dataplane/tcp/segment.ts';
import { Ends } from '../../../dataplane/tcp/table.ts';

function segment(fields: Partial<Segment>): Segment {
  return Object.assign(new Segment(), fields);
}

function answerTo(fields: Partial<Segment>): [flags: number, sequence: number, ack: number] | null {
  const resets = new Resets();
  resets.answer(3, new Ends(), segment(fields));
  if (resets.count === 0) return null;
  const header = new Header(new Ends());
  resets.take(header);
  return [header.flags, header.sequence, header.acknowledgement];
}

test('with ACK: its number; without: an acknowledgement of all of it; RST: nothing', (t) => {
  t.deepEqual(answerTo({ flags: 0x10, sequence: 9, acknowledgement: 77 }), [0x04, 77, 0]);
  t.deepEqual(answerTo({ flags: 0x03, sequence: -1, length: 5 }), [0x14, 0, 6]);
  t.is(answerTo({ flags: 0x04 }), null);
  t.is(lengthOf(segment({ flags: 0x03, length: 5 })), 7);
  t.is(lengthOf(segment({ flags: 0x18, length: 5 })), 5);
});

test('they come out in their order, with their ends; a full ring answers nobody', (t) => {
  const resets = new Resets();
  const header = new Header(new Ends());
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 300; i++) {
      const ends = new Ends();
      ends.isIpv6 = i % 2 === 1;
      ends.words.set([i, 2, 3, 4, 5, 6, 7, 8, 9]);
      resets.answer(i, ends, segment({ flags: 0x10, acknowledgement: i }));
    }
    t.is(resets.count, 256);
    for (let i = 0; i < 256; i++) {
      t.is(resets.take(header), i);
      t.is(header.sequence, i);
      t.is(header.ends.isIpv6, i % 2 === 1);
      t.deepEqual([...header.ends.words.subarray(0, 9)], [i, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
    t.is(resets.count, 0);
  }
});
