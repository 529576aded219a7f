// Every command that is a row.

import { accountRows } from './account-rows.ts';
import { deviceRows } from './device-rows.ts';
import type { CommandName } from './grammar.ts';
import { groupRows } from './group-rows.ts';
import { policyTestRows } from './policy-test-rows.ts';
import type { Row } from './row.ts';
import { ruleRows } from './rule-rows.ts';
import { userRows } from './user-rows.ts';

/** The rows by the words of their commands. */
export const rows: Partial<Record<CommandName, Row>> = {
  ...ruleRows,
  ...deviceRows,
  ...userRows,
  ...groupRows,
  ...policyTestRows,
  ...accountRows,
};
