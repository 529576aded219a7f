// Rules that begin and end: by time alone, once, and together with what else of them is pending.

import test from 'ava';
import { GLOBAL_SCOPE } from '../../../dataplane/index.ts';
import { Translation } from '../../../lib/reconcile/translation.ts';
import type { RuleRow } from '../../../models/index.ts';
import { changesOf, everything, ruleRow, settings } from '../../support/reconcile/rows.ts';

const NOW = Date.UTC(2026, 10, 20, 12);

/** A translation that knows some rules, and has handed over what they mean. */
function knowing(rules: RuleRow[]): Translation {
  const translation = new Translation(settings);
  translation.take(everything({ rules }), NOW);
  translation.handOver();
  return translation;
}

const one = (row: RuleRow): Map<string, RuleRow> => new Map([[row.id, row]]);

test('a rule decides from its start on and before its end, by time alone', (t) => {
  const timed = ruleRow({ starts_at: new Date(NOW + 10), ends_at: new Date(NOW + 20) });
  const translation = knowing([timed, ruleRow({ id: 'r2', user_id: 'u1' })]);
  const inForce = () => [...translation.ruleActions()].map(({ id }) => id);
  for (const [passMs, count, nextMs] of [
    [9, null, 10],
    [10, 1, 20],
    [19, null, 20],
    [20, 0, Number.POSITIVE_INFINITY],
    // The clock is set back.
    [15, 1, 20],
    [5, 0, 10],
    [30, null, Number.POSITIVE_INFINITY],
  ] as const) {
    translation.passTo(NOW + passMs);
    const due = translation.handOverDue();
    const ids = due?.rules.get(GLOBAL_SCOPE);
    t.deepEqual(ids?.get('r1')?.length ?? null, count, String(passMs));
    t.deepEqual([...(due?.rules.keys() ?? [])], count === null ? [] : [GLOBAL_SCOPE]);
    t.is(translation.nextChangeAtMs - NOW, nextMs);
    t.deepEqual(inForce(), passMs >= 10 && passMs < 20 ? ['r1', 'r2'] : ['r2']);
    t.is(translation.pending(), null, 'it is handed over once');
  }
});

test('a rule whose time comes waits for the other rows of its change, and is due again if it is lost', (t) => {
  const timed = ruleRow({ starts_at: new Date(NOW + 10) });
  const translation = knowing([timed]);
  translation.take(changesOf({ rules: one({ ...timed, action: 'accept' }) }), NOW);
  translation.passTo(NOW + 10);
  t.is(translation.handOverDue(), null, 'its row is pending');
  t.is(translation.pending()?.rules.get(GLOBAL_SCOPE)?.get('r1')?.length, 1);
  translation.handOver();

  translation.passTo(NOW);
  const due = translation.handOverDue();
  t.deepEqual([...(due?.rules.get(GLOBAL_SCOPE) ?? [])], [['r1', []]]);
  translation.takeBackDue(due!);
  t.deepEqual(translation.handOverDue(), due);
  translation.takeBackDue(due!);
  translation.take(changesOf({ rules: one({ ...timed, destination: '10.0.0.5' }) }), NOW);
  t.is(translation.handOverDue(), null, 'another row came');
  t.deepEqual([...translation.pending()!.rules.get(GLOBAL_SCOPE)!.keys()], ['r1']);
});

test('on a later schema time may close, and opens nothing', (t) => {
  const [startsAt, endsAt] = [new Date(NOW + 10), new Date(NOW + 20)];
  const rules = [
    ruleRow({ id: 'opens', action: 'accept', starts_at: startsAt }),
    ruleRow({ id: 'ends', action: 'accept', ends_at: startsAt }),
    ruleRow({ id: 'shuts', action: 'drop', starts_at: startsAt }),
    ruleRow({ id: 'frees', action: 'drop', ends_at: startsAt }),
    ruleRow({ id: 'both', action: 'accept', starts_at: startsAt, ends_at: endsAt }),
  ];
  const translation = knowing(rules);
  const inForce = () => [...translation.ruleActions()].map(({ id }) => id);
  const ends = { isAll: false, users: new Map(), devices: new Map(), vpnSessionDuration: null };
  translation.takeEnds(ends, NOW);
  translation.passTo(NOW + 10);
  const due = translation.handOverDue()?.rules.get(GLOBAL_SCOPE);
  t.deepEqual([...(due?.keys() ?? [])], ['ends', 'shuts']);
  t.deepEqual(inForce(), ['shuts', 'frees']);
  translation.takeEnds(ends, NOW + 15);
  t.deepEqual(inForce(), ['shuts', 'frees'], 'nor at the next look');

  // The schema of this version again: all rows are read, and mean what they say.
  translation.take(everything({ rules }), NOW + 15);
  t.deepEqual(inForce(), ['opens', 'shuts', 'both']);
});
