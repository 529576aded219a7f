// Holds up a change of rules because of which a policy test would fail that passes now. A test that
// fails already holds up nothing, and whoever writes may insist. What fails after all is in the
// audit trail. docs/api.md#policy-tests.

import type { Request } from '@hapi/hapi';
import { parseAddress } from '../../dataplane/index.ts';
import {
  noteAction,
  type ObeyedRule,
  type PolicyTestRow,
  type Transaction,
} from '../../models/index.ts';
import { isInside, translateRule } from '../reconcile/translate.ts';
import {
  type OwnedTest,
  ownersOf,
  type PolicyContext,
  PolicyTrial,
  type TestResult,
} from './trial.ts';

/** A change of one rule; null: it is not there. */
export interface RuleChange {
  readonly before: ObeyedRule | null;
  readonly after: ObeyedRule | null;
}

/** A test that passes before a change and fails after it. */
export interface FailingTest {
  readonly test: OwnedTest;
  readonly result: TestResult;
}

/** The most tests that an answer names. */
const NAMED_MAX = 20;

/** Whether the sender of a request insists on a write that makes policy tests fail. */
export function isForced({ query }: Pick<Request, 'query'>): boolean {
  return query['force'] === 'true';
}

/** What changes of rules do to policy tests. */
export class PolicyGuard {
  readonly #trial: PolicyTrial | null;
  readonly #tests: readonly OwnedTest[];

  private constructor(trial: PolicyTrial | null, tests: readonly OwnedTest[]) {
    this.#trial = trial;
    this.#tests = tests;
  }

  /** `tests`: all that there are. Those are judged that the changes can concern. */
  static async open(
    context: PolicyContext,
    tests: readonly PolicyTestRow[],
    changes: readonly RuleChange[],
    transaction: Transaction,
  ): Promise<PolicyGuard> {
    const rules = changes.flatMap(({ before, after }) =>
      [before, after].filter((rule) => rule !== null),
    );
    const inReach = testsInReach(tests, rules);
    if (inReach.length === 0) return new PolicyGuard(null, []);
    const owned = await ownersOf(context.services.database, inReach, transaction);
    const owners = new Set(rules.map(({ user_id: id }) => id));
    const concerned = owned.filter(({ ownerId }) => owners.has(null) || owners.has(ownerId));
    if (concerned.length === 0) return new PolicyGuard(null, []);
    return new PolicyGuard(await PolicyTrial.open(context, concerned, transaction), concerned);
  }

  /** Makes a change here; returns the tests that fail because of it. */
  change({ before, after }: RuleChange): FailingTest[] {
    const trial = this.#trial;
    if (trial === null) return [];
    const passing = this.#tests.filter((test) => trial.judge(test).passes);
    trial.change(before, after);
    return passing
      .map((test) => ({ test, result: trial.judge(test) }))
      .filter(({ result }) => !result.passes);
  }
}

/** The tests whose destination a rule names, before a change or after it. */
function testsInReach(
  tests: readonly PolicyTestRow[],
  rules: readonly ObeyedRule[],
): PolicyTestRow[] {
  if (tests.length === 0) return [];
  const networks = rules.flatMap((rule) => translateRule(rule).rules);
  return tests.filter(({ destination }) => {
    const address = parseAddress(destination);
    if (address === null) return false;
    return networks.some(({ address: network, prefixBits }) =>
      isInside(address, { network, prefixBits }),
    );
  });
}

/** Why a write is held up, a sentence for each test. `ruleId`: the rule that is written. */
export function failuresInWords(failing: readonly FailingTest[], ruleId: string | null): string[] {
  const sentences = failing.slice(0, NAMED_MAX).map(({ test, result }) => {
    const by = deciderInWords(result, ruleId);
    return `policy test "${test.name}" would fail: it expects ${test.expect}, but ${by}`;
  });
  const others = failing.length - NAMED_MAX;
  if (others > 0) sentences.push(`${others} more policy test(s) would fail`);
  return sentences;
}

function deciderInWords({ verdict, ruleId }: TestResult, writtenId: string | null): string {
  if (ruleId === null) return `no rule would match, and the default action is ${verdict}`;
  return `${ruleId === writtenId ? 'this rule' : `rule ${ruleId}`} would ${verdict} the packet`;
}

/** How tests came to fail, for the audit trail. */
export interface FailedBy {
  /** The rule that was written or removed; null: it was something else. */
  readonly ruleId: string | null;
  /** Whether somebody insisted. */
  readonly isForced: boolean;
  /** The place of who writes, among those of the transaction. */
  readonly index?: number;
}

/** Notes in the audit trail that tests fail from now on. */
export function noteFailures(
  transaction: Transaction,
  failing: readonly FailingTest[],
  { ruleId, isForced: forced, index = 0 }: FailedBy,
): void {
  for (const { test } of failing)
    noteAction(
      transaction,
      {
        action: 'fail',
        kind: 'policy_test',
        recordId: test.id,
        changes: {
          ...(ruleId === null ? {} : { rule_id: { to: ruleId } }),
          forced: { to: forced },
        },
      },
      index,
    );
}
