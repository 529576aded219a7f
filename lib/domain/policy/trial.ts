// The results of policy tests, under the rules of the database or with some of them changed. The
// filter of the packet path judges, here on the main thread. Only rules that match packets to the
// destinations of the tests are read: no other rule can decide. docs/api.md#policy-tests.

import { type Config, readRootless } from '../../../config/index.ts';
import {
  askedPacket,
  parseAddress,
  readHostAddresses,
  type ReasonName,
  type RuleConfig,
  RuleTrial,
} from '../../../dataplane/index.ts';
import {
  type Database,
  type ObeyedRule,
  type PolicyTestRow,
  readConfiguration,
  readGroupsOfUsers,
  readRulesByAddress,
  type RuleAction,
  type RuleRow,
  type Transaction,
} from '../../../models/index.ts';
import type { Shared } from '../../kit/process/shared.ts';
import { GroupNumbers, holdAll, holdScope } from '../../reconcile/group-numbers.ts';
import { networksOf } from '../../reconcile/tunnel-networks.ts';
import { rulesAt, ruleTimes } from '../../reconcile/translate.ts';
import type { FixedSettings } from '../../kit/records/effective-configuration.ts';

/** What policy tests need of the server. */
export interface PolicyContext {
  readonly services: Pick<Shared, 'config' | 'database'>;
  /** What the environment fixes of the configuration. */
  readonly fixed: FixedSettings;
}

/** A policy test as it is judged. */
export type PolicyTestAsked = Pick<
  PolicyTestRow,
  'id' | 'name' | 'user_id' | 'device_id' | 'destination' | 'protocol' | 'port' | 'expect'
>;

/** A policy test with the user whose rules it asks, and the groups of that user. */
export interface OwnedTest extends PolicyTestAsked {
  readonly ownerId: string;
  readonly groupIds: readonly string[];
}

/** The result of a test. */
export interface TestResult {
  readonly passes: boolean;
  readonly verdict: 'accept' | 'drop';
  /** Why the packet is dropped; null: the packet passes. */
  readonly reason: Exclude<ReasonName, 'none'> | null;
  /** The rule that decides; null: none matches, or the rules are not asked. */
  readonly ruleId: string | null;
}

/** A sender of each family: the rules do not read where a packet comes from. */
const SENDERS = { 4: '10.0.0.1', 6: 'fd00::1' } as const;
const SENDER_PORT = 49_152;

/** Finds the owners of tests and their groups; a test whose device is gone is left out. */
export async function ownersOf(
  database: Database,
  tests: readonly PolicyTestAsked[],
  transaction?: Transaction,
): Promise<OwnedTest[]> {
  const ids = new Set(tests.map(({ device_id: id }) => id).filter((id) => id !== null));
  const owners = new Map<string, string>();
  if (ids.size > 0)
    for (const { id, user_id } of await database.models.Device.findAll({
      attributes: ['id', 'user_id'],
      where: { id: [...ids] },
      transaction: transaction ?? null,
    }))
      owners.set(id, user_id);
  const owned = tests.flatMap((test) => {
    const ownerId = test.user_id ?? owners.get(test.device_id ?? '');
    return ownerId === undefined ? [] : [{ ...test, ownerId }];
  });
  const ownerIds = [...new Set(owned.map(({ ownerId }) => ownerId))];
  const groups = await readGroupsOfUsers(database, ownerIds, transaction);
  return owned.map((test) => ({ ...test, groupIds: groups.get(test.ownerId) ?? [] }));
}

/** What a trial begins with. */
interface RulesRead {
  readonly context: PolicyContext;
  readonly defaultAction: RuleAction;
  readonly rows: readonly RuleRow[];
}

/** The rules of some tests, which may be changed to see what becomes of the tests. */
export class PolicyTrial {
  readonly #rules: RuleTrial;
  readonly #read: RulesRead;
  readonly #atMs: number;
  readonly #numbers = new GroupNumbers();

  private constructor(read: RulesRead, atMs: number) {
    this.#rules = emptyTrial(read.context.services.config, read.defaultAction);
    this.#read = read;
    this.#atMs = atMs;
    this.#amend(read.rows.map((row) => [row.id, row, row]));
  }

