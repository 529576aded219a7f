// When packets that wait are judged again; revocation.test.ts shows what becomes of them.

import test from 'ava';
import { WaitingPackets } from '../../../dataplane/path/waiting.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { Staging, type StagedPacket } from '../../../dataplane/wireguard/staging.ts';
import { udp } from '../../support/dataplane/packets.ts';

const PACKET = udp({ source: '10.0.0.2', destination: '10.0.0.3' });

/** What waits at a time, from a peer or the TUN (-1), and how often the rules were asked. */
class Bench {
  readonly filter = { version: 0 };
  readonly asked: string[] = [];
  readonly waiting = new WaitingPackets(this.filter, {
    fromPeer: (_view, offset, packet, from, to) => {
      this.asked.push(`${from} to ${to}, version ${packet.version} at ${offset}`);
      return reasons.rule_drop;
    },
    toPeer: (_view, offset, _packet, to) => {
      this.asked.push(`TUN to ${to} at ${offset}`);
      return reasons.rule_drop;
    },
  });

  refusalOf(at: number, from = 1, bytes = PACKET, headerBytes = 0): number {
    const peer = { slot: 7, staged: [] as StagedPacket[] };
    new Staging().add(peer, { bytes, headerBytes, from, at });
    return this.waiting.refusalOf(peer.staged[0]!);
  }
}

test('only what came before a change of rules is judged again', (t) => {
  const bench = new Bench();
  t.is(bench.refusalOf(5), reasons.none);
  bench.waiting.changed(10);
  t.is(bench.refusalOf(5), reasons.none, 'the rules are as they were');
  bench.filter.version = 1;
  bench.waiting.changed(20);
  bench.waiting.changed(30);
  t.is(bench.refusalOf(25), reasons.none);
  t.deepEqual(bench.asked, []);
  t.is(bench.refusalOf(15), reasons.rule_drop);
  t.is(bench.refusalOf(20), reasons.rule_drop, 'it may have come before');
  t.deepEqual(bench.asked, Array(2).fill('1 to 7, version 4 at 0'));
});

test('a packet from the TUN is judged by its flow; one that cannot be read is not', (t) => {
  const bench = new Bench();
  bench.filter.version = 1;
  bench.waiting.changed(20);
  const withHeader = new Uint8Array(10 + PACKET.length);
  withHeader.set(PACKET, 10);
  t.is(bench.refusalOf(5, -1, withHeader, 10), reasons.rule_drop);
  t.is(bench.refusalOf(5, -1, withHeader.subarray(0, 25), 10), reasons.none);
  t.deepEqual(bench.asked, ['TUN to 7 at 10']);
});

test('while nothing may pass, nothing that waited is sent', (t) => {
  const bench = new Bench();
  bench.waiting.changed(10, true);
  bench.waiting.changed(11);
  t.is(bench.refusalOf(12), reasons.database_away);
  bench.waiting.changed(13, false);
  t.is(bench.refusalOf(12), reasons.none);
});
