// Tries a write: the write is validated and done as every write is, and undone. From the rows that
// it wrote follows what it would change in the data plane; the data plane of this process says what
// that change would do to the present flows and to the packets that were refused lately.
// docs/api.md#what-a-write-would-do.

import {
  type Database,
  monthOf,
  readPolicyTests,
  readQuotaUsage,
  readRules,
  readShadowedBy,
  readShadows,
  type Transaction,
  type WrittenSoFar,
} from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { showFlow } from '../live/flows.ts';
import { type LiveGateway, liveGateway } from '../live/gateway.ts';
import { showRefusal } from '../live/refusals.ts';
import { readChanged, type RowChanges } from '../../reconcile/read.ts';
import type { RecordContext } from '../../kit/records/collection.ts';
import { UndoneWrites } from '../../kit/records/undone-writes.ts';
import { showRule } from '../../domain/rules/rules.ts';
import { type Effect, LISTED_MAX } from './fields.ts';
import { readOthers } from './other-gateways.ts';

/** What dry runs need of the server. */
export interface DryRunContext extends RecordContext {
  readonly services: RecordContext['services'] & { readonly live?: LiveGateway };
}

/** A write that was tried. */
export interface DryRun<Result> {
  readonly result: Result;
  readonly effect: Effect;
}

/** What a write left in its transaction. */
interface Seen {
  readonly rows: RowChanges;
  /** By id of a user in `rows`, with new settings of every user: bytes carried this month. */
  readonly used: ReadonlyMap<string, number>;
  /** Ids of rules that can never decide because of a rule that was written. */
  readonly shadowed: readonly string[];
  /** Ids of policy tests that fail because of it. */
  readonly failing: readonly string[];
}

/**
 * Tries a write; `write` runs it with the context that it is given. Throws as it does where it is
 * refused.
 */
export async function tryWrite<Context extends DryRunContext, Result>(
  context: Context,
  write: (context: Context) => Promise<Result>,
): Promise<DryRun<Result>> {
  const live = liveGateway(context.services);
  const { result, seen } = await undo(context, write);
  return { result, effect: await effectOf(context.services.database, live, [seen]) };
}

/**
 * Tries several writes of records of one kind, each by itself; says what all together would do. One
 * that is refused does nothing; where all are refused, it throws the first refusal.
 */
export async function tryTogether<Context extends DryRunContext>(
  context: Context,
  writes: readonly ((context: Context) => Promise<unknown>)[],
): Promise<Effect> {
  const live = liveGateway(context.services);
  const all: Seen[] = [];
  let refusal: ApiError | null = null;
  for (const write of writes)
    try {
      all.push((await undo(context, write)).seen);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refusal ??= error;
    }
  if (all.length === 0 && refusal !== null) throw refusal;
  return effectOf(context.services.database, live, all);
}

async function undo<Context extends DryRunContext, Result>(
  context: Context,
  write: (context: Context) => Promise<Result>,
): Promise<{ readonly result: Result; readonly seen: Seen }> {
  const { database } = context.services;
  const writes = new UndoneWrites(database, (transaction, written) =>
    look(database, transaction, written),
  );
  const result = await write({ ...context, writes });
  const { seen } = writes;
  if (seen === null) throw new Error('a dry run wrote nothing');
  return { result, seen };
}

async function look(
  database: Database,
  transaction: Transaction,
  { changes, audit }: WrittenSoFar,
): Promise<Seen> {
  const rows = await readChanged(database, changes, transaction);
  const month = monthOf(Date.now());
  // A default quota may be new.
  const userIds =
    rows.settings === null ? [...rows.users.keys()] : await readUserIds(database, transaction);
  const used = await readQuotaUsage(database, month, userIds, transaction);
  const shadowed: string[] = [];
  for (const [id, row] of rows.rules)
    if (row?.action === 'accept')
      shadowed.push(...(await readShadowedBy(database, id, Date.now(), transaction)));
  const failing = audit
    .filter(({ action, kind }) => action === 'fail' && kind === 'policy_test')
    .map(({ recordId }) => recordId);
  return { rows, used, shadowed, failing };
}

async function readUserIds({ models }: Database, transaction: Transaction): Promise<string[]> {
  const rows = await models.User.findAll({ attributes: ['id'], transaction });
  return rows.map(({ id }) => id);
}

async function effectOf(
  database: Database,
  live: LiveGateway,
  all: readonly Seen[],
): Promise<Effect> {
  const rows = together(all.map((seen) => seen.rows));
  const used = new Map(all.flatMap((seen) => [...seen.used]));
  const amendment = live.tried(rows, used);
  const { ended, passed } = await live.ask('effectOf', amendment, LISTED_MAX);
  const [others, shadowed, failing] = await Promise.all([
    readOthers(database, live, amendment),
    newlyShadowed(
      database,
      all.flatMap((seen) => seen.shadowed),
    ),
    readPolicyTests(database, { ids: all.flatMap((seen) => seen.failing) }),
  ]);
  const users = new Set(ended.devices.map((key) => live.userIdOf(key)).filter((id) => id !== null));
  const shown = await readRules(database, { ids: shadowed.slice(0, LISTED_MAX) });
  return {
    ended_flow_count: ended.count,
    ended_flow_user_count: users.size,
    ended_flows: ended.found.map((flow) => showFlow(live, flow)),
    passed_refusal_count: passed.count,
    passed_refusals: passed.found.map((refusal) => showRefusal(live, refusal)),
    shadowed_rule_count: shadowed.length,
    shadowed_rules: shown.map(showRule),
    failing_policy_test_count: failing.length,
    failing_policy_tests: failing.slice(0, LISTED_MAX).map(({ id, name }) => ({ id, name })),
    other_gateways: others,
    gateway_id: live.id,
  };
}

/** Rows of several writes as those of one. */
function together(all: readonly RowChanges[]): RowChanges {
  return {
    all: null,
    users: new Map(all.flatMap(({ users }) => [...users])),
    groups: new Map(all.flatMap(({ groups }) => [...groups])),
    devices: new Map(all.flatMap(({ devices }) => [...devices])),
    rules: new Map(all.flatMap(({ rules }) => [...rules])),
    settings: all.findLast(({ settings }) => settings !== null)?.settings ?? null,
  };
}

/** The rules, among some, that no rule shadows now. */
async function newlyShadowed(database: Database, ids: readonly string[]): Promise<string[]> {
  const before = await readShadows(database, ids, Date.now());
  return ids.filter((id) => !before.has(id));
}
