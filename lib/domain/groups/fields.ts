// The answers about the members of groups. docs/api.md#members-of-a-group.

import { type AnswerOf, answerTable } from '../../kit/validation/answers.ts';

/** A member. */
export const memberFields = answerTable({
  id: { kind: 'id', description: 'The user.' },
  email: { kind: 'text', description: 'The e-mail of that user.' },
  sources: {
    kind: 'texts',
    description: 'Who says so: `manual` (an administrator), or the id of an identity provider.',
  },
});

/** A member, as it is answered. */
export type ShownMember = AnswerOf<typeof memberFields>;

/** A change of members. */
export const changedFields = answerTable({
  added: { kind: 'count', description: 'How many users became members.' },
  removed: { kind: 'count', description: 'How many are no members any more.' },
});

/** A change of members, as it is answered. */
export type MembersChanged = AnswerOf<typeof changedFields>;
