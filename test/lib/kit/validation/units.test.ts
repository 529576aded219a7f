// Speeds and amounts as people write them.

import fc from 'fast-check';
import process from 'node:process';
import test from 'ava';
import {
  type Measure,
  measureText,
  probablyMeant,
  readMeasure,
} from '../../../../lib/kit/validation/units.ts';

for (const [measure, text, value] of [
  ['speed', '50 Mbit/s', 50_000_000],
  ['speed', '50Mbit/s', 50_000_000],
  ['speed', ' 1.5 Gbit/s ', 1_500_000_000],
  ['speed', '1,5 mbit/s', 1_500_000],
  ['speed', '1.1 kbit/s', 1_100],
  ['speed', '50 Mbps', 50_000_000],
  ['speed', '640 kbps', 640_000],
  ['speed', '64000 bps', 64_000],
  ['speed', '64000', 64_000],
  ['speed', '1.250 Mbit/s', 1_250_000],
  ['speed', '0,125 Gbit/s', 125_000_000],
  ['amount', '100 GB', 100_000_000_000],
  ['amount', '100 gB', 100_000_000_000],
  ['amount', '2,5TB', 2_500_000_000_000],
  ['amount', '5 KB', 5_000],
  ['amount', '1000000', 1_000_000],
] as const)
  test(`${text} is ${value}`, (t) => {
    t.deepEqual(readMeasure(text, measure), { value });
  });

for (const [measure, text, error] of [
  ['speed', '5 MB/s', /not taken here\. It is the same as 40 Mbit\/s$/],
  ['speed', '1 MiB/s', /It is the same as 8\.388608 Mbit\/s$/],
  ['speed', '1 Mb/s', /It is the same as 1 Mbit\/s$/],
  ['speed', '5 GB', /an amount, and not a speed\. Write it like 50 Mbit\/s$/],
  ['speed', '10 Mbit', /an amount, and not a speed\. Did you mean 10 Mbit\/s\?$/],
  ['speed', 'fast', /^not a number with a unit\. Write it like 50 Mbit\/s$/],
  ['speed', '-5 Mbit/s', /^not a number/],
  ['speed', '', /^not a number/],
  ['speed', '50 Mbit/h', /Units are kbit\/s, Mbit\/s, Gbit\/s, Tbit\/s$/],
  ['speed', '1,000 kbit/s', /Write 1000 or 1 instead of 1,000$/],
  ['speed', '0.5 bit/s', /^not a whole number of bits per second$/],
  ['amount', '5 GiB', /It is the same as 5\.36870912 GB$/],
  ['amount', '8 Gbit', /It is the same as 1 GB$/],
  ['amount', '8 Gb', /It is the same as 1 GB$/],
  ['amount', '5 Mbit/s', /a speed, and not an amount\. Write it like 100 GB$/],
  ['speed', '50M', /^in a unit that is not known\. Did you mean 50 Mbit\/s\?$/],
  ['amount', '100g', /^in a unit that is not known\. Did you mean 100 GB\?$/],
  ['speed', '50000000 bits per second', /not taken here\. It is the same as 50 Mbit\/s$/],
  ['speed', '6 MB per sec', /It is the same as 48 Mbit\/s$/],
  ['amount', '50 bits per second', /a speed, and not an amount/],
  ['speed', '50 per second', /Units are kbit\/s/],
  ['amount', '99999999999 TB', /^too much$/],
  ['speed', '99999999999999999999', /^too much$/],
] as const)
  test(`${text || 'nothing'} is refused`, (t) => {
    const read = readMeasure(text, measure);
    t.regex('error' in read ? read.error : 'it is taken', error);
  });

test('a value is written in the greatest unit that is exact', (t) => {
  t.is(measureText(50_000_000, 'speed'), '50 Mbit/s');
  t.is(measureText(1_250_000, 'speed'), '1.25 Mbit/s');
  t.is(measureText(12_345_678, 'speed'), '12.345678 Mbit/s');
  t.is(measureText(1_234_567, 'amount'), '1.234567 MB');
  t.is(measureText(999, 'amount'), '999');
});

test('what is written is read as the same value', (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom<Measure>('speed', 'amount'),
      fc.integer({ min: 0, max: 1_000_000_000_000_000 }),
      (measure, value) => {
        const read = readMeasure(measureText(value, measure), measure);
        return 'value' in read && read.value === value;
      },
    ),
    { numRuns: 2_000 },
  );
  t.pass();
});

test('a small number without a unit probably has one', (t) => {
  t.is(probablyMeant('50', 64_000, 'speed'), '50 Mbit/s');
  t.is(probablyMeant('100', 1_000_000, 'amount'), '100 GB');
  for (const text of ['64000', '63999', '0', '50 bit/s', ''])
    t.is(probablyMeant(text, 64_000, 'speed'), null);
});

test('a text as long as a form may be takes no time', (t) => {
  const { user } = process.cpuUsage();
  t.true('error' in readMeasure(`1${' '.repeat(65_000)}!`, 'speed'));
  // It took six seconds of a processor.
  t.true(process.cpuUsage().user - user < 1_000_000);
});
