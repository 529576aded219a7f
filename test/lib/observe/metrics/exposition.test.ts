// The text format: escapes, numbers, families; read back by a reader that was written apart.

import test from 'ava';
import {
  byLabel,
  EXPOSITION_TYPE,
  family,
  labelText,
  numberText,
  sample,
  single,
} from '../../../../lib/observe/metrics/exposition.ts';
import { readExposition } from '../../../support/observe/exposition.ts';

// docs/bugs-of-others.md#bug-22: labels.
test('labels may hold anything and come back as they were', (t) => {
  const values = ['', 'plain', 'a "quoted" \\ back\\slash\nline', '\\n', '}', 'ü ✓ 🦊', 'x="y",z'];
  const text =
    family('things', 'gauge', 'Any.') +
    values.map((value, i) => sample('things', labelText({ value, i: String(i) }), i)).join('');
  const samples = readExposition(text).get('things')?.samples ?? [];
  t.deepEqual(
    samples.map(({ labels }) => labels['value']),
    values,
  );
});

test('numbers are written as the format knows them', (t) => {
  t.is(numberText(0), '0');
  t.is(numberText(1.5), '1.5');
  t.is(numberText(2 ** 60), '1152921504606847000');
  t.is(numberText(1e21), '1e+21');
  t.is(numberText(Number.POSITIVE_INFINITY), '+Inf');
  t.is(numberText(Number.NEGATIVE_INFINITY), '-Inf');
  t.is(numberText(Number.NaN), 'NaN');
});

test('a family is opened by its help and type', (t) => {
  t.is(
    single('a', 'gauge', 'Of \\ two\nlines.', 1),
    '# HELP a Of \\\\ two\\nlines.\n# TYPE a gauge\na 1\n',
  );
  t.is(
    [...byLabel(['b_total', 'counter', 'B.'], 'reason', [['x', 2]])].join(''),
    '# HELP b_total B.\n# TYPE b_total counter\nb_total{reason="x"} 2\n',
  );
  t.is(labelText({}), '');
  t.regex(EXPOSITION_TYPE, /version=0\.0\.4/);
});

test('the reader that checks in tests refuses what the format does', (t) => {
  const good = '# HELP a A.\n# TYPE a gauge\na{b="c"} 1\n';
  t.is(readExposition(good).get('a')?.samples[0]?.value, 1);
  for (const bad of [
    good.slice(0, -1),
    'a 1\n',
    '# TYPE a gauge\na 1\n',
    good + good,
    `${good}a{b="c"} 2\n`,
    good.replace('"c"', '"c'),
    good.replace('"c"', '"\\x"'),
    good.replace(' 1', ' one'),
    good.replace('a{', 'b{'),
    good.replace('gauge', 'thing'),
    '# HELP a A.\n# TYPE a counter\na 1\n',
    '# HELP a_total A.\n# TYPE a_total counter\na_total -1\n',
    '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
  ])
    t.throws(() => readExposition(bad), undefined, bad);
});
