// Addresses as text and bytes, and endpoint records.

import { isIP, isIPv4, isIPv6 } from 'node:net';
import test from 'ava';
import fc from 'fast-check';
import {
  clearEndpoint,
  copyEndpoint,
  createEndpointTable,
  endpoint,
  ENDPOINT_BYTES,
  formatAddress,
  formatEndpoint,
  hasEndpoint,
  parseAddress,
  readEndpoint,
  readLocal,
  restoreEndpoint,
  sameEndpoint,
  sourceOf,
  writeEndpoint,
} from '../../../dataplane/wire/address.ts';
import { address } from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

// ---- text to bytes -------------------------------------------------------------------------

const readable: readonly [text: string, hex: string][] = [
  ['0.0.0.0', '00000000'],
  ['255.255.255.255', 'ffffffff'],
  ['192.0.2.1', 'c0000201'],
  ['::', '00000000000000000000000000000000'],
  ['::1', '00000000000000000000000000000001'],
  ['1::', '00010000000000000000000000000000'],
  ['2001:db8::8:800:200c:417a', '20010db80000000000080800200c417a'],
  ['2001:DB8:0:0:8:800:200C:417A', '20010db80000000000080800200c417a'],
  ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
  ['1:2:3:4:5:6:7::', '00010002000300040005000600070000'],
  ['::2:3:4:5:6:7:8', '00000002000300040005000600070008'],
  ['::ffff:192.0.2.128', '00000000000000000000ffffc0000280'],
  ['64:ff9b::192.0.2.33', '0064ff9b0000000000000000c0000221'],
  ['1:2:3:4:5:6:1.2.3.4', '00010002000300040005000601020304'],
];

for (const [text, hex] of readable) {
  test(`${text} is ${hex}`, (t) => {
    t.is(Buffer.from(parseAddress(text)!).toString('hex'), hex);
  });
}

const unreadable: readonly string[] = [
  '',
  ' ',
  '1',
  '1.2.3',
  '1.2.3.4.5',
  '1.2.3.256',
  '01.2.3.4',
  '1.2.3.04',
  '0x1.2.3.4',
  '1.2.3.4 ',
  ' 1.2.3.4',
  '1.2..4',
  '+1.2.3.4',
  '1.2.3.4/32',
  ':',
  ':::',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1::2::3',
  '1:2:3:4:5:6:7:8::',
  '::1:2:3:4:5:6:7:8',
  ':1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:',
  '12345::',
  'g::',
  '::1.2.3',
  '::1.2.3.4:5',
  '1.2.3.4::',
  '1:2:3:4:5:6:7:1.2.3.4',
  '::1/128',
  '[::1]',
  '١.٢.٣.٤',
];

for (const text of unreadable) {
  test(`"${text}" is no address`, (t) => {
    t.is(parseAddress(text), null);
  });
}

test('any text is an address exactly when Node says so', (t) => {
  const texts = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.string({ maxLength: 20 }),
    fc.string({ unit: fc.constantFrom(...'01289afF:.'.split('')), maxLength: 24 }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const bytes = parseAddress(text);
      t.is(bytes?.length === 4, isIPv4(text), text);
      t.is(bytes?.length === 16, isIPv6(text), text);
    }),
    { ...SEEDED, numRuns: 3_000 },
  );
});

// ---- bytes to text -------------------------------------------------------------------------

// RFC 5952, section 4: lower case, no leading zeros, the longest run of zeros shortened, the first
// of equal runs, and never a single group.
const written: readonly [hex: string, text: string][] = [
  ['c0000201', '192.0.2.1'],
  ['00000000000000000000000000000000', '::'],
  ['00000000000000000000000000000001', '::1'],
  ['00010000000000000000000000000000', '1::'],
  ['20010db8000000010001000100010001', '2001:db8:0:1:1:1:1:1'],
  ['20010db8000000000001000000000001', '2001:db8::1:0:0:1'],
  ['20010000000000010000000000000001', '2001:0:0:1::1'],
  ['20010db80000000000000000abcdef12', '2001:db8::abcd:ef12'],
  ['00010002000300040005000600070000', '1:2:3:4:5:6:7:0'],
  ['00000002000300040005000600070008', '0:2:3:4:5:6:7:8'],
];

for (const [hex, text] of written) {
  test(`${hex} is written ${text}`, (t) => {
    t.is(formatAddress(new Uint8Array(Buffer.from(hex, 'hex'))), text);
  });
}

test('what was written is read again as the same bytes', (t) => {
  const sparse = fc.constantFrom(0, 0, 0, 1, 0xab, 0xff);
  const bytes = fc.oneof(
    fc.array(sparse, { minLength: 4, maxLength: 4 }),
    fc.array(sparse, { minLength: 16, maxLength: 16 }),
  );
  fc.assert(
    fc.property(bytes, (list) => {
      const text = formatAddress(Uint8Array.from(list));
      t.is(isIP(text), list.length === 4 ? 4 : 6);
      t.deepEqual([...parseAddress(text)!], list);
    }),
    { ...SEEDED, numRuns: 1_000 },
  );
});

// ---- endpoint records ----------------------------------------------------------------------

test('a record gives back the endpoint that was written, both families', (t) => {
  const table = createEndpointTable(3);
  writeEndpoint(table, 1, address('192.0.2.9'), 65_535);
  writeEndpoint(table, 2, address('2001:db8::9'), 1);
  t.deepEqual(readEndpoint(table, 1), { address: '192.0.2.9', port: 65_535 });
  t.deepEqual(readEndpoint(table, 2), { address: '2001:db8::9', port: 1 });
});

