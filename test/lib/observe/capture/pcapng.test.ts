// Blocks of pcapng, byte by byte, as draft-ietf-opsawg-pcapng draws them.

import test from 'ava';
import {
  blockMemory,
  interfaceBlock,
  namesBlock,
  packetBlockBytes,
  sectionHeader,
  statisticsBlock,
  writePacketBlock,
} from '../../../../lib/observe/capture/pcapng.ts';

/** Bytes from hexadecimal words, each with what it means behind it. */
function bytes(...words: string[]): string {
  return words.map((word) => word.split(' -')[0]!.replaceAll(' ', '')).join('');
}

test('a section begins with its byte order, and its length is not known', (t) => {
  t.is(
    sectionHeader('Pst', 'hello').toString('hex'),
    bytes(
      '0a0d0d0a - section header',
      '34000000 - 52 bytes',
      '4d3c2b1a - byte order',
      '0100 0000 - version 1.0',
      'ffffffffffffffff - no length',
      '0100 0500 - comment, 5 bytes',
      '68656c6c 6f000000',
      '0400 0300 - application, 3 bytes',
      '50737400',
      '0000 0000 - end of options',
      '34000000',
    ),
  );
});

test('an interface says its name, and that packets begin with their IP header', (t) => {
  t.is(
    interfaceBlock({ name: 'refused', description: 'ab' }, 128).toString('hex'),
    bytes(
      '01000000 - interface description',
      '2c000000 - 44 bytes',
      '6500 0000 - LINKTYPE_RAW',
      '80000000 - 128 bytes of each packet',
      '0200 0700 - name',
      '72656675 73656400',
      '0300 0200 - description',
      '61620000',
      '0000 0000',
      '2c000000',
    ),
  );
});

test('names have addresses of both families', (t) => {
  t.is(
    namesBlock([
      { address: Uint8Array.of(10, 0, 0, 2), name: 'tv' },
      { address: Uint8Array.from({ length: 16 }, (_, i) => i), name: 'x' },
    ]).toString('hex'),
    bytes(
      '04000000 - name resolution',
      '34000000 - 52 bytes',
      '0100 0700 - IPv4',
      '0a000002 74760000',
      '0200 1200 - IPv6',
      '00010203 04050607 08090a0b 0c0d0e0f 78000000',
      '0000 0000 - end of records',
      '34000000',
    ),
  );
});

test('a packet has its time, its bytes, a comment and its direction', (t) => {
  const packet = {
    interface: 2,
    wallMs: 1_700_000_000_123,
    length: 1_400,
    bytes: Uint8Array.of(1, 2, 3, 4, 5),
    isOutbound: true,
    comment: Buffer.from('no'),
  };
  const size = packetBlockBytes(packet);
  const into = Buffer.alloc(size + 8, 0xee);
  t.is(writePacketBlock(blockMemory(into), 4, packet), 4 + size);
  const us = (1_700_000_000_123n * 1_000n).toString(16).padStart(16, '0');
  const word = (at: number): string =>
    Buffer.from(us, 'hex')
      .subarray(at, at + 4)
      .reverse()
      .toString('hex');
  t.is(
    into.toString('hex'),
    bytes(
      'eeeeeeee - what was before',
      '06000000 - enhanced packet',
      '3c000000 - 60 bytes',
      '02000000 - interface 2',
      `${word(0)} - time, high`,
      `${word(4)} - time, low`,
      '05000000 - captured',
      '78050000 - of 1,400',
      '01020304 05000000',
      '0100 0200 - comment',
      '6e6f0000',
      '0200 0400 - flags',
      '02000000 - outbound',
      '0000 0000',
      '3c000000',
      'eeeeeeee - what comes behind',
    ),
  );
  t.is(packetBlockBytes({ ...packet, bytes: new Uint8Array(0), comment: Buffer.alloc(0) }), 48);
});

test('counts have the time since when they are counted', (t) => {
  const block = statisticsBlock({
    interface: 1,
    beganMs: 1,
    nowMs: 2,
    received: 258,
    lost: 3,
    comment: 'end',
  });
  t.is(
    block.toString('hex'),
    bytes(
      '05000000 - interface statistics',
      '54000000 - 84 bytes',
      '01000000 - interface 1',
      '00000000 d0070000 - 2 ms',
      '0100 0300 - comment',
      '656e6400',
      '0200 0800 - since',
      '00000000 e8030000',
      '0300 0800 - until',
      '00000000 d0070000',
      '0400 0800 - received',
      '02010000 00000000',
      '0500 0800 - lost',
      '03000000 00000000',
      '0000 0000',
      '54000000',
    ),
  );
});

test('what people named cannot break a record or steer a terminal', (t) => {
  const name = 'a\0b\n\u001b[31m\u009b1m\u2028é';
  const text = namesBlock([{ address: Uint8Array.of(1, 2, 3, 4), name }]).toString();
  t.true(text.includes('a?b??[31m?1m?é\0'));
  t.true(sectionHeader('x', name).toString().includes('a?b??[31m?1m?é'));
});
