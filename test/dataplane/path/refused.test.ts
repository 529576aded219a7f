// Which refused packets are noted: those of devices that are known, before anything else is done
// about them. All refusals are counted.

import test from 'ava';
import { NO_PEER } from '../../../dataplane/filter/flow-verdict.ts';
import { Refused } from '../../../dataplane/path/refused.ts';
import { Verdict } from '../../../dataplane/path/verdict.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { concat, udp } from '../../../dataplane/wire/packets.ts';
import type { KnownPeer } from '../../../dataplane/wireguard/known-peer.ts';
import type { StagedPacket } from '../../../dataplane/wireguard/staging.ts';

type Noted = [slot: number, isSent: number, version: number, reason: number, rule: string | null];

function bench(): { refused: Refused; noted: Noted[]; dropped: number[] } {
  const noted: Noted[] = [];
  const dropped: number[] = [];
  const refused = new Refused({
    refusals: {
      note: (slot, isSent, { version }, reason, rule) =>
        void noted.push([slot, isSent, version, reason, rule]),
    },
    tracker: { ruleOn: () => 'the rule' },
    drop: (reason) => void dropped.push(reason),
  });
  return { refused, noted, dropped };
}

function verdictOf(reason: number, fields: Partial<Verdict> = {}): Verdict {
  const verdict = Object.assign(new Verdict(), { reason, isReadable: true, ...fields });
  verdict.packet.version = 4;
  return verdict;
}

const to = { slot: 9 } as KnownPeer;

test('what a device sent is noted for it, what came for a device for that one', (t) => {
  const { refused, noted, dropped } = bench();
  refused.take(verdictOf(reasons.default_drop, { to }), 3);
  refused.take(verdictOf(reasons.packet_too_big, { to }), NO_PEER);
  refused.take(verdictOf(reasons.no_peer), NO_PEER);
  t.deepEqual(noted, [
    [3, 1, 4, reasons.default_drop, null],
    [9, 0, 4, reasons.packet_too_big, null],
  ]);
  t.deepEqual(dropped, [reasons.default_drop, reasons.packet_too_big, reasons.no_peer]);
});

test('the rule is asked for where a rule refused', (t) => {
  const { refused, noted } = bench();
  refused.take(verdictOf(reasons.rule_drop, { wasFiltered: true }), 3);
  refused.take(verdictOf(reasons.no_tun, { wasFiltered: true }), 3);
  t.deepEqual(noted, [
    [3, 1, 4, reasons.rule_drop, 'the rule'],
    [3, 1, 4, reasons.no_tun, null],
  ]);
});

test('of a packet that could not be read nothing is said that was read of another one', (t) => {
  const { refused, noted } = bench();
  refused.take(verdictOf(reasons.inner_malformed, { isReadable: false }), 3);
  t.deepEqual(noted, [[3, 1, 0, reasons.inner_malformed, null]]);
});

test('what cannot be sent has been counted, and is noted', (t) => {
  const { refused, noted, dropped } = bench();
  refused.unsent(verdictOf(reasons.none, { to }), NO_PEER, reasons.peer_no_endpoint);
  refused.unsent(verdictOf(reasons.none, { to }), 3, reasons.peer_elsewhere);
  t.deepEqual(noted, [
    [9, 0, 4, reasons.peer_no_endpoint, null],
    [3, 1, 4, reasons.peer_elsewhere, null],
  ]);
  t.deepEqual(dropped, []);
});

test('what waited in vain is noted for its sender, or for the device that it was for', (t) => {
  const { refused, noted, dropped } = bench();
  const packet = udp({ source: '10.0.0.2', destination: '10.0.0.3' });
  const waiting = (bytes: Uint8Array, headerBytes: number, from: number): StagedPacket => ({
    bytes,
    headerBytes,
    from,
    at: 0,
    peer: { slot: 9, staged: [] },
    older: null,
    newer: null,
  });
  refused.waited(waiting(packet, 0, 3), reasons.staged_expired);
  const behindHeader = concat(new Uint8Array(10), packet);
  refused.waited(waiting(behindHeader, 10, NO_PEER), reasons.staged_overflow);
  refused.waited(waiting(new Uint8Array(4), 0, NO_PEER), reasons.staged_expired);
  t.deepEqual(noted, [
    [3, 1, 4, reasons.staged_expired, null],
    [9, 0, 4, reasons.staged_overflow, null],
    [9, 0, 0, reasons.staged_expired, null],
  ]);
  t.deepEqual(dropped, [], 'they have been counted');
});
