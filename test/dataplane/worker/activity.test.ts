// Whether a worker is at rest: it waits, and the last whole sample has all of its work.

import test from 'ava';
import { noteWait, noteWork, Rest, workOf } from '../../../dataplane/worker/activity.ts';

test('a worker that waits and has done nothing since its last sample is at rest', (t) => {
  const rest = new Rest();
  t.false(rest.isAtRest, 'nobody has sampled it');
  rest.sampled(rest.work);
  t.false(rest.isAtRest, 'it does not wait: it may hang');
  noteWait(rest.activity, true);
  t.true(rest.isAtRest);
  noteWait(rest.activity, false);
  t.false(rest.isAtRest);
});

test('work that begins while a sample is taken is in the next one', (t) => {
  const rest = new Rest();
  const { work } = rest;
  noteWork(rest.activity);
  rest.sampled(work);
  noteWait(rest.activity, true);
  t.false(rest.isAtRest);
  rest.sampled(rest.work);
  t.true(rest.isAtRest);
});

test('a worker that ended while it waited is not at rest', (t) => {
  const rest = new Rest();
  rest.sampled(rest.work);
  noteWait(rest.activity, true);
  rest.forget();
  t.false(rest.isAtRest);
  noteWait(rest.activity, true);
  t.false(rest.isAtRest, 'nobody has sampled the next one');
});

test('the work of all is known while all wait', (t) => {
  const rests = [new Rest(), new Rest()];
  t.is(workOf(rests), null);
  for (const { activity } of rests) noteWait(activity, true);
  t.is(workOf(rests), 0);
  for (const { activity } of rests) noteWork(activity);
  t.is(workOf(rests), 2);
  noteWait(rests[1]!.activity, false);
  t.is(workOf(rests), null);
});
