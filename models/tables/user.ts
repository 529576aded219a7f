// The users table: who may own devices and administer. The unique key is not the e-mail as given
// but its key, NFC and lower case; another column says how the e-mail looks. docs/api.md#users.

import { createHash } from 'node:crypto';
import { type NewUserColumns, type UserColumns, userFields } from '../fields/user.ts';
import { type TableContext, timestamps } from './columns.ts';
import { columnsFrom, modelOf } from './from-fields.ts';

/** What a user can do: everything, or look after their own devices. */
export type Role = UserColumns['role'];

/** Who disabled a user; only the same cause can enable them again (docs/api.md#disabled-users). */
export type DisabledBy = NonNullable<UserColumns['disabled_by']>;

/** The values of a user who is not disabled. */
export const ENABLED = { disabled_at: null, disabled_by: null, disabled_provider: null } as const;

/**
 * One user; its columns are properties of it. Setting `email` sets `email_key` and
 * `email_look`, and another `role` takes `role_provider` away.
 */
export class User extends modelOf<UserColumns, NewUserColumns>() {}

/** Turns an e-mail into the key by which users are found: NFC, lower case. */
export function emailKey(email: string): string {
  return email.normalize('NFC').toLowerCase().normalize('NFC');
}

/** Marks that nobody sees, such as a space without a width; an address with one looks the same. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;
/** What lower case leaves of a capital I with a dot: an i with a second dot above the first. */
const DOTTED_I = /i\u0307/g;

/**
 * How an e-mail looks: the SHA-256 of the address with its letters folded to those that they look
 * like. Two addresses with one look differ for programs, but not for people who read them. A change
 * of the folding needs a migration that fills the column again.
 */
export function emailLook(email: string): string {
  const plain = email.normalize('NFKC').replaceAll(UNSEEN, '').toLowerCase().normalize('NFKC');
  const folded = plain.replaceAll('\u0131', 'i').replaceAll(DOTTED_I, 'i');
  return createHash('sha256').update(folded).digest('hex');
}

/** Binds the table to one database. */
export function initUser(context: TableContext): typeof User {
  const columns = columnsFrom(userFields, 'users', context);
  return class extends User {}.init(
    {
      ...columns,
      email: {
        ...columns.email,
        set(this: User, email: string) {
          this.setDataValue('email', email);
          this.setDataValue('email_key', emailKey(email));
          this.setDataValue('email_look', emailLook(email));
        },
      },
      role: {
        ...columns.role,
        set(this: User, role: Role) {
          // The writer of this moment gives another role; code that names a provider does so
          // afterwards.
          if (role !== this.getDataValue('role')) this.setDataValue('role_provider', null);
          this.setDataValue('role', role);
        },
      },
    },
    { sequelize: context.sequelize, modelName: 'user', tableName: 'users', ...timestamps },
  );
}
