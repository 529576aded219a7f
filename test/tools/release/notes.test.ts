// What a release says of itself, and what it is refused for.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { withContact } from '../../../tools/documents.ts';
import { CONTACT_PAGES, contactIn, PUBLISHER } from '../../../tools/publisher.ts';
import {
  checkVersion,
  notesOf,
  refusePlaceholders,
  sourceEpoch,
} from '../../../tools/release/notes.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const CHANGELOG = `# Changelog

## Unreleased

### Added

- A thing.

## 1.1.0 - 2026-12-01

- Another thing.

## 1.0.1 - 2026-11-30

## 1.0.0 - 2026-11-23

- The first.
`;

test('a release has the notes of its version, and a trial those that are not released', (t) => {
  t.is(notesOf(CHANGELOG, '1.1.0'), '# Postern 1.1.0\n\n- Another thing.\n');
  t.is(notesOf(CHANGELOG, '1.1.0-rc.1'), '# Postern 1.1.0-rc.1\n\n### Added\n\n- A thing.\n');
  t.is(notesOf(CHANGELOG, '1.0.0'), '# Postern 1.0.0\n\n- The first.\n');
  const onTheDay = CHANGELOG.replace(/## Unreleased[^]*?(?=## 1\.1\.0)/, '');
  t.is(notesOf(onTheDay, '1.1.0-rc.1'), '# Postern 1.1.0-rc.1\n\n- Another thing.\n');
});

test('a release without notes is refused', (t) => {
  t.throws(() => notesOf(CHANGELOG, '1.0.1'), { message: /section “1\.0\.1” .* has no entry/ });
  t.throws(() => notesOf(CHANGELOG, '1.1'), { message: /has no section “1\.1”/ });
  t.throws(() => notesOf(CHANGELOG, '1.2.0'), { message: /has no section “1\.2\.0”/ });
});

test('this tree could be released as a trial', (t) => {
  const notes = notesOf(readFileSync(resolve(ROOT, 'CHANGELOG.md'), 'utf8'), '1.1.0-rc.1');
  t.regex(notes, /^### Security$/m);
  t.notRegex(notes, /^## /m);
});

test('what is no version is refused', (t) => {
  for (const version of ['1.1.0', '10.0.12', '1.1.0-rc.1', '1.1.0-dev'])
    t.notThrows(() => checkVersion(version));
  for (const version of ['', 'v1.1.0', '1.1', '1.1.0-', '1.1.0 ', '../1.1.0', '1.1.0-RC_1'])
    t.throws(() => checkVersion(version), { message: /is no version/ }, version);
});

test('an address that nobody reads is refused', (t) => {
  for (const address of ['security@postern.example', 'a.b@example.com', 'a@mail.example.org'])
    t.throws(() => refusePlaceholders('SECURITY.md', `Write to **${address}**.`), {
      message: new RegExp(`^SECURITY\\.md says ${address.replaceAll('.', '\\.')}, `),
    });
  t.notThrows(() => refusePlaceholders('SECURITY.md', 'security@postern.org, examples@a.net'));
});

test('each page that names the contact is refused as long as it is a placeholder', (t) => {
  const refused = (pages: readonly (readonly [string, string])[]): string[] =>
    pages.flatMap(([page, text]) => {
      try {
        refusePlaceholders(page, text);
        return [];
      } catch {
        return [page];
      }
    });
  t.deepEqual(refused(withContact('security@postern.example')), CONTACT_PAGES);
  // An example in code is no contact.
  t.deepEqual(refused(withContact('security@postern.org')), []);
});

test('the contact is filled in at one place, and the pages name it', (t) => {
  t.is(contactIn(readFileSync(resolve(ROOT, 'SECURITY.md'), 'utf8')), PUBLISHER.contact);
  for (const [page, text] of withContact('me@real.org')) {
    t.true(text.includes('me@real.org'), page);
    t.false(text.includes(PUBLISHER.contact), page);
  }
});

test('the time of a release is given, or that of the last commit', (t) => {
  t.is(sourceEpoch({ SOURCE_DATE_EPOCH: '1700000000' }), 1_700_000_000);
  t.throws(() => sourceEpoch({ SOURCE_DATE_EPOCH: 'today' }), { message: /no number of seconds/ });
  t.true(sourceEpoch({}) > 1_700_000_000);
});
