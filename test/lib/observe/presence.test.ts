// When devices connect and disconnect: by handshakes and silences, whatever the wall clock does.

import test from 'ava';
import type { PeerSample } from '../../../dataplane/index.ts';
import { ONLINE_MS, Presence } from '../../../lib/observe/presence.ts';
import type { KnownDevice, Removal } from '../../../lib/reconcile/known.ts';
import { logInto, type LogLine } from '../../support/api/server.ts';

interface Setup {
  presence: Presence;
  lines: LogLine[];
  served: Map<string, KnownDevice>;
  /** Why a device is not served, by its key. */
  gone: Map<string, Removal>;
  /** Lets time pass and a sample come. */
  after: (ms: number, ...samples: Partial<PeerSample>[]) => void;
}

function setUp(): Setup {
  const lines: LogLine[] = [];
  const served = new Map(
    ['a', 'b'].map((key) => [
      key,
      { id: `device ${key}`, userId: `user ${key}`, name: `n ${key}` },
    ]),
  );
  let nowMs = 1_000_000;
  const deviceOf = (key: string): KnownDevice | null => served.get(key) ?? null;
  const gone = new Map<string, Removal>();
  const presence = new Presence({
    deviceOf,
    whyGone: (key) => gone.get(key) ?? 'removed',
    log: logInto(lines),
    nowMs: () => nowMs,
  });
  return {
    presence,
    lines,
    served,
    gone,
    after(ms, ...samples) {
      nowMs += ms;
      const bytes = { rxBytes: 1, txBytes: 1, rxInnerBytes: 0, txInnerBytes: 0 };
      const rest = { publicKey: 'a', latestHandshakeMs: null, ...bytes };
      const endpoint = { address: '192.0.2.9', port: 4711 };
      presence.observe(samples.map((sample) => ({ ...rest, endpoint, ...sample })));
    },
  };
}

const logged = (lines: readonly LogLine[]): string[] =>
  lines.filter(({ level }) => level === 'info').map(({ message }) => message);

test('the first handshake after a silence connects, later ones do not', (t) => {
  const { presence, lines, after } = setUp();
  after(0, { latestHandshakeMs: null });
  t.deepEqual(lines, []);
  after(1_000, { latestHandshakeMs: 5 });
  for (let i = 0; i < 5; i++) after(120_000, { latestHandshakeMs: 10 + i });
  t.deepEqual(lines[0], {
    level: 'info',
    fields: { device_id: 'device a', user_id: 'user a' },
    message: 'a device connected',
  });
  t.deepEqual(logged(lines), ['a device connected']);
  t.deepEqual(presence.counts, {
    connected: 1,
    connects: 1,
    disconnects: {
      silent: 0,
      elsewhere: 0,
      switched_off: 0,
      expired: 0,
      owner_disabled: 0,
      session_ended: 0,
      key_replaced: 0,
      deleted: 0,
      removed: 0,
    },
  });
});

test('packets under an old handshake keep nobody connected', (t) => {
  const { lines, after } = setUp();
  after(0, { latestHandshakeMs: 5 });
  after(ONLINE_MS - 1, { latestHandshakeMs: 5 });
  t.deepEqual(logged(lines), ['a device connected']);
  after(1, { latestHandshakeMs: 5 });
  t.deepEqual(logged(lines), ['a device connected', 'a device disconnected']);
  t.deepEqual(lines.at(-1)?.fields, {
    device_id: 'device a',
    user_id: 'user a',
    reason: 'silent',
    seconds: 180,
  });
  after(1_000, { latestHandshakeMs: 9 });
  t.is(logged(lines).at(-1), 'a device connected');
});

test('each device has a silence of its own', (t) => {
  const { presence, lines, after } = setUp();
  after(0, { latestHandshakeMs: 1 }, { publicKey: 'b', latestHandshakeMs: 1 });
  after(100_000, { latestHandshakeMs: 2 });
  after(ONLINE_MS - 100_000);
  t.deepEqual(
    lines.filter(({ message }) => message === 'a device disconnected').map(({ fields }) => fields),
    [{ device_id: 'device b', user_id: 'user b', reason: 'silent', seconds: 180 }],
  );
  t.is(presence.counts.connected, 1);
});

