// Refuses a change of rules that breaks a passing policy test. A test that fails already refuses
// nothing, and the writer may insist: then the tests that fail are in the audit trail.
// docs/api.md#policy-tests.

import { parseAddress } from '../../../dataplane/index.ts';
import {
  noteAction,
  type ObeyedRule,
  type PolicyTestRow,
  type Transaction,
} from '../../../models/index.ts';
import { choice } from '../../kit/validation/fields.ts';
import { type Errors } from '../../kit/validation/validate.ts';
import type { FieldError } from '../../kit/validation/messages.ts';
import { sentOnce } from '../../kit/validation/query.ts';
import type { Query } from '../../kit/operations/operation.ts';
import { isInside } from '../../kit/validation/networks.ts';
import { hasTime, ruleTimes, translateRule } from '../../reconcile/translate.ts';
import {
  type OwnedTest,
  ownersOf,
  type PolicyContext,
  PolicyTrial,
  type TestResult,
} from './trial.ts';

/** A change of one rule; null: it does not exist. */
export interface RuleChange {
  readonly before: ObeyedRule | null;
  readonly after: ObeyedRule | null;
}

/** A test that passes before a change and fails after it. */
export interface FailingTest {
  readonly test: OwnedTest;
  readonly result: TestResult;
  /** When it fails first; null: from now on. */
  readonly at: Date | null;
  /** Whether it holds the write up: the changed rule has time then, so it may be the reason. */
  readonly isHeldUp: boolean;
}

/** The most tests that an answer names. */
const NAMED_MAX = 20;

/** What the caller may say beside the write. */
export const insistence: Query<{ readonly force: boolean }> = {
  schemas: {
    force: choice(
      'Write it although policy tests that pass now would fail; the audit trail names them.',
      'true',
    ),
  },
  read: (sent) => ({ force: sentOnce(sent, ['force'])['force'] === 'true' }),
};

/** The tests at one moment. */
interface Moment {
  /** Null: now. */
  readonly at: Date | null;
  readonly trial: PolicyTrial;
}

/** What changes of rules do to policy tests: now, and when rules of the changes begin and end. */
export class PolicyGuard {
  readonly #moments: readonly Moment[];
  readonly #tests: readonly OwnedTest[];

  private constructor(moments: readonly Moment[], tests: readonly OwnedTest[]) {
    this.#moments = moments;
    this.#tests = tests;
  }

  /** `tests`: all tests. Only those that the changes can concern are run. */
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
    if (inReach.length === 0) return new PolicyGuard([], []);
    const owned = await ownersOf(context.services.database, inReach, transaction);
    const concerned = owned.filter((test) => rules.some((rule) => concerns(rule, test)));
    if (concerned.length === 0) return new PolicyGuard([], []);
    const moments: Moment[] = [];
    for (const at of momentsOf(changes)) {
      const atMs = at?.getTime() ?? Date.now();
      const trial = await PolicyTrial.open(context, concerned, { atMs, transaction });
      moments.push({ at, trial });
    }
    return new PolicyGuard(moments, concerned);
  }

  /**
   * Makes a change here; returns the tests that fail because of it, each at its first moment, or at
   * the first one that holds the change up.
   */
  change(change: RuleChange): FailingTest[] {
    const failing = new Map<string, FailingTest>();
    for (const moment of this.#moments)
      for (const one of this.#failingAt(moment, change)) {
        const known = failing.get(one.test.id);
        if (known === undefined || (one.isHeldUp && !known.isHeldUp)) failing.set(one.test.id, one);
      }
    return [...failing.values()];
  }

  #failingAt({ at, trial }: Moment, { before, after }: RuleChange): FailingTest[] {
    const passing = this.#tests.filter((test) => trial.judge(test).passes);
    trial.change(before, after);
    const atMs = at?.getTime() ?? Date.now();
    const isOn = after !== null && after.enabled && after.enforced;
    const isHeldUp = isOn && hasTime(ruleTimes(after), atMs);
    return passing
      .map((test) => ({ test, result: trial.judge(test), at, isHeldUp }))
      .filter(({ result }) => !result.passes);
  }
}

/** Whether a rule is asked for the packets of a test. */
function concerns({ user_id, group_id }: ObeyedRule, { ownerId, groupIds }: OwnedTest): boolean {
  if (user_id !== null) return user_id === ownerId;
  return group_id === null || groupIds.includes(group_id);
}

/** Now (null), and when rules begin and end; the first moment first. */
function momentsOf(changes: readonly RuleChange[]): (Date | null)[] {
  const now = Date.now();
  const later = changes
    .flatMap(({ after }) => [after?.starts_at, after?.ends_at])
    .map((time) => time?.getTime() ?? now)
    .filter((ms) => ms > now);
  return [null, ...[...new Set(later)].sort((a, b) => a - b).map((ms) => new Date(ms))];
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

/**
 * The errors of a write that breaks passing policy tests; none if it breaks none. `ruleId`: the
 * rule that is written; null: it is something else.
 */
export function failureErrors(failing: readonly FailingTest[], ruleId: string | null): Errors {
  const heldUp = failing.filter(({ isHeldUp }) => isHeldUp);
  return heldUp.length === 0 ? {} : { base: eachFailing(heldUp, ruleId) };
}

function eachFailing(failing: readonly FailingTest[], ruleId: string | null): FieldError[] {
  const errors: FieldError[] = failing.slice(0, NAMED_MAX).map(({ test, result, at }) => {
    const decider = deciderInWords(result, ruleId);
    const when = at === null ? '' : ` from ${at.toISOString()} on`;
    const values = { test: test.name, when, expected: test.expect, decider };
    return { code: 'testFails', values };
  });
  const others = failing.length - NAMED_MAX;
  if (others > 0) errors.push({ code: 'moreTestsFail', values: { count: others } });
  return errors;
}

function deciderInWords({ verdict, ruleId }: TestResult, writtenId: string | null): string {
  if (ruleId === null) return `no rule would match, and the default action is ${verdict}`;
  return `${ruleId === writtenId ? 'this rule' : `rule ${ruleId}`} would ${verdict} the packet`;
}

/** How tests came to fail, for the audit trail. */
export interface FailedBy {
  /** The rule that was written or removed; null: it was something else. */
  readonly ruleId: string | null;
  /** The place of who writes, among those of the transaction. */
  readonly index?: number;
}

/** Notes in the audit trail that tests fail, from now on or from a time to come. */
export function noteFailures(
  transaction: Transaction,
  failing: readonly FailingTest[],
  { ruleId, index = 0 }: FailedBy,
): void {
  for (const { test, isHeldUp, at } of failing)
    noteAction(
      transaction,
      {
        action: 'fail',
        kind: 'policy_test',
        recordId: test.id,
        changes: {
          ...(ruleId === null ? {} : { rule_id: { to: ruleId } }),
          ...(at === null ? {} : { at: { to: at } }),
          // What holds a write up is written only if somebody insists.
          forced: { to: isHeldUp },
        },
      },
      index,
    );
}
