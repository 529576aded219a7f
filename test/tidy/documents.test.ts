// The reference pages are those of the program: commands, metrics and reasons of refusals, none
// missing and none invented.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { reasonNames } from '../../dataplane/index.ts';
import { reasonInWords } from '../../lib/domain/policy/reason-words.ts';
import {
  commandHelps,
  generatedPages,
  metricFamilies,
  reasonRows,
  reasonsInSources,
} from '../../tools/documents.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const REASONS = 'docs/reference/refusal-reasons.md';

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

test('the generated pages are current', async (t) => {
  for (const [path, text] of await generatedPages()) t.is(read(path), text, 'run: npm run docs');
});

test('the pages hold all commands and all metrics', async (t) => {
  const commands = commandHelps();
  t.true(commands.size > 40);
  const page = read('docs/reference/command-line.md');
  for (const name of commands.keys()) t.true(page.includes(`### ${name}\n`), name);
  const families = await metricFamilies();
  t.true(families.size > 50);
  const metrics = read('docs/reference/metrics.md');
  for (const name of families.keys()) t.true(metrics.includes(`| \`${name}\``), name);
});

test('each reason has one row, with its sentence and with what to do about it', (t) => {
  const rows = reasonRows(read(REASONS));
  const named = rows.flatMap(({ names }) => names);
  t.is(new Set(named).size, named.length - DOUBLE.length, 'no reason has two rows');
  for (const { names, what, action } of rows) {
    t.regex(what, /^[A-Z`].*\.$/, `${names[0]} has a sentence`);
    t.regex(action, /^[A-Z[`].*\.$/, `${names[0]} says what to do`);
  }
  for (const name of reasonNames.filter((one) => one !== 'none'))
    t.is(rows.find(({ names }) => names.includes(name))?.what, reasonInWords(name), name);
});

/** Words that two families of counts have, with different meanings. */
const DOUBLE = ['too_busy', 'too_many_from_address', 'expired'];

test('each reason that the sources count is in the page, and the page invents none', (t) => {
  const inSources = reasonsInSources();
  t.true(inSources.size > 60);
  const named = new Set(reasonRows(read(REASONS)).flatMap(({ names }) => names));
  t.deepEqual(
    [...inSources].filter((name) => !named.has(name)),
    [],
  );
  const known = new Set<string>([...reasonNames, ...inSources]);
  t.deepEqual(
    [...named].filter((name) => !known.has(name) && name.includes('_')),
    NOT_IN_SOURCES,
  );
});

/** Words that the sources put together, and one that comes from a provider. */
const NOT_IN_SOURCES = [
  'oidc_tested',
  'saml_tested',
  'oidc_shut_out',
  'saml_shut_out',
  'invalid_grant',
];
