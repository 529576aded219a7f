// The timers of section 6, moved by hand: events in, actions out. Nothing here sleeps.

import test from 'ava';
import fc from 'fast-check';
import {
  KEEPALIVE_TIMEOUT_MS,
  REJECT_AFTER_TIME_MS,
  REKEY_ATTEMPT_TIME_MS,
  REKEY_TIMEOUT_JITTER_MS,
  REKEY_TIMEOUT_MS,
} from '../../../dataplane/constants.ts';
import { PeerTimers, Timers } from '../../../dataplane/wireguard/timers.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

interface Timed {
  name: string;
  timers: PeerTimers;
}

interface House {
  timers: Timers<Timed>;
  /** What was asked for: "initiate a", "retry a", "keepalive a", "giveUp a", "forgetKeys a". */
  actions: string[];
  /**
   * Fires whatever is due up to `until`, deadline by deadline; returns each time and its actions.
   */
  run: (until: number) => [at: number, action: string][];
}

/** Timers whose jitter is a constant, and whose initiations are sent at once. */
function house(jitterMs = 0): House {
  const actions: string[] = [];
  const timers = new Timers<Timed>(
    {
      initiate(peer, isRetry, now) {
        actions.push(`${isRetry ? 'retry' : 'initiate'} ${peer.name}`);
        if (!isRetry) peer.timers.handshakeAttempts = 0;
        timers.anyAuthenticatedPacketSent(peer);
        timers.handshakeInitiated(peer, now);
      },
      keepalive(peer) {
        actions.push(`keepalive ${peer.name}`);
        timers.anyAuthenticatedPacketSent(peer);
      },
      giveUp: (peer) => actions.push(`giveUp ${peer.name}`),
      forgetKeys: (peer) => actions.push(`forgetKeys ${peer.name}`),
    },
    () => jitterMs,
  );
  return {
    timers,
    actions,
    run(until) {
      const fired: [number, string][] = [];
      for (let rounds = 0; timers.nextDeadline <= until; rounds++) {
        if (rounds > 10_000) throw new Error('the timers spin');
        const at = timers.nextDeadline;
        timers.expire(at, 1_000, 1_000);
        fired.push(...actions.splice(0).map((action): [number, string] => [at, action]));
      }
      return fired;
    },
  };
}

function peerNamed(name: string): Timed {
  return { name, timers: new PeerTimers() };
}

// ---- keepalives (6.5) ------------------------------------------------------------------------

test('received data is acknowledged by a keepalive after 10 s', (t) => {
  const { timers, run } = house();
  timers.dataReceived(peerNamed('a'), 500);
  t.deepEqual(run(60_000), [[500 + KEEPALIVE_TIMEOUT_MS, 'keepalive a']]);
});

test('anything that is sent meanwhile takes the place of the keepalive', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.dataReceived(a, 0);
  timers.anyAuthenticatedPacketSent(a);
  t.deepEqual(run(60_000), []);
});

test('data received while a keepalive is due asks for one more after it', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.dataReceived(a, 0);
  timers.dataReceived(a, 9_000);
  t.deepEqual(run(120_000), [
    [10_000, 'keepalive a'],
    [20_000, 'keepalive a'],
  ]);
});

test('a stream of received data makes a keepalive every 10 s, never more', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  const fired: [number, string][] = [];
  for (let now = 0; now < 60_000; now += 100) {
    fired.push(...run(now));
    timers.dataReceived(a, now);
  }
  t.deepEqual(
    fired.map(([at]) => at),
    [10_000, 20_000, 30_000, 40_000, 50_000],
  );
});

// ---- a new handshake when data goes unanswered (6.4) -----------------------------------------

test('data that is not answered within 15 s makes an initiation', (t) => {
  const { timers, run } = house();
  timers.dataSent(peerNamed('a'), 1_000);
  t.deepEqual(run(17_000), [[1_000 + KEEPALIVE_TIMEOUT_MS + REKEY_TIMEOUT_MS, 'initiate a']]);
});

test('the wait for an answer begins with the first data, not the latest', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  for (let now = 0; now < 15_000; now += 500) timers.dataSent(a, now);
  t.deepEqual(run(15_000), [[15_000, 'initiate a']]);
});

test('anything authentic that arrives is an answer', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.dataSent(a, 0);
  timers.anyAuthenticatedPacketReceived(a);
  t.deepEqual(run(60_000), []);
});

test('jitter is added to the wait for an answer', (t) => {
  const { timers, run } = house(200);
  timers.dataSent(peerNamed('a'), 0);
  t.deepEqual(run(15_300), [[15_200, 'initiate a']]);
});

// ---- retries (6.4) ---------------------------------------------------------------------------

