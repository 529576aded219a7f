// The list of reasons.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ERROR_COUNT } from '../../dataplane/contract.ts';
import { errorReasons, reasonNames, reasons } from '../../dataplane/reasons.ts';

const DATAPLANE = join(import.meta.dirname, '../../dataplane');

test('none is zero, so that a refusal is true', (t) => {
  t.is(reasons.none, 0);
});

test('each name is one number and each number one name', (t) => {
  t.is(new Set(reasonNames).size, reasonNames.length);
  t.deepEqual(
    reasonNames.map((name) => reasons[name]),
    reasonNames.map((_, i) => i),
  );
});

test('names are what a metric label may be', (t) => {
  for (const name of reasonNames) t.regex(name, /^[a-z][a-z0-9_]*$/);
});

test('every reason is given somewhere, by the data plane or as an error of the engine', (t) => {
  const files = readdirSync(DATAPLANE, { recursive: true, encoding: 'utf8' }).filter(
    // The clients of the memory gateway are no part of what is counted.
    (file) => file.endsWith('.ts') && file !== 'reasons.ts' && !file.startsWith('memory/'),
  );
  const texts = files.map((file) => readFileSync(join(DATAPLANE, file), 'utf8'));
  const given = new Set(
    texts.flatMap((text) => [...text.matchAll(/\breasons\.(\w+)/g)].map(([, name]) => name)),
  );
  t.deepEqual(
    reasonNames.filter((name) => !given.has(name) && !errorReasons.includes(name)),
    [],
  );
  t.is(errorReasons.length, ERROR_COUNT);
});

test('the list cannot be changed at run time', (t) => {
  t.true(Object.isFrozen(reasons));
});
