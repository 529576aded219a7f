// The operations on users. docs/api.md#users.

import { type Operation, USER_PARAM } from '../../kit/operations/operation.ts';
import { recordOperations } from '../../kit/operations/records.ts';
import { userFilters, type Users, userSchema, validateUser } from './users.ts';

/** The operations on users. */
export const userOperations: readonly Operation<{ readonly users: Users }>[] = recordOperations(
  {
    name: 'users',
    wrapper: 'user',
    title: 'User',
    fields: userSchema,
    validate: validateUser,
    filters: userFilters,
    params: USER_PARAM,
    isTriable: true,
  },
  ({ users }) => users,
);
