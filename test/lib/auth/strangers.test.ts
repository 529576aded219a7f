// Who is a stranger: in virtual time, with requests that are only headers.

import type { IncomingMessage } from 'node:http';
import test from 'ava';
import { FRESH_MS, KnownGood } from '../../../lib/auth/known-good.ts';
import { Strangers } from '../../../lib/auth/strangers.ts';
import { hashToken } from '../../../lib/auth/tokens.ts';

const GOOD = `pst_${'g'.repeat(43)}`;
const BAD = `pst_${'b'.repeat(43)}`;
const BOSS = { userId: 'boss', isAdministrator: true, by: 'token' } as const;
const METRICS = 'a token for metrics';

function scene({ perSecond = 1_000, lookMs = 0 } = {}) {
  const clock = { ms: 0 };
  const looks = { now: 0, most: 0, all: 0 };
  const known = new KnownGood(() => clock.ms);
  const strangers = new Strangers({
    perSecond,
    nowMs: () => clock.ms,
    known,
    scopeOf: (address) => address,
    cookie: 'postern-session',
    metricsToken: METRICS,
    isFree: ({ url }) => url === '/healthz',
    find: async ({ sha256 }) => {
      looks.all += 1;
      looks.now += 1;
      looks.most = Math.max(looks.most, looks.now);
      await new Promise((resolve) => setTimeout(resolve, lookMs));
      looks.now -= 1;
      return sha256 === hashToken(GOOD) ? BOSS : null;
    },
  });
  const ask = async (token: string | null, scope = '192.0.2.1', url = '/'): Promise<boolean> => {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    const request = { url, method: 'GET', headers, socket: {} } as unknown as IncomingMessage;
    return (await strangers.check(request, scope)) === null;
  };
  const many = async (count: number, token: string | null): Promise<number> => {
    const answers = await Promise.all(Array.from({ length: count }, () => ask(token)));
    return answers.filter(Boolean).length;
  };
  return { clock, looks, known, strangers, ask, many };
}

test('an address has 20 a second, and 40 at once', async (t) => {
  const { clock, ask, many } = scene();
  t.is(await many(300, null), 40);
  t.true(await ask(null, '192.0.2.2'));
  clock.ms = 1_000;
  t.is(await many(300, null), 20);
});

test('a token that is unknown is looked up, eight at once, and no oftener than the bucket allows', async (t) => {
  const { looks, many } = scene({ lookMs: 1 });
  t.is(await many(300, BAD), 40);
  t.deepEqual([looks.most, looks.all], [8, 40]);
});

test('a good token costs nothing, and passes with an empty bucket once it is known', async (t) => {
  const { ask, many, known } = scene();
  t.is(await many(300, GOOD), 300);
  t.is(await many(300, null), 40);
  t.true(await ask(GOOD));
  t.true(known.hasAddress('192.0.2.1'));
  known.forget(hashToken(GOOD));
  t.false(await ask(GOOD), 'not known, beside an attacker');
});

test('the metrics token and what is free pass with an empty bucket, 0 is no limit', async (t) => {
  const { ask, many } = scene();
  await many(300, null);
  t.true(await ask(METRICS));
  t.true(await ask(null, '192.0.2.1', '/healthz'));
  t.false(await ask(null));
  t.is(await scene({ perSecond: 0 }).many(1_000, BAD), 1_000);
});

test('a handshake takes one and gets it back, and is free for who was good within the hour', async (t) => {
  const { clock, known, strangers, many } = scene();
  t.is(strangers.knock('192.0.2.1'), 'taken');
  t.is(await many(300, null), 39);
  t.is(strangers.knock('192.0.2.1'), 'refused');
  strangers.giveBack('192.0.2.1');
  t.is(await many(300, null), 1);
  known.addAddress('192.0.2.1');
  t.is(strangers.knock('192.0.2.1'), 'free');
  clock.ms = 3_600_001;
  t.is(strangers.knock('192.0.2.1'), 'taken');
});

test('a token that was revoked is found out within a minute, on whatever path', async (t) => {
  const { clock, ask, known, looks } = scene();
  known.add(hashToken(BAD), BOSS);
  clock.ms = FRESH_MS;
  t.true(await ask(BAD));
  t.is(looks.all, 0);
  clock.ms += 1;
  t.true(await ask(BAD), 'nobody waits');
  await new Promise((resolve) => setTimeout(resolve, 5));
  t.is(looks.all, 1);
  t.is(known.find(hashToken(BAD)), null);
});

test('while the database is slow, so many requests of an address wait and no more', async (t) => {
  const { many } = scene({ lookMs: 5 });
  t.is(await many(2_000, GOOD), 8 + 512);
});
