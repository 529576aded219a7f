// What can be done with users. docs/api.md#users.

import type { Operation, Param } from '../operations/operation.ts';
import { recordOperations } from '../operations/records.ts';
import { judgeUser, userFilters, type Users, userSchema } from './users.ts';

/** What names a user in paths. */
export const USER_PARAM: Readonly<Record<'id', Param>> = {
  id: {
    description: 'The UUID in any case, or the e-mail, percent-encoded or not, in any case.',
    schema: { type: 'string', minLength: 1 },
  },
};

/** The operations on users. */
export const userOperations: readonly Operation<{ readonly users: Users }>[] = recordOperations(
  {
    name: 'users',
    wrapper: 'user',
    title: 'User',
    fields: userSchema,
    judge: judgeUser,
    filters: userFilters,
    params: USER_PARAM,
    isTriable: true,
  },
  ({ users }) => users,
);
