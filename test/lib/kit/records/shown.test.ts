// A record as answers show it.

import test from 'ava';
import { showerOf, showTime, showTimeOrNull } from '../../../../lib/kit/records/shown.ts';
import { fieldsOf } from '../../../../models/fields/field.ts';

test('times are shown with six digits', (t) => {
  t.is(showTime(new Date('2026-11-20T10:00:00.007Z')), '2026-11-20T10:00:00.007000Z');
  t.is(showTime(new Date('2026-11-20T10:00:00Z')), '2026-11-20T10:00:00.000000Z');
  t.is(showTimeOrNull(null), null);
});

test('what no row holds must be given, or it does not compile', (t) => {
  const show = showerOf(fieldsOf({ total: { api: { kind: 'count', description: 'A sum.' } } }));
  // @ts-expect-error `total` is missing.
  t.deepEqual(show({}, {}), { total: undefined });
});

test('a record shows the fields of its table, in their order, and no other', (t) => {
  const show = showerOf(
    fieldsOf({
      name: {
        column: { kind: 'text', size: 9 },
        audit: 'value',
        api: { kind: 'text', description: 'The name.' },
      },
      secret: { column: { kind: 'sealed' }, audit: 'secret' },
      password: { api: { kind: 'text', description: 'Never shown.', writeOnly: true } },
      made_up: { api: { kind: 'text', description: 'Worked out.', readOnly: true } },
      at: {
        column: { kind: 'time', nullable: true },
        audit: 'value',
        api: { kind: 'time', description: 'When.', readOnly: true },
      },
    }),
  );
  const row = { at: new Date(0), secret: 's', password: 'p', name: 'n' };
  t.is(
    JSON.stringify(show(row, { made_up: 1 })),
    '{"name":"n","made_up":1,"at":"1970-01-01T00:00:00.000000Z"}',
  );
  t.is(
    JSON.stringify(show({ name: 'n', at: null }, { made_up: null, name: 'instead' })),
    '{"name":"instead","made_up":null,"at":null}',
  );
});
