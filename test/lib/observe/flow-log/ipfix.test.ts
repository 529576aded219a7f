// Messages of IPFIX, read again by a decoder that knows the RFC alone: every record is there once,
// with its values; messages are short, in sequence, and of one domain.

import test from 'ava';
import fc from 'fast-check';
import { endReasons } from '../../../../dataplane/index.ts';
import { IpfixMessages } from '../../../../lib/observe/flow-log/ipfix.ts';
import { IpfixDecoder } from '../../../support/observe/decode-ipfix.ts';
import { loggedFlow } from '../../../support/observe/logged-flows.ts';
import { SEEDED } from '../../../support/dataplane/simulation.ts';

const DOMAIN = 0xfedc_ba98;
const WALL = Date.UTC(2026, 10, 25, 12, 2, 0, 999);

function hex(value: number, bytes: number): string {
  return BigInt(value)
    .toString(16)
    .padStart(2 * bytes, '0');
}

test('each side of a flow is a record, with the elements of IANA', (t) => {
  const messages = new IpfixMessages(DOMAIN);
  const decoder = new IpfixDecoder();
  const { templates } = decoder.read(messages.templates(WALL));
  t.is(templates, 6);
  const flow = loggedFlow();
  t.deepEqual(messages.add(flow, WALL), []);
  const message = decoder.read(messages.flush(WALL)!);
  t.like(message, { exportSeconds: Math.floor(WALL / 1_000), sequence: 0, domain: DOMAIN });
  const [sent, replied, ...others] = message.records;
  t.deepEqual(others, []);
  t.deepEqual(Object.fromEntries(sent!), {
    1: hex(1_800, 8),
    2: hex(12, 8),
    4: hex(6, 1),
    7: hex(50_000, 2),
    8: '64400002',
    11: hex(443, 2),
    12: '0a000005',
    89: hex(64, 1),
    136: hex(3, 1),
    152: hex(flow.openedMs, 8),
    153: hex(flow.latestMs, 8),
    233: hex(2, 1),
  });
  t.deepEqual(
    { ...Object.fromEntries(sent!), ...Object.fromEntries(replied!) },
    {
      ...Object.fromEntries(sent!),
      1: hex(24_000, 8),
      2: hex(20, 8),
      7: hex(443, 2),
      8: '0a000005',
      11: hex(50_000, 2),
      12: '64400002',
    },
  );
  t.is(messages.flush(WALL), null);
});

test('what opens and what is refused says so, over both families, and has no reason to end', (t) => {
  const messages = new IpfixMessages(DOMAIN);
  const decoder = new IpfixDecoder();
  decoder.read(messages.templates(WALL));
  const none = { sentPackets: 0, sentBytes: 0, replyPackets: 0, replyBytes: 0, because: null };
  messages.add(loggedFlow({ event: 'opened', ...none }), WALL);
  const v6 = { version: 6, source: new Uint8Array(16).fill(1), destination: new Uint8Array(16) };
  messages.add(
    loggedFlow({
      ...none,
      ...v6,
      event: 'refused',
      protocol: 58,
      sourcePort: null,
      destinationPort: null,
      sentPackets: 3,
    }),
    WALL,
  );
  const [opened, refused, ...others] = decoder.read(messages.flush(WALL)!).records;
  t.deepEqual(others, []);
  t.deepEqual([opened!.get(233), opened!.get(2), opened!.has(136)], ['01', hex(0, 8), false]);
  t.deepEqual([refused!.get(233), refused!.get(133), refused!.has(136)], ['03', hex(3, 8), false]);
  t.false(refused!.has(1) || refused!.has(2), 'what was refused was not carried');
  t.deepEqual([opened!.get(89), refused!.get(89)], [hex(64, 1), hex(128, 1)]);
  t.deepEqual([refused!.get(27), refused!.get(28)], ['01'.repeat(16), '00'.repeat(16)]);
  t.deepEqual([refused!.get(7), refused!.get(11)], ['0000', '0000']);
});

test('every reason to end has a number that the RFC knows', (t) => {
  const messages = new IpfixMessages(DOMAIN);
  const decoder = new IpfixDecoder();
  decoder.read(messages.templates(WALL));
  for (const because of endReasons) messages.add(loggedFlow({ because, replyPackets: 0 }), WALL);
  const reasons = decoder
    .read(messages.flush(WALL)!)
    .records.map((record) => Number(`0x${record.get(136)}`));
  t.deepEqual(reasons, [3, 3, 1, 4, 4, 5, 4, 4]);
});

test('in any course each record is in one message, and sequence numbers count them', (t) => {
  const anyFlow = fc
    .record({
      event: fc.constantFrom('opened' as const, 'ended' as const, 'refused' as const),
      version: fc.constantFrom(4, 4, 6),
      sentBytes: fc.nat({ max: 2 ** 40 }),
      replyPackets: fc.constantFrom(0, 1, 2 ** 33),
    })
    .map((fields) => {
      const length = fields.version === 4 ? 4 : 16;
      const address = (): Uint8Array => new Uint8Array(length).fill(7);
      return loggedFlow({ ...fields, source: address(), destination: address() });
    });
  const courses = fc.sample(fc.array(anyFlow, { minLength: 1, maxLength: 200, size: 'max' }), {
    ...SEEDED,
    numRuns: 50,
  });
  let several = 0;
  for (const course of courses) {
    const messages = new IpfixMessages(DOMAIN);
    const decoder = new IpfixDecoder();
    decoder.read(messages.templates(WALL));
    const all = course.flatMap((flow, i) => [
      ...messages.add(flow, WALL),
      ...(i % 90 === 89 ? [messages.flush(WALL)!] : []),
    ]);
    const last = messages.flush(WALL);
    if (last !== null) all.push(last);
    const read: string[] = [];
    for (const message of all) {
      t.true(message.length <= 1_400);
      const { sequence, records } = decoder.read(message);
      t.is(sequence, read.length);
      t.true(records.length > 0);
      read.push(
        ...records.map(
          (one) => `${one.get(233)} ${one.get(1) ?? one.get(132)} ${one.get(2) ?? one.get(133)}`,
        ),
      );
    }
    const event = { opened: '01', ended: '02', refused: '03' };
    const wanted = course.flatMap((flow) => [
      `${event[flow.event]} ${hex(flow.sentBytes, 8)} ${hex(flow.sentPackets, 8)}`,
      ...(flow.replyPackets > 0
        ? [`${event[flow.event]} ${hex(flow.replyBytes, 8)} ${hex(flow.replyPackets, 8)}`]
        : []),
    ]);
    t.deepEqual(read, wanted);
    if (all.length > 1) several++;
  }
  t.true(several > 10);
});
