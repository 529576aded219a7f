// The policy_tests table: packets that the rules must accept or drop. docs/api.md#policy-tests.

import {
  type NewPolicyTestColumns,
  type PolicyTestColumns,
  policyTestFields,
} from '../fields/policy-test.ts';
import { type TableContext, timestamps } from './columns.ts';
import { columnsFrom, modelOf } from './from-fields.ts';

/** One policy test; its columns are properties of it. */
export class PolicyTest extends modelOf<PolicyTestColumns, NewPolicyTestColumns>() {}

/** Binds the table to one database. */
export function initPolicyTest(context: TableContext): typeof PolicyTest {
  const { sequelize } = context;
  return class extends PolicyTest {}.init(columnsFrom(policyTestFields, 'policy_tests', context), {
    sequelize,
    modelName: 'policy_test',
    tableName: 'policy_tests',
    ...timestamps,
  });
}
