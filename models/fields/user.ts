// The fields of a user: who may own devices and administer. docs/api.md#users.

import { limitField, quotaField } from './limits.ts';
import { type ColumnsOf, fieldsOf, type NewColumnsOf, type ObeyedOf, type RowOf } from './field.ts';

/** The most characters of the name of a person. */
export const PERSON_NAME_CHARACTERS_MAX = 255;

/** The table of the record. */
export const userFields = fieldsOf({
  id: {
    column: { kind: 'id' },
    audit: 'nothing',
    obeyed: true,
    api: { kind: 'id', description: 'Names the user; never changes.', readOnly: true },
  },
  // As given, case kept.
  email: {
    column: { kind: 'text', size: 255 },
    audit: 'value',
    api: {
      kind: 'email',
      description: 'Unique without regard to case; case is kept.',
      required: true,
      atMost: 255,
    },
  },
  // What people read beside the e-mail, never in its place: a provider may let people choose it.
  name: {
    column: { kind: 'text', size: PERSON_NAME_CHARACTERS_MAX, nullable: true },
    audit: 'value',
    api: {
      kind: 'name',
      description: 'The name of the person; null: nobody has said it.',
      atMost: PERSON_NAME_CHARACTERS_MAX,
    },
  },
  // Unique: the e-mail in NFC and lower case.
  email_key: {
    column: { kind: 'text', size: 768, derived: true, inRows: false },
    audit: 'nothing',
  },
  // How the e-mail looks: equal for addresses that a person could take for one another. Not unique,
  // because older databases hold such pairs.
  email_look: {
    column: { kind: 'char', size: 64, nullable: true, derived: true, inRows: false },
    audit: 'nothing',
  },
  // What the user can do: everything, or look after their own devices.
  role: {
    column: {
      kind: 'text',
      size: 16,
      words: ['admin', 'unprivileged'],
      default: 'unprivileged',
    },
    audit: 'value',
    api: { kind: 'choice of Firezone', description: 'What the user may do.' },
  },
  role_provider: {
    column: { kind: 'text', size: 80, nullable: true },
    audit: 'value',
    api: {
      kind: 'text',
      description:
        'The identity provider that made the user an administrator, as `oidc/okta`; null where no provider did.',
      readOnly: true,
    },
  },
  // A bcrypt hash; null for users who sign in through a provider. The trail calls it `password`.
  password_hash: {
    column: { kind: 'text', size: 255, nullable: true, inRows: false },
    audit: 'own',
  },
  password: {
    api: {
      kind: 'password',
      description: 'For signing in; null or empty leaves it as it is.',
      nullable: true,
      writeOnly: true,
    },
  },
  password_confirmation: {
    api: { kind: 'text', description: 'The password again.', nullable: true, writeOnly: true },
  },
  enabled: {
    api: {
      kind: 'flag',
      description: 'False: the devices of the user pass no packet; tokens and sessions are void.',
      default: true,
    },
  },
  // Null while the user is enabled.
  disabled_at: {
    column: { kind: 'time', nullable: true },
    audit: 'value',
    obeyed: true,
    api: {
      kind: 'time',
      description: 'When the user was disabled; null while they are enabled.',
      readOnly: true,
    },
  },
  // Null exactly when `disabled_at` is; only the same cause can enable the user again.
  disabled_by: {
    column: { kind: 'text', size: 16, words: ['administrator', 'provider'], nullable: true },
    audit: 'value',
  },
  // Which provider's error disabled the user, as `oidc/okta`; null for any other cause.
  disabled_provider: { column: { kind: 'text', size: 80, nullable: true }, audit: 'value' },
  limit_down: limitField(
    'The most that each device of the user gets, in bits per second; null: as the configuration says.',
  ),
  limit_up: limitField(
    'The most that each device of the user sends, in bits per second; null: as the configuration says.',
  ),
  quota: quotaField(
    'The most that all devices of the user get and send in a calendar month (UTC), in bytes; null: as the configuration says.',
  ),
  quota_used: {
    api: {
      kind: 'count',
      description: 'What they got and sent this month, in bytes.',
      readOnly: true,
    },
  },
  quota_exceeded: {
    api: {
      kind: 'flag',
      description:
        'Whether that is as much as the quota, or more: then they reach nothing but the gateway itself.',
      readOnly: true,
    },
  },
  last_signed_in_at: {
    column: { kind: 'time', nullable: true },
    audit: 'nothing',
    obeyed: true,
    api: { kind: 'time', description: 'Null until the first sign-in.', readOnly: true },
  },
  last_signed_in_method: {
    column: { kind: 'text', size: 64, nullable: true },
    audit: 'nothing',
    api: { kind: 'text', description: '`email`, or the id of a provider.', readOnly: true },
  },
  // When the user, then an administrator, put the first steps of the dashboard away.
  first_steps_dismissed_at: {
    column: { kind: 'time', nullable: true, inRows: false },
    audit: 'nothing',
  },
  inserted_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the user was made.', readOnly: true },
  },
  updated_at: {
    column: { kind: 'timestamp' },
    audit: 'nothing',
    api: { kind: 'time', description: 'When the user was changed last.', readOnly: true },
  },
});

/** The columns of a user. */
export type UserColumns = ColumnsOf<typeof userFields>;

/** The columns of a user who is to be made. */
export type NewUserColumns = NewColumnsOf<typeof userFields>;

/** A user, without the password hash. */
export type UserRow = RowOf<typeof userFields>;

/** What gateways read of a user. */
export type ObeyedUser = ObeyedOf<typeof userFields>;
