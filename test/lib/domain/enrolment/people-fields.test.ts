// What is sent where many people are enrolled at once.

import test from 'ava';
import { validatePeople, wishOf } from '../../../../lib/domain/enrolment/people-fields.ts';
import { ENROLLED_MAX } from '../../../../lib/domain/enrolment/people-list.ts';
import { inSentences } from '../../../../lib/kit/validation/validate.ts';

test('people, groups and their lines become a wish', (t) => {
  const sent = {
    people: [
      { email: 'ann@example.com', line: 2, groups: [{ name: 'team', line: 2 }] },
      { email: 'bob@example.com', line: null, groups: [] },
    ],
    groups: [{ name: 'all', line: null }],
  };
  const { values, errors } = validatePeople(sent, 'create');
  t.deepEqual(errors, {});
  t.like(values, { hours: 72, mail: false });
  t.deepEqual(wishOf(values), sent);
});

const person = { email: 'ann@example.com' };
const refused: [what: string, sent: object, errors: object][] = [
  ['nobody', {}, { people: ["can't be blank"] }],
  [
    'a person without an e-mail',
    { people: [person, {}] },
    { people: [{}, { email: ["can't be blank"] }] },
  ],
  [
    'too many people',
    { people: Array(ENROLLED_MAX + 1).fill(person) },
    { people: [`should have at most ${ENROLLED_MAX} item(s)`] },
  ],
  [
    'a link that is good for no time',
    { people: [person], hours: 0 },
    { hours: ['must be greater than or equal to 1'] },
  ],
];
for (const [what, sent, errors] of refused)
  test(`${what} is refused`, (t) => {
    t.deepEqual(inSentences(validatePeople(sent, 'create').errors), errors);
  });
