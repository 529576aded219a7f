// The users table: who may own devices and administer. The unique key is not the e-mail as given
// but its key, NFC and lower case. docs/api.md#users.

import { type NewUserColumns, type UserColumns, userFields } from '../fields/user.ts';
import { type TableContext, timestamps } from './columns.ts';
import { columnsFrom, modelOf } from './from-fields.ts';

/** What a user can do: everything, or look after their own devices. */
export type Role = UserColumns['role'];

/** Who disabled a user; only the same cause can enable them again (docs/api.md#disabled-users). */
export type DisabledBy = NonNullable<UserColumns['disabled_by']>;

/** What a user has who is not disabled. */
export const ENABLED = { disabled_at: null, disabled_by: null, disabled_provider: null } as const;

/**
 * One user; its columns are properties of it. Setting `email` sets `email_key`, and
 * another `role` takes `role_provider` away.
 */
export class User extends modelOf<UserColumns, NewUserColumns>() {}

/** Turns an e-mail into the key by which users are found: NFC, lower case. */
export function emailKey(email: string): string {
  return email.normalize('NFC').toLowerCase().normalize('NFC');
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
        },
      },
      role: {
        ...columns.role,
        set(this: User, role: Role) {
          // Another role comes from whoever sets it now; who names a provider does so afterwards.
          if (role !== this.getDataValue('role')) this.setDataValue('role_provider', null);
          this.setDataValue('role', role);
        },
      },
    },
    { sequelize: context.sequelize, modelName: 'user', tableName: 'users', ...timestamps },
  );
}