  /** Reads the rules that some tests ask. A rule decides if `atMs` (Unix) is within its time. */
  static async open(
    context: PolicyContext,
    tests: readonly OwnedTest[],
    { atMs, transaction }: { readonly atMs: number; readonly transaction?: Transaction },
  ): Promise<PolicyTrial> {
    const { database } = context.services;
    const addressesOf = (some: readonly OwnedTest[]): string[] => [
      ...new Set(some.map(({ destination }) => destination)),
    ];
    const byOwner = Map.groupBy(tests, ({ ownerId }) => ownerId);
    const groupIds = new Set(tests.flatMap((test) => test.groupIds));
    const wanted = [
      ...[[null, tests] as const, ...byOwner].map(([userId, ofUser]) => ({
        userId,
        addresses: addressesOf(ofUser),
      })),
      ...[...groupIds].map((groupId) => ({
        userId: null,
        groupId,
        addresses: addressesOf(tests.filter((test) => test.groupIds.includes(groupId))),
      })),
    ];
    const [defaultAction, rows] = await Promise.all([
      readDefaultAction(context, transaction),
      readRulesByAddress(database, wanted, transaction),
    ]);
    return new PolicyTrial({ context, defaultAction, rows }, atMs);
  }

  /** The rules that were read, as they decide at another time (Unix). */
  at(atMs: number): PolicyTrial {
    return new PolicyTrial(this.#read, atMs);
  }

  /** When rules that were read begin to decide, the first moment first. */
  starts(): Date[] {
    const startsMs = this.#read.rows
      .filter(({ enabled, enforced }) => enabled && enforced)
      .map((row) => ruleTimes(row).startMs)
      .filter((startMs) => startMs > this.#atMs);
    return [...new Set(startsMs)].sort((a, b) => a - b).map((ms) => new Date(ms));
  }

  /** The descriptions of some of the rules that were read, by id. */
  descriptionsOf(ids: ReadonlySet<string | null>): ReadonlyMap<string, string | null> {
    const named = this.#read.rows.filter(({ id }) => ids.has(id));
    return new Map(named.map(({ id, description }) => [id, description]));
  }

  /** Changes one rule; null: it does not exist. */
  change(before: ObeyedRule | null, after: ObeyedRule | null): void {
    if (before !== null) this.#amend([[before.id, before, null]]);
    if (after !== null) this.#amend([[after.id, after, after]]);
  }

  /** Judges a test. */
  judge(test: OwnedTest): TestResult {
    const groups = holdAll(this.#numbers, test.groupIds);
    const { reason, rule } = this.#rules.judge({ scope: test.ownerId, groups }, packetOf(test));
    const verdict = reason === 'none' ? 'accept' : 'drop';
    return {
      passes: verdict === test.expect,
      verdict,
      reason: reason === 'none' ? null : reason,
      ruleId: rule,
    };
  }

  /**
   * Sets rules: id, the row that says in which scope the rule is, the row that it has now; null: it
   * is gone. A trial is short, so no number of a group is released.
   */
  #amend(rows: readonly (readonly [string, ObeyedRule, ObeyedRule | null])[]): void {
    const rules = rows.map(([id, place, row]): ScopedRules => {
      const meant = row === null ? [] : rulesAt(row, this.#atMs);
      return [holdScope(this.#numbers, place), id, meant];
    });
    this.#rules.amend(byScope(rules));
  }
}

/** What a rule means in a scope; none where the rule is gone. */
export type ScopedRules = readonly [scope: string, id: string, meant: readonly RuleConfig[]];

/** Rules as a trial takes them. */
export function byScope(rules: readonly ScopedRules[]): Parameters<RuleTrial['amend']>[0] {
  const scopes = new Map<string, Map<string, readonly RuleConfig[]>>();
  for (const [name, id, meant] of rules) {
    const scope = scopes.get(name) ?? new Map<string, readonly RuleConfig[]>();
    scopes.set(name, scope.set(id, meant));
  }
  return scopes;
}

/** A trial without rules: what this host refuses whatever the rules are, and the default action. */
export function emptyTrial(config: Config, action: RuleAction): RuleTrial {
  return new RuleTrial({
    ...networksOf(config),
    listenPort: config.wireguardPort,
    allowsMetadata: config.allowCloudMetadata,
    hostAddresses: readHostAddresses(readRootless().hostProcess),
    defaultAction: action,
  });
}

async function readDefaultAction(
  { services: { database }, fixed }: PolicyContext,
  transaction?: Transaction,
): Promise<RuleAction> {
  if (fixed.default_action !== undefined) return fixed.default_action;
  return (await readConfiguration(database, transaction))?.default_action ?? 'accept';
}

function packetOf({ destination, protocol, port }: PolicyTestAsked): Uint8Array {
  const family = parseAddress(destination)?.length === 4 ? 4 : 6;
  return askedPacket({
    source: SENDERS[family],
    destination,
    protocol,
    sourcePort: SENDER_PORT,
    destinationPort: port ?? 0,
    begins: true,
  });
}
