// What is sent and answered where many people are enrolled at once.

import { PERSON_NAME_CHARACTERS_MAX, UNSEEN } from '../../../models/index.ts';
import { LINK_HOURS } from '../../auth/one-time-links.ts';
import { type AnswerOf, answerTable } from '../../kit/validation/answers.ts';
import { flag, integer, joi, resource, text, visibleName } from '../../kit/validation/fields.ts';
import { validatorOf } from '../../kit/validation/validate.ts';
import type { JoinWish } from './joining.ts';
import { ENROLLED_MAX } from './people-list.ts';

const named = joi.array().items(
  resource({
    name: text('The id or the name of a group.').required(),
    line: joi.number().integer().description('Where it is in a list; left out: not in one.'),
  }),
);

/** The fields. */
export const peopleFields = resource({
  people: joi
    .array()
    .items(
      resource({
        email: text('A user, or who becomes one.').required(),
        name: visibleName('What they are called.', UNSEEN).atMost(PERSON_NAME_CHARACTERS_MAX),
        line: joi.number().integer().description('Where it is in a list; left out: not in one.'),
        groups: named.description('The groups that this person joins.'),
      }),
    )
    .max(ENROLLED_MAX)
    .required()
    .description('Who they are.'),
  groups: named.description('The groups that all of them join.'),
  hours: integer('For how many hours the links are good.', LINK_HOURS.min, LINK_HOURS.max).default(
    LINK_HOURS.default,
  ),
  mail: flag('Whether mails with the links follow.').default(false),
});

interface NamedValues {
  readonly name: string;
  readonly line?: number;
}

/** What is sent. */
export interface PeopleValues {
  readonly people?: readonly {
    readonly email: string;
    readonly name?: string;
    readonly line?: number;
    readonly groups?: readonly NamedValues[];
  }[];
  readonly groups?: readonly NamedValues[];
  readonly hours?: number;
  readonly mail?: boolean;
}

/** Validates it. */
export const validatePeople = validatorOf<PeopleValues>(peopleFields);

/** Who joins which groups, as it was sent. */
export function wishOf({ people = [], groups = [] }: PeopleValues): Omit<JoinWish, 'force'> {
  return {
    people: people.map(({ groups: own = [], ...person }) => ({
      ...withLine(person),
      groups: own.map(withLine),
    })),
    groups: groups.map(withLine),
  };
}

function withLine<One extends { readonly line?: number }>(one: One): One & { line: number | null } {
  return { ...one, line: one.line ?? null };
}

/** What is answered. */
export const peopleEnrolledFields = answerTable({
  people: {
    kind: 'list',
    description: 'Everybody of the list, in its order.',
    of: answerTable({
      user_id: { kind: 'id', description: 'The user.' },
      email: { kind: 'text', description: 'The e-mail of that user.' },
      was_there: { kind: 'flag', description: 'Whether there was such a user before.' },
      url: { kind: 'text', description: 'The link; null: the user is disabled.', nullable: true },
      expires_at: { kind: 'time', description: 'Until when it is good.', nullable: true },
    }),
  },
  links: {
    kind: 'list',
    description: 'The links that were made, for their mails.',
    of: answerTable({
      id: { kind: 'id', description: 'Names the link.' },
      email: { kind: 'text', description: 'Whom it lets in.' },
      url: { kind: 'text', description: 'The link itself.' },
      expires_at: { kind: 'time', description: 'Until when it is good.' },
    }),
  },
});

/** What is answered. */
export type PeopleEnrolled = AnswerOf<typeof peopleEnrolledFields>;
