// What pages for administrators call a page, a tab, a field or a button of the console, in italics,
// is what the console calls it.

import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';

const ROOT = resolve(import.meta.dirname, '../..');

/** Where texts of the console are. */
const TEXTS = ['lib/**/*.{ts,eta}', 'models/fields/*.ts'];
/** Pages that name the console. Those of identity providers name the provider's console too. */
const PAGES = [
  'README.md',
  'docs/start.md',
  'docs/api.md',
  'docs/guides/*.md',
  'docs/reference/*.md',
];
/** Names in italics that are not of the console, with the reason. */
const NOT_OURS: Readonly<Record<string, string>> = {
  'Packet comments': 'of Wireshark',
  'Capture file properties': 'of Wireshark',
  Dashboards: 'of Grafana',
  'Sign in with LABEL': 'the label is that of the entry',
  'A staged rule would drop it': 'an answer, of which the action is a part',
};
/** A label, or several with arrows between: that is the way to the last one. */
const LABELS = /(?<![\w_])_([A-Z][^_]{2,80})_(?![\w_])/g;

const texts = oneLine(filesOf(TEXTS).map(read).join(' '));

function filesOf(patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT }));
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

/** The labels that a page names. */
function labelsIn(page: string): string[] {
  const prose = page.replaceAll(/```.*?```/gs, '').replaceAll(/`[^`]*`/g, '');
  return [...prose.matchAll(LABELS)]
    .flatMap(([, way = '']) => oneLine(way).split(/ → |, /))
    .map((label) => label.replace(/\.$/, ''));
}

test('labels are found, each step of a way for itself', (t) => {
  t.deepEqual(labelsIn('Under _Settings → Client\ndefaults_ and `_X one_`, _Save_; snake_Case_x'), [
    'Settings',
    'Client defaults',
    'Save',
  ]);
});

test('the console has each label that a page names', (t) => {
  for (const path of filesOf(PAGES))
    for (const label of labelsIn(read(path)))
      if (NOT_OURS[label] === undefined)
        t.true(texts.includes(label), `${path} names "${label}", which the console does not have`);
});
