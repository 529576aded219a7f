// Undoes what a session of the console changed last: switches, ends, limits, manual members, and
// whether a rule is staged. The audit trail has what the records were before. A record that
// somebody changed since stays as it is. docs/state.md#undo.

import {
  type AuditEntry,
  type Database,
  type Device,
  dropUndo,
  findUndo,
  keepUndo,
  MANUAL,
  readEntriesOfRequest,
  type Rule,
  type Transaction,
  type User,
} from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { RecordContext } from '../../kit/records/collection.ts';
import { saveChanges } from '../../kit/records/writes.ts';
import { guardMembers, type MembersPlan, planMembers, writeMembers } from '../groups/members.ts';
import { noteFailures } from '../policy/guard.ts';
import { disablingError } from '../users/users.ts';
import { type GuardedChange, type RuleValues, validateChange } from '../rules/rules.ts';

/** How long a change can be undone. */
export const UNDO_MS = 600_000;

/** The fields that may be given back, by the kind of the record. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  device: ['disabled_at', 'disabled_by', 'expires_at', 'limit_down', 'limit_up'],
  user: ['disabled_at', 'disabled_by', 'disabled_provider', 'limit_down', 'limit_up', 'quota'],
  rule: ['enabled', 'enforced', 'starts_at', 'ends_at'],
};
const TIMES = new Set(['disabled_at', 'expires_at', 'starts_at', 'ends_at']);

/** A change that can be undone. */
export interface Offer {
  readonly id: string;
  /** Whether to undo it lets somebody in again. */
  readonly letsIn: boolean;
}

/** What came of it. */
export interface Undone {
  /** How many records are as before. */
  readonly count: number;
  /** Records that stay as they are, by name, and why. */
  readonly left: readonly Left[];
}

/** A record that stays as it is. */
export interface Left {
  readonly name: string;
  readonly why: string;
}

const CHANGED = 'it was changed since';
const GONE = 'it is deleted';
const REFUSED = 'it would be refused now';

interface Plan {
  readonly id: string;
  readonly rows: { readonly row: Device | User; readonly values: object }[];
  readonly rules: ({ readonly present: Rule } & GuardedChange)[];
  readonly members: { readonly plan: MembersPlan; readonly failing: Failing }[];
  readonly left: Left[];
}

type Failing = Awaited<ReturnType<typeof guardMembers>>;

/** What the sessions of one server can undo. */
export class Undos {
  readonly #context: RecordContext;

  constructor(context: RecordContext) {
    this.#context = context;
  }

  /** Keeps that what a request has written can be undone; null where it cannot. */
  async offer(caller: Caller, since: Date): Promise<Offer | null> {
    const { letIn, origin, userId, revision } = caller;
    const { requestId } = origin;
    if (revision === null || letIn?.role !== 'admin' || letIn.sessionId === null) return null;
    if (userId === null || requestId === undefined) return null;
    const all = await readEntriesOfRequest(this.#database, { requestId, userId, since });
    const entries = all.filter(({ action }) => action !== 'fail');
    if (entries.length === 0 || !entries.every(canBeUndone)) return null;
    const undo = { sessionId: letIn.sessionId, entries: entries.map(({ id }) => id) };
    const id = await keepUndo(this.#database, undo, endOf());
    return { id, letsIn: entries.some(letsIn) };
  }

  /**
   * Gives the records of a change the values that each had before, once; `not_found` where the
   * session has no such change. `mayLetIn`: whether users may be enabled.
   */
  undo(caller: Caller, id: string, mayLetIn: boolean): Promise<Undone> {
    const sessionId = caller.letIn?.sessionId ?? null;
    if (!isUuid(id) || sessionId === null) throw new ApiError('not_found');
    return this.#context.writes.run(caller, {
      scopes: { configuration: true },
      check: async (transaction) => {
        const wanted = { id: id.toLowerCase(), sessionId, since: endOf() };
        const entries = await findUndo(this.#database, wanted, transaction);
        if (entries === null || (!mayLetIn && entries.some(letsIn)))
          throw new ApiError('not_found');
        return this.#plan(wanted.id, entries, caller, transaction);
      },
      write: async (transaction, plan) => this.#write(plan, transaction),
    });
  }

  async #plan(
    id: string,
    entries: readonly AuditEntry[],
    caller: Caller,
    transaction: Transaction,
  ): Promise<Plan> {
    const plan: Plan = { id, rows: [], rules: [], members: [], left: [] };
    for (const entry of entries.filter(({ kind }) => kind !== 'group_membership'))
      await this.#planRecord(plan, entry, caller, transaction);
    const members = entries.filter(({ kind }) => kind === 'group_membership');
    for (const [groupId, some] of Map.groupBy(members, groupOf))
      await this.#planMembers(plan, groupId, some, transaction);
    return plan;
  }

