// Names as providers say them, made such as the API would take.

import test from 'ava';
import { readPersonName } from '../../../../lib/auth/identity/person-name.ts';
import { PERSON_NAME_CHARACTERS_MAX, UNSEEN } from '../../../../models/index.ts';

test('a name is one line in NFC, without what nobody sees', (t) => {
  t.is(readPersonName('  Ann \t\n Lee '), 'Ann Lee');
  t.is(readPersonName('Rene\u0301'), 'Ren\u00e9');
  t.is(readPersonName('\u202eeeL nnA\u202c\u200b'), 'eeL nnA');
  t.is(readPersonName('<b>Ann</b>'), '<b>Ann</b>', 'pages escape');
  for (const said of ['Ann\u0000Lee', '\u2800Ann', 'Ann\u2028Lee'])
    t.false(UNSEEN.test(readPersonName(said) ?? ''), JSON.stringify(said));
});

test('what is no name is none', (t) => {
  for (const said of [undefined, null, 7, {}, ['Ann'], '', ' \n ', '\u200b', '\ud800'])
    t.is(readPersonName(said), null, JSON.stringify(said));
  t.is(readPersonName('00000000-0000-7000-8000-000000000000'), null, 'it would be an id');
  t.is(readPersonName('x'.repeat(PERSON_NAME_CHARACTERS_MAX))?.length, PERSON_NAME_CHARACTERS_MAX);
  t.is(readPersonName('x'.repeat(PERSON_NAME_CHARACTERS_MAX + 1)), null);
  t.is(readPersonName(' '.repeat(1e7)), null);
});