test('an initiation is repeated every 5 s, for 90 s, and then given up', (t) => {
  const { timers, run } = house();
  timers.handshakeInitiated(peerNamed('a'), 0);
  const fired = run(600_000);
  const retries = fired.filter(([, action]) => action === 'retry a').map(([at]) => at);
  t.deepEqual(
    retries,
    Array.from(
      { length: REKEY_ATTEMPT_TIME_MS / REKEY_TIMEOUT_MS },
      (_, i) => (i + 1) * REKEY_TIMEOUT_MS,
    ),
  );
  t.deepEqual(fired[retries.length], [95_000, 'giveUp a']);
});

test('jitter is added to every retry', (t) => {
  const { timers, run } = house(REKEY_TIMEOUT_JITTER_MS);
  timers.handshakeInitiated(peerNamed('a'), 0);
  const [first, second] = run(11_000);
  t.deepEqual(first, [5_333, 'retry a']);
  t.deepEqual(second, [10_666, 'retry a']);
});

test('the jitter that is asked for has the limit of the constants', (t) => {
  const limits: number[] = [];
  const timers = new Timers<Timed>(
    { initiate() {}, keepalive() {}, giveUp() {}, forgetKeys() {} },
    (limit) => {
      limits.push(limit);
      return 0;
    },
  );
  timers.handshakeInitiated(peerNamed('a'), 0);
  timers.dataSent(peerNamed('b'), 0);
  t.deepEqual(limits, [REKEY_TIMEOUT_JITTER_MS, REKEY_TIMEOUT_JITTER_MS]);
});

test('a handshake that is complete is not repeated', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.handshakeInitiated(a, 0);
  timers.handshakeComplete(a);
  t.deepEqual(run(600_000), []);
});

test('an initiation that is wanted too soon is made 5 s after the message before it', (t) => {
  const { timers, run } = house();
  timers.handshakePutOff(peerNamed('a'), 1_000);
  t.deepEqual(run(7_000), [[1_000 + REKEY_TIMEOUT_MS, 'retry a']]);
});

test('one that is wanted while a handshake is under way does not move it', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.handshakeInitiated(a, 0);
  timers.handshakePutOff(a, 3_000);
  t.deepEqual(run(6_000), [[REKEY_TIMEOUT_MS, 'retry a']]);
});

test('one that was put off is not made when a session comes first', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.handshakePutOff(a, 0);
  timers.handshakeComplete(a);
  t.deepEqual(run(600_000), []);
});

test('a complete handshake begins the count of attempts again', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.handshakeInitiated(a, 0);
  run(50_000);
  timers.handshakeComplete(a);
  timers.handshakeInitiated(a, 60_000);
  const fired = run(600_000);
  t.is(fired.filter(([, action]) => action === 'retry a').length, 18);
});

test('giving up sends no keepalive any more, and forgets keys 540 s later', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.handshakeInitiated(a, 0);
  run(94_000);
  timers.dataReceived(a, 94_000);
  t.deepEqual(run(2_000_000), [
    [95_000, 'giveUp a'],
    [95_000 + 3 * REJECT_AFTER_TIME_MS, 'forgetKeys a'],
  ]);
});

test('giving up does not put off when the keys of a session are forgotten', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.sessionDerived(a, 0);
  timers.handshakeInitiated(a, 120_000);
  const fired = run(2_000_000).filter(([, action]) => action !== 'retry a');
  t.deepEqual(fired, [
    [215_000, 'giveUp a'],
    [540_000, 'forgetKeys a'],
  ]);
});

// ---- forgetting keys (6.3) -------------------------------------------------------------------

test('keys are forgotten 540 s after the session was made', (t) => {
  const { timers, run } = house();
  timers.sessionDerived(peerNamed('a'), 7_000);
  t.deepEqual(run(2_000_000), [[7_000 + 540_000, 'forgetKeys a']]);
});

test('a newer session puts forgetting off', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.sessionDerived(a, 0);
  timers.sessionDerived(a, 120_000);
  t.deepEqual(run(2_000_000), [[660_000, 'forgetKeys a']]);
});

// ---- pacing, cancelling, limits --------------------------------------------------------------

test('an initiation that is asked for at a time is made then', (t) => {
  const { timers, run } = house();
  timers.initiateAt(peerNamed('a'), 40);
  t.deepEqual(run(1_000), [[40, 'initiate a']]);
});

test('no initiation is asked for while a handshake is under way', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.handshakeInitiated(a, 0);
  timers.initiateAt(a, 40);
  t.deepEqual(run(1_000), []);
});

test('a cancelled peer never fires, and leaves nothing in the heap', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.handshakeInitiated(a, 0);
  timers.dataSent(a, 0);
  timers.dataReceived(a, 0);
  timers.sessionDerived(a, 0);
  timers.cancel(a);
  t.is(timers.nextDeadline, Number.POSITIVE_INFINITY);
  t.deepEqual(run(2_000_000), []);
});

