// The results of policy tests after a change of users' groups: groups decide which rules are asked
// for the packets of a user. docs/api.md#policy-tests.

import { type GroupsChange, readPolicyTests, type Transaction } from '../../../models/index.ts';
import type { Shared } from '../../kit/process/shared.ts';
import { type FailingTest, noteFailures } from './guard.ts';
import { ownersOf, type PolicyContext, PolicyTrial } from './trial.ts';

/** The most tests that a line of the log names. */
const LOGGED_MAX = 20;

/**
 * The tests that pass with the old groups of users and fail with the new ones, now or when a rule
 * begins, each with the first time at which it fails. If a user joins a group, such a test refuses
 * the write.
 */
export async function failuresOfGroups(
  context: PolicyContext,
  changes: readonly GroupsChange[],
  transaction: Transaction,
): Promise<FailingTest[]> {
  const byUser = new Map(changes.filter(isChange).map((change) => [change.userId, change]));
  if (byUser.size === 0) return [];
  const { database } = context.services;
  const tests = await readPolicyTests(database, { transaction });
  const near = tests.filter(({ user_id: id }) => id === null || byUser.has(id));
  const concerned = (await ownersOf(database, near, transaction)).flatMap((test) => {
    const change = byUser.get(test.ownerId);
    if (change === undefined) return [];
    const { before, after } = change;
    return [{ test: { ...test, groupIds: [...new Set([...before, ...after])] }, before, after }];
  });
  if (concerned.length === 0) return [];
  const asked = concerned.map(({ test }) => test);
  const now = await PolicyTrial.open(context, asked, { atMs: Date.now(), transaction });
  const failing = new Map<string, FailingTest>();
  for (const at of [null, ...now.starts()]) {
    const trial = at === null ? now : now.at(at.getTime());
    for (const { test, before, after } of concerned) {
      if (failing.has(test.id) || !trial.judge({ ...test, groupIds: before }).passes) continue;
      const result = trial.judge({ ...test, groupIds: after });
      const isHeldUp = after.some((id) => !before.includes(id));
      if (!result.passes) failing.set(test.id, { test, result, at, isHeldUp });
    }
  }
  return [...failing.values()];
}

function isChange({ before, after }: GroupsChange): boolean {
  return before.length !== after.length || after.some((id) => !before.includes(id));
}

/**
 * Makes the listener to changes of groups by identity providers. It notes and logs the tests that
 * fail because of such a change. It refuses no change, so that no test locks people out or leaves
 * them rights.
 */
export function groupsHearer({
  services,
  fixed,
}: PolicyContext & { readonly services: Pick<Shared, 'log'> }): (
  change: GroupsChange,
  transaction: Transaction,
) => Promise<void> {
  return async (change, transaction) => {
    const found = await failuresOfGroups({ services, fixed }, [change], transaction);
    if (found.length === 0) return;
    const failing = found.map((one) => ({ ...one, isHeldUp: false }));
    noteFailures(transaction, failing, { ruleId: null });
    const policyTests = failing.slice(0, LOGGED_MAX).map(({ test }) => test.id);
    const about = { user_id: change.userId, count: failing.length, policy_tests: policyTests };
    transaction.afterCommit(() => {
      services.log.warn(about, 'policy tests fail because a provider changed the groups of a user');
    });
  };
}
