// What is sent of an administrator whom a command makes.

import test from 'ava';
import { validateAdministrator } from '../../../lib/auth/account-fields.ts';
import { inSentences } from '../../../lib/kit/validation/validate.ts';

const password = 'correct horse battery';

test('an e-mail without the spaces around it and a password are taken', (t) => {
  t.deepEqual(validateAdministrator({ email: ' a@b ', password }, 'create'), {
    values: { email: 'a@b', password, remove_second_factors: false },
    errors: {},
  });
});

const refused: [what: string, sent: object, errors: object][] = [
  ['nothing', {}, { email: ["can't be blank"], password: ["can't be blank"] }],
  ['no e-mail', { email: 'ann', password }, { email: ['is invalid email address'] }],
  [
    'a short password',
    { email: 'a@b', password: 'short' },
    { password: ['should be at least 12 character(s)'] },
  ],
  [
    'a password that is longer than bcrypt reads',
    { email: 'a@b', password: 'ä'.repeat(40) },
    { password: ['should be at most 72 byte(s)'] },
  ],
];
for (const [what, sent, errors] of refused)
  test(`${what} is refused`, (t) => {
    t.deepEqual(inSentences(validateAdministrator(sent, 'create').errors), errors);
  });
