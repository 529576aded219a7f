// Notes in the audit trail which policy tests fail because of writes that no test may refuse, such
// as an import or another default action: all tests are run before and after such a write.
// docs/api.md#policy-tests.

import { readPolicyTests, type Transaction } from '../../../models/index.ts';
import { type FailingTest, noteFailures } from './guard.ts';
import {
  type OwnedTest,
  ownersOf,
  type PolicyContext,
  PolicyTrial,
  type TestResult,
} from './trial.ts';

/** Runs writes in their transaction, and notes the tests that pass before and fail after them. */
export async function watchFailures<Result>(
  context: PolicyContext,
  transaction: Transaction,
  write: () => Promise<Result>,
): Promise<Result> {
  const before = await resultsOf(context, transaction);
  const result = await write();
  if (before.size === 0) return result;
  const failing: FailingTest[] = [];
  for (const [id, { test, result: after }] of await resultsOf(context, transaction))
    if (!after.passes && before.get(id)?.result.passes === true)
      failing.push({ test, result: after, at: null, isHeldUp: false });
  noteFailures(transaction, failing, { ruleId: null });
  return result;
}

/** All tests with their results, by id. */
async function resultsOf(
  context: PolicyContext,
  transaction: Transaction,
): Promise<ReadonlyMap<string, { test: OwnedTest; result: TestResult }>> {
  const { database } = context.services;
  const tests = await readPolicyTests(database, { transaction });
  if (tests.length === 0) return new Map();
  const owned = await ownersOf(database, tests, transaction);
  const trial = await PolicyTrial.open(context, owned, { atMs: Date.now(), transaction });
  return new Map(owned.map((test) => [test.id, { test, result: trial.judge(test) }]));
}
