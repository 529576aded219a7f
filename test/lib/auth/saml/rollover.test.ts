// Which certificates serve while a provider changes its own, step by step.

import test from 'ava';
import { NO_ROLLOVER, type Rollover, rollOver } from '../../../../lib/auth/saml/rollover.ts';

/** Documents one after the other, each a text of certificates with one letter; the last rollover. */
function after(...documents: string[]): string {
  let present: string[] = [];
  let rollover: Rollover = NO_ROLLOVER;
  for (const document of documents) {
    const next = document.split('');
    rollover = rollOver(present, rollover, next);
    present = next;
  }
  return `${rollover.former.join('')}/${rollover.awaited.join('')}`;
}

test('a former certificate serves while a new one is waited for', (t) => {
  t.is(after('A'), '/', 'the first document');
  t.is(after('A', 'A'), '/');
  t.is(after('A', 'AB'), '/', 'both are in the document');
  t.is(after('A', 'B'), 'A/B');
  t.is(after('A', 'B', 'B'), 'A/B', 'the same document again');
  t.is(after('AB', 'BC'), 'A/C', 'B was known before, and proves nothing');
  t.is(after('A', 'B', 'C'), 'AB/C', 'nobody saw B in use');
  t.is(after('A', 'B', 'BC'), 'A/BC');
});

test('a certificate that goes while no new one comes is void at once', (t) => {
  t.is(after('AB', 'B'), '/');
  t.is(after('A', 'AB', 'B'), '/');
  t.is(after('A', 'B', 'A'), '/', 'the change was taken back');
  t.is(after('A', 'BC', 'C'), 'A/C', 'one of two new ones goes');
  t.is(after('AC', 'BC', 'C'), '/', 'the only new one goes, so nothing is waited for');
});

test('nothing is kept twice', (t) => {
  t.is(after('A', 'BB', 'CC'), 'AB/C');
});