test('a record that was never written holds no endpoint', (t) => {
  const table = createEndpointTable(2);
  t.false(hasEndpoint(table, 0));
  t.is(readEndpoint(table, 0), null);
});

test('a source is an IPv4 address, or an IPv6 network of 64 bits, at any port', (t) => {
  const table = createEndpointTable(3);
  const of = (text: string, port: number): bigint => {
    writeEndpoint(table, 2, address(text), port);
    return sourceOf(table, 2);
  };
  t.is(of('192.0.2.9', 1), 0xc000_0209_0000_0000n);
  t.is(of('192.0.2.9', 2), of('192.0.2.9', 1));
  t.not(of('192.0.2.8', 1), of('192.0.2.9', 1));
  t.is(of('2001:db8:1:2::9', 1), 0x2001_0db8_0001_0002n);
  t.is(of('2001:db8:1:2:ffff::', 2), of('2001:db8:1:2::9', 1));
  t.not(of('2001:db8:1:3::9', 1), of('2001:db8:1:2::9', 1));
});

test('a cleared record holds no endpoint and keeps no byte', (t) => {
  const table = createEndpointTable(3);
  for (const slot of [0, 1, 2]) writeEndpoint(table, slot, address('::1'), 7);
  clearEndpoint(table, 1);
  t.deepEqual(
    [0, 1, 2].map((slot) => hasEndpoint(table, slot)),
    [true, false, true],
  );
  t.true(table.bytes.subarray(ENDPOINT_BYTES, 2 * ENDPOINT_BYTES).every((byte) => byte === 0));
});

test('writing a record removes the local address of the one before', (t) => {
  const table = createEndpointTable(1);
  table.bytes.fill(0xee);
  writeEndpoint(table, 0, address('192.0.2.9'), 7);
  t.true(table.bytes.subarray(endpoint.local).every((byte) => byte === 0));
});

test('a copy is the whole record and does not change the records beside it', (t) => {
  const table = createEndpointTable(4);
  for (let i = 0; i < table.bytes.length; i++) table.bytes[i] = i;
  const before = table.bytes.slice();
  copyEndpoint(table, 0, 2);
  const wanted = before.slice();
  wanted.copyWithin(2 * ENDPOINT_BYTES, 0, ENDPOINT_BYTES);
  t.deepEqual(table.bytes, wanted);
});

const identity: readonly [what: string, offset: number][] = [
  ['family', endpoint.family],
  ['port', endpoint.port],
  ['scope', endpoint.scope],
  ['first byte of the address', endpoint.address],
  ['last byte of the address', endpoint.address + 15],
  ['local address', endpoint.local],
  ['last byte of the local address', endpoint.local + 15],
  ['interface', endpoint.interface],
];

for (const [what, offset] of identity) {
  test(`records that differ in the ${what} are different endpoints`, (t) => {
    const table = createEndpointTable(2);
    t.true(sameEndpoint(table, 0, 1));
    table.bytes[ENDPOINT_BYTES + offset] = 1;
    t.false(sameEndpoint(table, 0, 1));
  });
}

test('a note of the engine does not make an endpoint another one', (t) => {
  const table = createEndpointTable(2);
  table.bytes[ENDPOINT_BYTES + endpoint.identity] = 1;
  t.true(sameEndpoint(table, 0, 1));
});

// docs/bugs-of-others.md#bug-13: IPv6 sources.
test('a link-local endpoint is written with its scope, so that it can be found again', (t) => {
  const table = createEndpointTable(1);
  writeEndpoint(table, 0, address('fe80::1'), 7);
  new DataView(table.bytes.buffer).setUint32(endpoint.scope, 3, true);
  t.deepEqual(readEndpoint(table, 0), { address: 'fe80::1%3', port: 7 });
});

test('an endpoint is an address and a port; IPv6 has brackets', (t) => {
  t.is(formatEndpoint({ address: '192.0.2.1', port: 51_820 }), '192.0.2.1:51820');
  t.is(formatEndpoint({ address: '2001:db8::1', port: 1 }), '[2001:db8::1]:1');
  t.is(formatEndpoint({ address: 'fe80::1%eth0', port: 1 }), '[fe80::1%eth0]:1');
});

test('what was read of a record is written again: the own address and the interface too', (t) => {
  const table = createEndpointTable(2);
  for (const [remote, local, scope] of [
    ['192.0.2.9', '198.51.100.1', 0],
    ['2001:db8::9', '2001:db8::1', 0],
    ['fe80::9', 'fe80::1', 3],
    ['192.0.2.9', null, 0],
  ] as const) {
    writeEndpoint(table, 0, address(remote), 51_820);
    table.view.setUint32(endpoint.scope, scope, true);
    if (local !== null) table.bytes.set(address(local), endpoint.local);
    const read = readEndpoint(table, 0);
    t.is(readLocal(table, 0), local);
    t.true(read !== null && restoreEndpoint(table, 1, read, readLocal(table, 0)));
    t.true(sameEndpoint(table, 0, 1), remote);
  }
});

test('an endpoint that cannot be read is not restored; a wrong own address is left out', (t) => {
  const table = createEndpointTable(1);
  t.false(restoreEndpoint(table, 0, { address: 'nowhere', port: 1 }, null));
  t.is(readEndpoint(table, 0), null);
  for (const local of ['2001:db8::1', 'nowhere']) {
    t.true(restoreEndpoint(table, 0, { address: '192.0.2.9', port: 1 }, local));
    t.is(readLocal(table, 0), null);
  }
});
