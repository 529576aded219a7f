// The fields of an e-mail and a password, and of an administrator whom a command makes.

import type Joi from 'joi';
import { type AnswerOf, answerTable } from '../kit/validation/answers.ts';
import { flag, mark, resource, text, type TextSchema, trimmed } from '../kit/validation/fields.ts';
import { validatorOf } from '../kit/validation/validate.ts';
import { EMAIL_PATTERN, isEmail } from './email.ts';
import {
  PASSWORD_BYTES_MAX,
  PASSWORD_CHARACTERS_MAX,
  PASSWORD_CHARACTERS_MIN,
  passwordBytes,
} from './passwords.ts';

/** A field that holds an e-mail address. */
export function withEmailRule(field: TextSchema): TextSchema {
  return mark(
    field.custom(
      (email: string, helpers: Joi.CustomHelpers) =>
        isEmail(email) ? email : helpers.error('text.email'),
      'e-mail',
    ) as TextSchema,
    { json: { pattern: EMAIL_PATTERN.source } },
  );
}

/** A field that holds a new password. */
export function newPassword(description: string): TextSchema {
  const limit = PASSWORD_BYTES_MAX;
  return text(description)
    .atLeast(PASSWORD_CHARACTERS_MIN)
    .atMost(PASSWORD_CHARACTERS_MAX)
    .custom(
      (password: string, helpers: Joi.CustomHelpers) =>
        passwordBytes(password) <= limit
          ? password
          : helpers.error('string.atMostBytes', { limit }),
      'no longer than bcrypt reads',
    ) as TextSchema;
}

/** What is sent of an administrator whom a command makes. */
export const administratorFields = resource({
  email: withEmailRule(trimmed('A user, or who becomes one.')).required(),
  password: newPassword('The new password.').required(),
  remove_second_factors: flag('Whether to remove the second factors too.').default(false),
});

/** The values that are sent of it. */
export interface AdministratorValues {
  readonly email?: string;
  readonly password?: string;
  readonly remove_second_factors?: boolean;
}

/** Validates them. */
export const validateAdministrator = validatorOf<AdministratorValues>(administratorFields);

/** What is answered of it. */
export const madeAdministratorFields = answerTable({
  user_id: { kind: 'id', description: 'The user.' },
  password_sign_in_reopened: {
    kind: 'flag',
    description: 'Whether signing in by password was switched off, and is on again.',
  },
});

/** What is answered of it. */
export type MadeAdministrator = AnswerOf<typeof madeAdministratorFields>;
