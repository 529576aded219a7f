// The operations on policy tests. docs/api.md#policy-tests.

import { type Operation, UUID_PARAM } from '../../kit/operations/operation.ts';
import { recordOperations } from '../../kit/operations/records.ts';
import {
  policyTestFilters,
  type PolicyTests,
  policyTestSchema,
  validatePolicyTest,
} from './policy-tests.ts';

/** The operations on policy tests. */
export const policyTestOperations: readonly Operation<{ readonly policyTests: PolicyTests }>[] =
  recordOperations(
    {
      name: 'policy_tests',
      wrapper: 'policy_test',
      title: 'PolicyTest',
      fields: policyTestSchema,
      validate: validatePolicyTest,
      filters: policyTestFilters,
      params: UUID_PARAM,
    },
    ({ policyTests }) => policyTests,
  );
