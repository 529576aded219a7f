// Who is over their quota, in virtual time. docs/state.md#quotas.

import test from 'ava';
import { isUsedUp, Quotas } from '../../../lib/reconcile/quotas.ts';

const NOVEMBER = 202_611;
const IN_NOVEMBER = Date.UTC(2026, 10, 26);
const END_OF_NOVEMBER = Date.UTC(2026, 11, 1) - 1;
const IN_DECEMBER = Date.UTC(2026, 11, 1);

function quotasOf(): Quotas {
  const quotas = new Quotas();
  quotas.passTo(IN_NOVEMBER);
  return quotas;
}

function hear(quotas: Quotas, used: Readonly<Record<string, number>>, month = NOVEMBER): string[] {
  return quotas.hear(month, Object.keys(used), new Map(Object.entries(used)));
}

test('a quota is used up at its last byte', (t) => {
  t.deepEqual([isUsedUp(10, 9), isUsedUp(10, 10), isUsedUp(null, 1e15)], [false, true, false]);
});

test('the quota of the user counts, else the default, else there is none', (t) => {
  const quotas = quotasOf();
  for (const [id, quota] of Object.entries({ ann: 100, bob: null, cid: 1_000 }))
    t.deepEqual(quotas.take(id, { quota }), []);
  t.deepEqual(quotas.limited, ['ann', 'cid']);
  t.deepEqual(hear(quotas, { ann: 500, bob: 500, cid: 500 }), ['ann']);
  t.deepEqual(quotas.setDefault(200), []);
  t.deepEqual(quotas.unread, ['bob'], 'what was read while there was no quota is old');
  t.deepEqual(hear(quotas, { bob: 500 }), ['bob']);
  t.is(quotas.overCount, 2);
  t.deepEqual(quotas.setDefault(501), ['bob']);
  t.deepEqual(quotas.setDefault(300), ['bob']);
  t.deepEqual(quotas.setDefault(null), ['bob']);
  t.deepEqual(
    [quotas.isOver('ann'), quotas.isOver('bob'), quotas.has('bob')],
    [true, false, false],
  );
});

test('a write that raises or lowers a quota is checked by what was read', (t) => {
  const quotas = quotasOf();
  quotas.take('ann', { quota: 100 });
  t.deepEqual(quotas.unread, ['ann']);
  t.deepEqual(hear(quotas, { ann: 99 }), []);
  t.deepEqual(quotas.unread, []);
  t.deepEqual(quotas.take('ann', { quota: 99 }), ['ann']);
  t.deepEqual(quotas.take('ann', { quota: 100 }), ['ann']);
  t.deepEqual(hear(quotas, { ann: 100 }), ['ann']);
  t.deepEqual(quotas.take('ann', null), ['ann']);
  t.deepEqual([quotas.overCount, quotas.limited, quotas.unread], [0, [], []]);
});

test('who is not named carried nothing', (t) => {
  const quotas = quotasOf();
  quotas.take('ann', { quota: 100 });
  hear(quotas, { ann: 100 });
  t.deepEqual(quotas.hear(NOVEMBER, ['ann'], new Map()), ['ann']);
  t.false(quotas.isOver('ann'));
});

test('it ends with the month, to the millisecond, and the new month counts for itself', (t) => {
  const quotas = quotasOf();
  quotas.take('ann', { quota: 100 });
  quotas.take('bob', { quota: null });
  hear(quotas, { ann: 100 });
  t.deepEqual(quotas.passTo(END_OF_NOVEMBER), []);
  t.true(quotas.isOver('ann'));
  t.deepEqual(quotas.passTo(IN_DECEMBER), ['ann']);
  t.false(quotas.isOver('ann'));
  t.deepEqual(quotas.unread, ['ann']);
  t.deepEqual(hear(quotas, { ann: 500 }), [], 'what was read of November, too late');
  t.deepEqual(quotas.unread, ['ann']);
  t.deepEqual(hear(quotas, { ann: 500 }, NOVEMBER + 1), ['ann']);
  // A clock that is set back.
  t.deepEqual(quotas.passTo(IN_NOVEMBER), ['ann']);
});

test('while nothing may open, who is over a quota stays so in a new month too', (t) => {
  const quotas = quotasOf();
  for (const id of ['ann', 'bob']) quotas.take(id, { quota: 100 });
  hear(quotas, { ann: 100, bob: 99 });
  quotas.opensNothing = true;
  t.deepEqual(quotas.passTo(IN_DECEMBER), []);
  t.deepEqual(hear(quotas, { ann: 0, bob: 100 }, 202_612), ['bob']);
  t.deepEqual([quotas.isOver('ann'), quotas.isOver('bob')], [true, true]);
  quotas.opensNothing = false;
  t.deepEqual(quotas.take('ann', { quota: 100 }), ['ann']);
  t.deepEqual(quotas.take('bob', { quota: 100 }), []);
});

test('a lower quota counts, of a user and of all; a higher one does not', (t) => {
  const quotas = quotasOf();
  quotas.opensNothing = true;
  for (const [id, quota] of Object.entries({ ann: 100, bob: null, cid: 100 }))
    quotas.take(id, { quota });
  quotas.lower(new Map([['ann', 50]]), 70);
  t.deepEqual(quotas.limited, ['ann', 'bob', 'cid']);
  const used = { ann: 50, bob: 60, cid: 70 };
  t.deepEqual(hear(quotas, used), ['ann', 'cid']);
  quotas.lower(new Map([['ann', 500]]), 500);
  quotas.lower(new Map(), null);
  t.deepEqual(hear(quotas, used), []);
  t.true(quotas.isOver('ann') && quotas.isOver('cid') && !quotas.isOver('bob'));
  t.deepEqual(hear(quotas, { bob: 70 }), ['bob']);
});
