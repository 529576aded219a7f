// What a gateway carried lately: the steps of live charts, and minutes.

import test from 'ava';
import type { PeerSample, Sample } from '../../../../dataplane/index.ts';
import { RecentTraffic } from '../../../../lib/observe/history/recent-traffic.ts';

const NOW_MS = Date.UTC(2026, 10, 30, 2, 0, 0, 500);
const NOW_S = Math.floor(NOW_MS / 1_000);

/** A gateway whose time passes by samples. */
function begin(): {
  recent: RecentTraffic;
  sample: (afterMs: number, sample: Partial<Sample>) => void;
} {
  let wallMs = NOW_MS;
  const deviceIdOf = (key: string): string | null => (key === 'gone' ? null : `id of ${key}`);
  const recent = new RecentTraffic({ deviceIdOf, wallMs: () => wallMs });
  return {
    recent,
    sample: (afterMs, sample) => {
      wallMs += afterMs;
      recent.observe({ peers: [], rules: [], drops: {}, forgotten: {}, ...sample });
    },
  };
}

function carried(publicKey: string, rxBytes: number, txBytes: number): PeerSample {
  const inner = { rxInnerBytes: Math.max(0, rxBytes - 32), txInnerBytes: txBytes / 2 };
  return { publicKey, latestHandshakeMs: null, endpoint: null, rxBytes, txBytes, ...inner };
}

test('the gateway has a rate for each second that is over, evenly where a sample was late', (t) => {
  const { recent, sample } = begin();
  t.deepEqual(recent.live(null), { from: NOW_S, step: 1, down: [], up: [] });
  sample(1_000, { peers: [carried('a', 100, 1_000), carried('b', 100, 1_000)] });
  sample(1_000, {});
  sample(3_000, { peers: [carried('a', 0, 3_000), carried('gone', 9_999, 9_999)] });
  t.deepEqual(recent.live(null), {
    from: NOW_S,
    step: 1,
    down: [1_000, 1_000, 500, 1_000, 1_000],
    up: [100, 100, 0, 0, 0],
  });
  t.deepEqual(recent.live(null, NOW_S + 4), { from: NOW_S + 4, step: 1, down: [1_000], up: [0] });
});

test('a device has a mean of five seconds, and of a part of them until they are over', (t) => {
  const { recent, sample } = begin();
  for (let i = 0; i < 7; i += 1) sample(1_000, { peers: [carried('a', 10, 200)] });
  t.deepEqual(recent.live('id of a'), { from: NOW_S, step: 5, down: [200, 200], up: [10, 10] });
  t.deepEqual(recent.live('id of b'), { from: NOW_S, step: 5, down: [0, 0], up: [0, 0] });
  sample(3_000, {});
  t.deepEqual(recent.live('id of a', NOW_S + 5), {
    from: NOW_S + 5,
    step: 5,
    down: [100],
    up: [5],
  });
});

test('there are five minutes of steps, at most', (t) => {
  const { recent, sample } = begin();
  for (let i = 1; i <= 401; i += 1) sample(1_000, { peers: [carried('a', 0, i)] });
  const { from, down } = recent.live(null);
  t.is(from, NOW_S + 102);
  t.is(down.length, 299);
  t.is(recent.live('id of a').down.length, 60);
});

test('minutes are what was inside the tunnel, what rules decided and what was refused', (t) => {
  const { recent, sample } = begin();
  const rule = (id: string, packets: number) => ({ id, packets, bytes: packets * 9, lastHitMs: 0 });
  sample(1_000, {
    peers: [carried('a', 132, 1_000), carried('b', 32, 0), carried('c', 42, 0)],
    rules: [rule('r', 2), rule('s', 5)],
    drops: { rule_drop: 3, default_drop: 1 },
  });
  sample(1_000, { rules: [rule('r', 1)], drops: { rule_drop: 3, default_drop: 1 } });
  sample(60_000, { peers: [carried('a', 33, 0)], drops: { rule_drop: 9, default_drop: 1 } });
  t.deepEqual(recent.minute('device', ['id of a'], NOW_S), [100, 500]);
  t.deepEqual(recent.minute('device', ['id of a', 'id of c', 'id of d'], NOW_S), [110, 500]);
  t.deepEqual(recent.minute('device', ['id of b'], NOW_S), [], 'a keepalive');
  t.deepEqual(recent.minute('rule', ['r'], NOW_S), [3, 27]);
  t.deepEqual(recent.minute('all', [], NOW_S), [110, 500, 4]);
  t.deepEqual(recent.minute('all', [], NOW_S + 60), [1, 0, 6]);
  sample(1_000, { drops: { rule_drop: 2 } });
  t.deepEqual(recent.minute('all', [], NOW_S + 60), [1, 0, 8], 'it was started again');
});