test('a device that is not served any more disconnects at once, and its last words are not heard', (t) => {
  const { presence, lines, served, gone, after } = setUp();
  after(0, { latestHandshakeMs: 1 });
  served.delete('a');
  gone.set('a', 'session_ended');
  presence.remove(['a', 'somebody else']);
  after(500, { latestHandshakeMs: 2 });
  t.deepEqual(logged(lines), ['a device connected', 'a device disconnected']);
  t.like(lines.at(-1)?.fields, { reason: 'session_ended' });
  t.like(presence.counts.disconnects, { silent: 0, session_ended: 1, removed: 0 });
});

test('the last sample of a removed device is not one of the next device with its key', (t) => {
  const { presence, lines, served, after } = setUp();
  const lastHandshakeMs = Date.now() - 1_000;
  served.delete('a');
  presence.remove(['a']);
  served.set('a', { id: 'next device', userId: 'next user', name: 'n' });
  after(500, { latestHandshakeMs: lastHandshakeMs });
  t.deepEqual(logged(lines), []);
  t.is(presence.connectedForMs('a'), null);
  after(500, { latestHandshakeMs: Date.now() + 1_000 });
  t.deepEqual(logged(lines), ['a device connected']);
});

test('a device that made a handshake with another gateway disconnects, and its late samples count no more', (t) => {
  const { presence, lines, after } = setUp();
  after(0, { latestHandshakeMs: 100 }, { publicKey: 'b', latestHandshakeMs: 100 });
  presence.letGo(
    new Map([
      ['a', 150],
      ['b', 50],
      ['somebody else', 150],
    ]),
  );
  after(500, { latestHandshakeMs: 100 }, { publicKey: 'b', latestHandshakeMs: 100 });
  t.deepEqual(logged(lines), ['a device connected', 'a device connected', 'a device disconnected']);
  t.like(lines.at(-1)?.fields, { device_id: 'device a', reason: 'elsewhere' });
  t.like(presence.counts.disconnects, { silent: 0, elsewhere: 1, removed: 0 });
  t.is(presence.counts.connected, 1);
});

test('it connects again by its next handshake here, or by any once the other one is long ago', (t) => {
  for (const [waitMs, handshakeMs] of [
    [1_000, 200],
    [ONLINE_MS, 120],
  ] as const) {
    const { presence, after } = setUp();
    after(0, { latestHandshakeMs: 100 });
    presence.letGo(new Map([['a', 150]]));
    after(waitMs);
    after(0, { latestHandshakeMs: handshakeMs });
    t.is(presence.counts.connected, 1, String(waitMs));
  }
});

test('a step of the wall clock, which dates handshakes, connects and disconnects nobody', (t) => {
  const { lines, after } = setUp();
  after(0, { latestHandshakeMs: Date.UTC(2026, 0, 1) });
  after(1_000, { latestHandshakeMs: Date.UTC(2027, 0, 1) });
  after(1_000, { latestHandshakeMs: Date.UTC(2025, 0, 1) });
  t.deepEqual(logged(lines), ['a device connected']);
});

test('where a device is appears at debug alone, its name nowhere', (t) => {
  const { lines, after } = setUp();
  after(0, { latestHandshakeMs: 1 });
  for (const { level, fields } of lines) {
    const text = JSON.stringify(fields);
    t.is(text.includes('192.0.2.9'), level === 'debug');
    t.false(text.includes('n a'));
  }
  t.is(lines.length, 2);
});

test('how long a device has been connected goes on with each handshake, and ends with it', (t) => {
  const { presence, after } = setUp();
  t.is(presence.connectedForMs('a'), null);
  after(0, { latestHandshakeMs: 5 });
  after(120_000, { latestHandshakeMs: 6 });
  t.is(presence.connectedForMs('a'), 120_000);
  t.is(presence.connectedForMs('b'), null);
  after(ONLINE_MS);
  t.is(presence.connectedForMs('a'), null);
});
