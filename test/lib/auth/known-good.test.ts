// What a server knows to be good, in virtual time.

import test from 'ava';
import {
  ADDRESS_MS,
  ADDRESSES_MAX,
  CREDENTIALS_MAX,
  FRESH_MS,
  KnownGood,
} from '../../../lib/auth/known-good.ts';

const ANN = { userId: 'ann', isAdministrator: false, by: 'session' } as const;

function make() {
  const clock = { ms: 5_000 };
  return { clock, known: new KnownGood(() => clock.ms) };
}

test('what was found good is known until it is forgotten', (t) => {
  const { clock, known } = make();
  t.is(known.find('a'), null);
  known.add('a', ANN);
  clock.ms += 365 * 86_400_000;
  t.is(known.find('a'), ANN);
  known.forget('a');
  t.is(known.find('a'), null);
});

test('of too many those are forgotten that were unused for longest', (t) => {
  const { known } = make();
  for (let i = 0; i < CREDENTIALS_MAX; i += 1) known.add(String(i), ANN);
  t.is(known.find('0'), ANN, 'used again');
  known.add('new', ANN);
  t.is(known.find('0'), ANN);
  t.is(known.find('1'), null);
});

test('what was found good more than a minute ago is looked up again, by one', (t) => {
  const { clock, known } = make();
  t.false(known.mustLookAgain('a'), 'nothing is known of it');
  known.add('a', ANN);
  clock.ms += FRESH_MS;
  t.false(known.mustLookAgain('a'));
  clock.ms += 1;
  t.is(known.find('a'), ANN, 'use makes it no fresher');
  t.true(known.mustLookAgain('a'));
  t.false(known.mustLookAgain('a'), 'somebody does it already');
  clock.ms += FRESH_MS + 1;
  known.add('a', ANN);
  t.false(known.mustLookAgain('a'));
});

test('an address is known for an hour', (t) => {
  const { clock, known } = make();
  t.false(known.hasAddress('192.0.2.1'));
  known.addAddress('192.0.2.1');
  clock.ms += ADDRESS_MS;
  t.true(known.hasAddress('192.0.2.1'));
  clock.ms += 1;
  t.false(known.hasAddress('192.0.2.1'));
});

test('the table of addresses is bounded', (t) => {
  const { known } = make();
  for (let i = 0; i <= ADDRESSES_MAX; i += 1) known.addAddress(String(i));
  t.false(known.hasAddress('0'));
  t.true(known.hasAddress('1'));
});
