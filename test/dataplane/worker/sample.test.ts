// Samples: which drops a part has, and how parts become a whole.

import test from 'ava';
import { MAX_REPORTED_PER_PART } from '../../../dataplane/constants.ts';
import type { PeerSample } from '../../../dataplane/contract.ts';
import {
  dropsByName,
  joinSamples,
  KeptSample,
  Samples,
  SampleTotals,
  Sampling,
  WholeSample,
} from '../../../dataplane/worker/sample.ts';
import { errorReasons, reasonNames, reasons } from '../../../dataplane/reasons.ts';
import { Arrivals } from '../../../dataplane/wireguard/arrivals.ts';

const hit = { packets: 1, bytes: 28, lastHitMs: 5 };

function peerNamed(publicKey: string): PeerSample {
  const bytes = { rxBytes: 1, txBytes: 2, rxInnerBytes: 0, txInnerBytes: 0 };
  return { publicKey, latestHandshakeMs: null, endpoint: null, ...bytes };
}

/** A sampling of so many peers, and one rule. */
function sampling(peers: number, arrivals = new Arrivals()): Sampling {
  const news = Array.from({ length: peers }, (_, i) => peerNamed(`${i}`));
  return new Sampling(
    {
      arrivals,
      *takeNews() {
        yield* news;
      },
    },
    {
      *takeHits() {
        yield { id: '1', ...hit };
      },
    },
  );
}

test('a part holds a limited number of peers and rules together', (t) => {
  const taken = sampling(MAX_REPORTED_PER_PART);
  const sums = { drops: { no_tun: 1 }, forgotten: { share: 2 } };
  t.like(taken.part(sums), { rules: [], ...sums, isLast: false });
  const none = { drops: {}, forgotten: {} };
  t.deepEqual(taken.part(none), {
    peers: [],
    rules: [{ id: '1', ...hit }],
    ...none,
    isLast: true,
  });
});

test('a whole sample is the sum of all parts', (t) => {
  const sums = { drops: { no_tun: 3 }, forgotten: { full: 1 } };
  const { peers, ...rest } = sampling(MAX_REPORTED_PER_PART).whole(sums);
  t.is(peers.length, MAX_REPORTED_PER_PART);
  t.deepEqual(rest, { rules: [{ id: '1', ...hit }], ...sums });
});

test('drops have names, errors of the engine too, and none is zero', (t) => {
  const counts = new Float64Array(reasonNames.length);
  const errors = new Float64Array(errorReasons.length);
  counts[reasons.no_peer] = 2;
  errors[1] = 3;
  t.deepEqual(dropsByName(counts, errors), { no_peer: 2, [errorReasons[1]!]: 3 });
});

test('a whole sample has the peers and rules of all parts, and the drops of the last one', (t) => {
  const whole = new WholeSample();
  whole.add({
    peers: [peerNamed('a')],
    rules: [],
    drops: { no_tun: 1 },
    forgotten: { share: 1 },
    isLast: false,
  });
  t.false(whole.isWhole);
  whole.add({
    peers: [peerNamed('b')],
    rules: [{ id: '1', ...hit }],
    drops: { no_tun: 2 },
    forgotten: { share: 4 },
    isLast: true,
  });
  t.true(whole.isWhole);
  t.deepEqual(whole.sample, {
    peers: [peerNamed('a'), peerNamed('b')],
    rules: [{ id: '1', ...hit }],
    drops: { no_tun: 2 },
    forgotten: { share: 4 },
  });
});

test('samples of several workers are joined: drops of one reason are added up', (t) => {
  const [a, b] = [peerNamed('a'), peerNamed('b')];
  t.deepEqual(
    joinSamples([
      {
        peers: [a],
        rules: [{ id: '1', ...hit }],
        drops: { no_tun: 1, rule_drop: 2 },
        forgotten: { share: 2 },
      },
      { peers: [b], rules: [], drops: { rule_drop: 3 }, forgotten: { share: 1 } },
    ]),
    {
      peers: [a, b],
      rules: [{ id: '1', ...hit }],
      drops: { no_tun: 1, rule_drop: 5 },
      forgotten: { share: 3 },
    },
  );
  const part = { peers: [], rules: [], drops: {}, forgotten: {} };
  const answers = joinSamples([{ ...part, answers: { sent: 2, withheld: 1 } }, part]).answers;
  t.deepEqual(answers, { sent: 2, withheld: 1 });
  t.deepEqual(joinSamples([]), { peers: [], rules: [], drops: {}, forgotten: {} });
});