test('a peer that begins again after it was cancelled owes no keepalive of before', (t) => {
  const { timers, run } = house();
  const a = peerNamed('a');
  timers.dataReceived(a, 0);
  timers.dataReceived(a, 1);
  timers.cancel(a);
  timers.dataReceived(a, 100);
  t.deepEqual(run(2_000_000), [[100 + KEEPALIVE_TIMEOUT_MS, 'keepalive a']]);
});

test('one cancelled peer among many leaves the others in order', (t) => {
  const { timers, run } = house();
  const peers = Array.from({ length: 20 }, (_, i) => peerNamed(`${i}`));
  for (const [i, one] of peers.entries()) timers.sessionDerived(one, (i * 7) % 20);
  timers.cancel(peers[3]!);
  timers.cancel(peers[0]!);
  const wanted = peers
    .filter((_, i) => i !== 3 && i !== 0)
    .sort((a, b) => a.timers.forgetKeysAt - b.timers.forgetKeysAt)
    .map(({ name }) => `forgetKeys ${name}`);
  t.deepEqual(
    run(1_000_000).map(([, action]) => action),
    wanted,
  );
});

test('nothing fires before its time', (t) => {
  const { timers, actions } = house();
  timers.dataReceived(peerNamed('a'), 0);
  timers.expire(KEEPALIVE_TIMEOUT_MS - 1, 10, 1_000);
  t.deepEqual(actions, []);
  timers.expire(KEEPALIVE_TIMEOUT_MS, 10, 1_000);
  t.deepEqual(actions, ['keepalive a']);
});

test('a crowd fires a few at a time, the rest stays due', (t) => {
  const { timers, actions } = house();
  for (let i = 0; i < 10; i++) timers.dataReceived(peerNamed(`${i}`), 0);
  timers.expire(KEEPALIVE_TIMEOUT_MS, 4, 1_000);
  t.is(actions.length, 4);
  t.is(timers.nextDeadline, KEEPALIVE_TIMEOUT_MS);
  timers.expire(KEEPALIVE_TIMEOUT_MS, 100, 1_000);
  t.is(new Set(actions).size, 10);
});

test('initiations are few at a time, and those who want none do not count', (t) => {
  const { timers, actions } = house();
  for (let i = 0; i < 3; i++) timers.dataReceived(peerNamed(`quiet ${i}`), 0);
  for (let i = 0; i < 10; i++) timers.initiateAt(peerNamed(`${i}`), KEEPALIVE_TIMEOUT_MS + 1);
  const at = KEEPALIVE_TIMEOUT_MS + 1;
  t.is(timers.expire(at, 100, 4), 4);
  t.is(actions.filter((action) => action.startsWith('keepalive')).length, 3);
  t.is(actions.length, 3 + 4);
  t.is(timers.nextDeadline, at);
  t.is(timers.expire(at, 100, 4), 4, 'the turn has made them');
  t.is(actions.length, 3 + 4);
  t.deepEqual([timers.expire(at + 1, 100, 4), timers.expire(at + 2, 100, 4)], [4, 2]);
  t.is(new Set(actions).size, 3 + 10);
  t.is(timers.expire(at + 3, 100, 4), 0);
});

test('after a long sleep every timer of a peer fires once', (t) => {
  const { timers, actions } = house();
  const a = peerNamed('a');
  timers.sessionDerived(a, 0);
  timers.dataReceived(a, 0);
  timers.dataSent(a, 0);
  timers.expire(10_000_000, 100, 1_000);
  t.deepEqual(actions, ['keepalive a', 'initiate a', 'forgetKeys a']);
});

test('a house without deadlines sleeps for ever', (t) => {
  t.is(house().timers.nextDeadline, Number.POSITIVE_INFINITY);
});

// ---- the heap --------------------------------------------------------------------------------

test('whatever happens, the heap knows the earliest deadline of all peers', (t) => {
  const event = fc.record({
    peer: fc.nat(7),
    kind: fc.constantFrom(
      'dataSent',
      'dataReceived',
      'anyAuthenticatedPacketSent',
      'anyAuthenticatedPacketReceived',
      'handshakeInitiated',
      'handshakeComplete',
      'sessionDerived',
      'cancel',
    ),
    after: fc.nat(6_000),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 80, size: 'max' }), (events) => {
      const { timers, actions } = house(7);
      const peers = Array.from({ length: 8 }, (_, i) => peerNamed(`${i}`));
      const earliest = (): number => Math.min(...peers.map((one) => one.timers.deadline));
      let now = 0;
      for (const { peer, kind, after } of events) {
        now += after;
        timers.expire(now, 1_000, 1_000);
        // All that was due has fired; the heap may look too early, never too late.
        if (earliest() <= now || timers.nextDeadline > earliest()) return false;
        timers[kind](peers[peer]!, now);
        if (timers.nextDeadline > earliest()) return false;
      }
      actions.length = 0;
      for (const one of peers) timers.cancel(one);
      return timers.nextDeadline === Number.POSITIVE_INFINITY;
    }),
    { ...SEEDED, numRuns: 500 },
  );
  t.pass();
});