  async #planRecord(
    plan: Plan,
    entry: AuditEntry,
    caller: Caller,
    transaction: Transaction,
  ): Promise<void> {
    const { User: users, Device: devices, Rule: rules } = this.#database.models;
    const options = { transaction, lock: true } as const;
    const id = entry.record_id;
    const row = await (entry.kind === 'user'
      ? users.findByPk(id, options)
      : entry.kind === 'device'
        ? devices.findByPk(id, options)
        : rules.findByPk(id, options));
    if (row === null) {
      plan.left.push({ name: `the ${entry.kind}`, why: GONE });
      return;
    }
    const name = nameOf(row);
    const values = valuesBefore(entry, row);
    if (values === null) plan.left.push({ name, why: CHANGED });
    else if (
      'email' in row &&
      'disabled_at' in values &&
      values.disabled_at !== null &&
      (await disablingError(this.#context, row, caller, transaction)) !== null
    )
      plan.left.push({ name, why: REFUSED });
    else if (!('destination' in row)) plan.rows.push({ row, values });
    else {
      const input = { values: values as RuleValues, errors: {} };
      const change = await orRefused(
        validateChange(this.#context, input, { present: row, force: false }, transaction),
      );
      if (change === null) plan.left.push({ name, why: REFUSED });
      else plan.rules.push({ present: row, ...change });
    }
  }

  /** The members of one group who were added or removed. */
  async #planMembers(
    plan: Plan,
    groupId: string,
    entries: readonly AuditEntry[],
    transaction: Transaction,
  ): Promise<void> {
    const { models } = this.#database;
    const group = await models.Group.findByPk(groupId, { transaction, lock: true });
    const userIds = entries.map(userOf);
    const present = await models.GroupMembership.findAll({
      where: { group_id: groupId, user_id: userIds, source: MANUAL },
      transaction,
    });
    const users = await models.User.findAll({ where: { id: userIds }, transaction });
    const emails = new Map(users.map(({ id, email }) => [id, email]));
    const ids = new Map(present.map(({ id, user_id: userId }) => [userId, id]));
    const [add, remove]: [string[], string[]] = [[], []];
    for (const entry of entries) {
      const userId = userOf(entry);
      const email = emails.get(userId);
      if (group === null || email === undefined)
        plan.left.push({ name: email ?? 'a member', why: GONE });
      else if (entry.action === 'create' && ids.get(userId) === entry.record_id)
        remove.push(userId);
      else if (entry.action === 'delete' && !ids.has(userId)) add.push(userId);
      else plan.left.push({ name: email, why: CHANGED });
    }
    if (group === null || add.length + remove.length === 0) return;
    const members = await orRefused(
      planMembers(this.#database, group, { add, remove }, {}, transaction),
    );
    const failing =
      members === null
        ? null
        : await orRefused(guardMembers(this.#context, members, false, transaction));
    if (members === null || failing === null)
      for (const id of [...add, ...remove])
        plan.left.push({ name: emails.get(id) ?? '', why: REFUSED });
    else plan.members.push({ plan: members, failing });
  }

  async #write(plan: Plan, transaction: Transaction): Promise<Undone> {
    for (const { row, values } of plan.rows) await saveChanges(row, values, transaction);
    for (const { present, row, failing } of plan.rules) {
      noteFailures(transaction, failing, { ruleId: present.id });
      await saveChanges(present, row, transaction);
    }
    let count = plan.rows.length + plan.rules.length;
    for (const { plan: members, failing } of plan.members) {
      noteFailures(transaction, failing, { ruleId: null });
      const { added, removed } = await writeMembers(this.#database, members, transaction);
      count += added + removed;
    }
    await dropUndo(this.#database, plan.id, transaction);
    return { count, left: plan.left };
  }

  get #database(): Database {
    return this.#context.services.database;
  }
}

/** Changes from before this time are too old. */
function endOf(): Date {
  return new Date(Date.now() - UNDO_MS);
}

function canBeUndone({ kind, action, changes }: AuditEntry): boolean {
  if (kind === 'group_membership')
    return ['create', 'delete'].includes(action) && valueIn(changes['source']) === MANUAL;
  const names = Object.keys(changes);
  return action === 'update' && names.every((name) => FIELDS[kind]?.includes(name) ?? false);
}

/** Whether the change took a user's access away. */
function letsIn({ kind, changes }: AuditEntry): boolean {
  // Whom a provider disabled, that provider may let in again.
  const before = (name: string): unknown => {
    const change = changes[name];
    return change !== undefined && 'from' in change ? change.from : undefined;
  };
  return (
    kind === 'user' && (before('disabled_at') === null || before('disabled_by') === 'provider')
  );
}

/** The values that a record had before; null where it does not have those that it got. */
function valuesBefore({ changes }: AuditEntry, row: Device | User | Rule): object | null {
  const values: Record<string, unknown> = {};
  for (const [name, change] of Object.entries(changes)) {
    if (!('from' in change)) return null;
    const present = JSON.stringify(row.get(name as never) ?? null);
    if (present !== JSON.stringify(change.to ?? null)) return null;
    const before = change.from ?? null;
    values[name] = TIMES.has(name) && typeof before === 'string' ? new Date(before) : before;
  }
  return values;
}

function groupOf({ changes }: AuditEntry): string {
  return String(valueIn(changes['group_id']));
}

function userOf({ changes }: AuditEntry): string {
  return String(valueIn(changes['user_id']));
}

/** The value that a record was made with, or deleted with. */
function valueIn(change: AuditEntry['changes'][string] | undefined): unknown {
  if (change === undefined || 'changed' in change || 'added' in change) return undefined;
  return change.to ?? change.from;
}

function nameOf(row: Device | User | Rule): string {
  if ('email' in row) return row.email;
  return 'destination' in row ? row.destination : row.name;
}

/** What a check finds; null where it refuses. */
async function orRefused<Found>(checked: Promise<Found>): Promise<Found | null> {
  try {
    return await checked;
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}