test('what was seen between two samples is added up, and handed over once', (t) => {
  const kept = new KeptSample();
  t.true(kept.isEmpty);
  const endpoint = { address: '192.0.2.1', port: 7 };
  const [a, rule] = [peerNamed('a'), { id: 'r', ...hit }];
  kept.add({ peers: [{ ...a, latestHandshakeMs: 5, endpoint, local: '10.0.0.9' }], rules: [rule] });
  kept.add({ peers: [a, peerNamed('b')], rules: [{ ...rule, lastHitMs: 9 }] });
  t.deepEqual(kept.take(), {
    peers: [
      { ...a, latestHandshakeMs: 5, endpoint, local: '10.0.0.9', rxBytes: 2, txBytes: 4 },
      peerNamed('b'),
    ],
    rules: [{ id: 'r', packets: 2, bytes: 56, lastHitMs: 9 }],
  });
  t.deepEqual(kept.take(), { peers: [], rules: [] });
});

test('a refresh loses nothing: the next sample has what it saw', async (t) => {
  let taken = 0;
  const samples = new Samples(async () => {
    taken += 1;
    if (taken === 3) throw new Error('no worker');
    return { peers: [peerNamed('a')], rules: [], drops: { [`d${taken}`]: 1 }, forgotten: {} };
  });
  await samples.refresh();
  t.is(taken, 1);
  t.like(await samples.sample(), { peers: [{ rxBytes: 2, txBytes: 4 }], drops: { d2: 1 } });
  await samples.refresh();
  t.like(await samples.sample(), { peers: [{ rxBytes: 1 }] });
});

test('what comes during a round is reported, because the round may have passed it', (t) => {
  const arrivals = new Arrivals();
  const taken = sampling(MAX_REPORTED_PER_PART + 1, arrivals);
  const none = { drops: {}, forgotten: {} };
  arrivals.moved();
  t.false(taken.part(none).isLast);
  t.false(arrivals.takeReport(), 'the round has it');
  arrivals.moved();
  t.true(taken.part(none).isLast);
  t.true(arrivals.takeReport());
});

test('what sockets have ends with their worker, and what they did stays', (t) => {
  const totals = new SampleTotals();
  const sums = { drops: {}, forgotten: {} };
  totals.set(0, { ...sums, sockets: { tcp: 3, udp: 1 }, retransmits: { segments: 5 } });
  totals.set(1, { ...sums, sockets: { tcp: 2, udp: 0 }, retransmits: { segments: 1 } });
  t.deepEqual(totals.all.sockets, { tcp: 5, udp: 1, most: 4 });
  totals.restart(0);
  t.deepEqual(totals.all.sockets, { tcp: 2, udp: 0, most: 2 });
  t.deepEqual(totals.all.retransmits, { segments: 6 });
  const part = { peers: [], rules: [], ...sums };
  t.deepEqual(
    joinSamples([
      { ...part, sockets: { tcp: 1 } },
      { ...part, sockets: { tcp: 2 } },
    ]),
    {
      ...part,
      sockets: { tcp: 3, most: 2 },
    },
  );
});

test('sums of workers that ended are kept, and answers are left out while there are none', (t) => {
  const totals = new SampleTotals();
  totals.set(0, { drops: { no_peer: 1 }, forgotten: { share: 2 } });
  t.deepEqual(totals.all, { drops: { no_peer: 1 }, forgotten: { share: 2 } });
  totals.set(1, { drops: { no_peer: 4 }, forgotten: {}, answers: { sent: 3, withheld: 0 } });
  totals.restart(1);
  totals.set(1, { drops: {}, forgotten: { share: 1 }, answers: { sent: 1, withheld: 2 } });
  t.deepEqual(totals.all, {
    drops: { no_peer: 5 },
    forgotten: { share: 3 },
    answers: { sent: 4, withheld: 2 },
  });
});
