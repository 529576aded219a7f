// A keypair's age and its replay window.

import test from 'ava';
import { REJECT_AFTER_TIME_MS } from '../../../dataplane/constants.ts';
import { Keypair } from '../../../dataplane/wireguard/keypair.ts';

function keypairAt(now: number): Keypair<string> {
  return new Keypair('peer', 5, { slot: 3, generation: 9 }, true, now);
}

test('a keypair names its peer, its remote index and where its keys are', (t) => {
  t.like(keypairAt(0), {
    peer: 'peer',
    remoteIndex: 5,
    keySlot: 3,
    keyGeneration: 9,
    isInitiator: true,
    createdAt: 0,
  });
});

test('a keypair serves until it is 180 s old', (t) => {
  const keypair = keypairAt(1_000);
  t.false(keypair.isExpired(1_000));
  t.false(keypair.isExpired(1_000 + REJECT_AFTER_TIME_MS - 1));
  t.true(keypair.isExpired(1_000 + REJECT_AFTER_TIME_MS));
});

test('each keypair has one replay window of its own', (t) => {
  const [a, b] = [keypairAt(0), keypairAt(0)];
  t.is(a.replay, a.replay);
  a.replay.accept(7);
  t.false(a.replay.isFresh(7));
  t.true(b.replay.isFresh(7));
});
