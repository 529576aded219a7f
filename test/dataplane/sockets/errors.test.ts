// ICMP errors for devices.

import { constants } from 'node:os';
import test from 'ava';
import { createPacketBatch } from '../../../dataplane/contract.ts';
import {
  HOST_UNREACHABLE,
  IcmpErrors,
  isOwnError,
  NETWORK_UNREACHABLE,
  PORT_UNREACHABLE,
  PROHIBITED,
  TOO_BIG,
  unreachable,
} from '../../../dataplane/sockets/errors.ts';
import { Outbox } from '../../../dataplane/sockets/outbox.ts';
import { Ends } from '../../../dataplane/tcp/table.ts';
import { formatAddress, parseAddress } from '../../../dataplane/wire/address.ts';
import { InnerPacket, parseInner, parseQuoted, PROTOCOL_TCP } from '../../../dataplane/wire/ip.ts';
import { wordsOf } from '../../../dataplane/wire/network.ts';
import { checksum, echoReply, flagsOf, tcp, udp, viewOf } from '../../support/dataplane/packets.ts';

const network = (address: string, bits: number) => ({
  address: parseAddress(address)!,
  network: parseAddress(address)!,
  prefixBits: bits,
});

function makeErrors(): { errors: IcmpErrors; taken: () => Buffer } {
  const errors = new IcmpErrors(network('10.8.0.1', 24), network('fd00::1', 64), 4);
  errors.begin(1_000);
  const batch = createPacketBatch();
  const outbox = new Outbox(batch, true);
  const taken = (): Buffer => {
    batch.count = 0;
    const { offset } = outbox;
    errors.make(outbox);
    return Buffer.from(batch.bytes.subarray(offset, offset + batch.descriptors[1]!));
  };
  return { errors, taken };
}

function about(errors: IcmpErrors, packet: Uint8Array, ...what: [typeof TOO_BIG, number?]): void {
  const inner = new InnerPacket();
  parseInner(viewOf(packet), 0, packet.length, inner);
  errors.aboutPacket(1, viewOf(packet), 0, inner, ...what);
}

test('an error quotes the packet, and comes from the gateway', (t) => {
  const { errors, taken } = makeErrors();
  const packet = udp({ source: '10.8.0.2', destination: '192.0.2.7', sourcePort: 5, data: 'x' });
  about(errors, packet, TOO_BIG, 1_280);
  const error = taken();
  t.is(formatAddress(error.subarray(12, 16)), '10.8.0.1');
  t.is(formatAddress(error.subarray(16, 20)), '10.8.0.2');
  t.deepEqual([error[20], error[21], error.readUInt32BE(24)], [3, 4, 1_280]);
  t.deepEqual(new Uint8Array(error.subarray(28)), packet);
  t.is(checksum(error.subarray(0, 20)), 0);
  t.is(checksum(error.subarray(20)), 0);
  t.is(errors.count, 0);
});

test('a refused port is said by the destination, over IPv6, too', (t) => {
  const { errors, taken } = makeErrors();
  about(
    errors,
    udp({ source: 'fd00::2', destination: '2001:db8::7', data: 'x' }),
    PORT_UNREACHABLE,
  );
  const error = taken();
  t.is(formatAddress(error.subarray(8, 24)), '2001:db8::7');
  t.is(formatAddress(error.subarray(24, 40)), 'fd00::2');
  t.deepEqual([...error.subarray(40, 42)], [1, 4]);
});

test('an error about a connection quotes its ends and the number of its SYN', (t) => {
  const { errors, taken } = makeErrors();
  const ends = new Ends();
  ends.words.set(wordsOf(parseAddress('192.0.2.7')!), 0);
  ends.words.set(wordsOf(parseAddress('10.8.0.2')!), 4);
  ends.words[8] = (443 << 16) | 50_000;
  errors.aboutEnds(1, ends, PROTOCOL_TCP, HOST_UNREACHABLE, 77);
  const error = taken();
  const quoted = new InnerPacket();
  t.true(parseQuoted(viewOf(error), 28, error.length - 28, quoted));
  t.deepEqual([quoted.sourcePort, quoted.destinationPort], [50_000, 443]);
  t.is(error.readUInt32BE(28 + 20 + 4), 77);
});

test('an error is answered by none, and a device gets only so many', (t) => {
  const { errors, taken } = makeErrors();
  const packet = udp({ source: '10.8.0.2', destination: '192.0.2.7', data: 'x' });
  about(errors, packet, HOST_UNREACHABLE);
  about(errors, taken(), HOST_UNREACHABLE);
  t.is(errors.count, 0);
  for (let i = 0; i < 100; i++) about(errors, packet, HOST_UNREACHABLE);
  t.is(errors.count, 31);
  about(errors, echoReply('10.8.0.2', '192.0.2.7'), HOST_UNREACHABLE);
  t.is(errors.count, 31);
  about(
    errors,
    tcp({ source: '10.8.0.2', destination: '192.0.2.7', flags: flagsOf('S') }),
    TOO_BIG,
  );
  t.is(errors.count, 31);
});

test('errors of calls are of the way, of this host, or of neither', (t) => {
  const { errno } = constants;
  t.is(unreachable(errno.EHOSTUNREACH), HOST_UNREACHABLE);
  t.is(unreachable(errno.ENETUNREACH), NETWORK_UNREACHABLE);
  t.is(unreachable(errno.EACCES), PROHIBITED);
  t.is(unreachable(errno.ETIMEDOUT), null);
  t.true(isOwnError(errno.EMFILE));
  t.true(isOwnError(errno.EADDRNOTAVAIL));
  t.false(isOwnError(errno.ETIMEDOUT));
});
