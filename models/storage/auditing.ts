// Gathers the audit trail of a transaction: hooks on the audited tables turn every row that is
// made, changed or deleted into a draft with the fields that differ, so no writer can forget to.
// `writeTransaction` writes the drafts at its end, all or nothing with what they are about.
// tables/audited-fields.ts says which fields a table has, and which of them are secret.

import type { DestroyOptions, Model, ModelStatic, Transaction } from 'sequelize';
import { boundChange, changeOfValue, type FieldChange } from './audited-values.ts';
import { CiphertextError } from './encryption.ts';
import type { Origin } from './origin.ts';
import { outermost } from './statement-order.ts';
import { newId } from './uuid.ts';

/** Fields that differ, by name. */
export type FieldChanges = Record<string, FieldChange>;

/** What happened to a record; people sign in and out, or fail to. */
export const auditActions = [
  'create',
  'update',
  'delete',
  'sign in',
  'sign out',
  'sign-in refused',
  'lock',
  'unlock',
  'test sign-in',
  'make link',
  'use link',
  'revoke link',
  'begin capture',
  'end capture',
  'fail',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** What records are called; first those that people look for most. */
export const auditKinds = [
  'user',
  'device',
  'rule',
  'policy_test',
  'group',
  'group_membership',
  'configuration',
  'token',
  'identity',
  'trusted_provider',
  'identity_provider',
  'saml_metadata',
  'second factor',
  'recovery code',
  'recovery codes',
  'secret',
] as const;
export type AuditKind = (typeof auditKinds)[number];

/** A record whose name an entry says: one that has an e-mail or a name. */
export interface Named {
  readonly table: 'users' | 'user_groups' | 'devices' | 'policy_tests' | 'api_tokens';
  readonly id: string;
}

/** An entry that is not yet written. */
export interface AuditDraft {
  readonly id: string;
  readonly happenedAt: Date;
  readonly origin: Origin;
  readonly action: AuditAction;
  readonly kind: AuditKind;
  readonly recordId: string;
  readonly changes: FieldChanges;
  /** What the record is called, or the record that has the name. */
  readonly name?: string | Named | null;
  /** Whose the record is. */
  readonly owner?: Named | null;
}

/** How a field is read; what `secret` yields is compared and never kept. */
export type FieldReader =
  { readonly read: (row: Model) => unknown } | { readonly secret: (row: Model) => unknown };

/** What of a table is recorded. */
export interface AuditedTable {
  /** What its records are called. */
  readonly kind: AuditKind;
  readonly fields: Readonly<Record<string, FieldReader>>;
  /** What a record is called. */
  readonly nameOf?: (row: Model) => string | Named;
  readonly ownerOf?: (row: Model) => Named | null;
}

interface Gathering {
  origins: readonly Origin[];
  readonly drafts: AuditDraft[];
}

type Options = { transaction?: Transaction | null | undefined };

const gatherings = new WeakMap<Transaction, Gathering>();

/** Begins to gather for a transaction; the list fills as rows are written. */
export function gatherAudit(transaction: Transaction, origin: Origin): readonly AuditDraft[] {
  const drafts: AuditDraft[] = [];
  gatherings.set(transaction, { origins: [origin], drafts });
  return drafts;
}

/**
 * Names who writes from here on; several requests may share one transaction. One origin is that of
 * every row; several are those of the rows that the next bulk creation makes, in their order.
 */
export function actAs(transaction: Transaction, ...origins: readonly Origin[]): void {
  const gathering = gatherings.get(outermost(transaction));
  if (gathering === undefined) throw new Error('actAs outside writeTransaction');
  gathering.origins = origins;
}

/**
 * Adds an entry for an event that writes no tracked table, such as a sign-in. `index`: which of the
 * origins that `actAs` named it belongs to.
 */
export function noteAction(
  transaction: Transaction,
  entry: Pick<AuditDraft, 'action' | 'kind' | 'recordId' | 'name' | 'owner'> & {
    changes?: FieldChanges;
  },
  index = 0,
): void {
  const gathering = gatherings.get(outermost(transaction));
  if (gathering === undefined) throw new Error('noteAction outside writeTransaction');
  const { changes = {} } = entry;
  addDraft(gathering, { ...entry, changes }, index);
}

/** Records every write of one table; called once, when the table is bound to its database. */
export function auditTable(model: ModelStatic<Model>, table: AuditedTable): void {
  const record = (
    action: AuditDraft['action'],
    row: Model,
    changes: FieldChanges,
    options: Options,
    index = 0,
  ): void => {
    const gathering = options.transaction && gatherings.get(outermost(options.transaction));
    // Writes outside writeTransaction are refused by tracking.ts.
    if (!gathering) return;
    const recordId = String(row.get(model.primaryKeyAttribute));
    const names = {
      name: table.nameOf?.(row) ?? null,
      owner: table.ownerOf?.(row) ?? null,
    };
    addDraft(gathering, { action, kind: table.kind, recordId, changes, ...names }, index);
  };
  const created = (row: Model, options: Options, index = 0): void =>
    record('create', row, changesBetween(table, null, row), options, index);
  const deleted = (row: Model, options: Options): void =>
    record('delete', row, changesBetween(table, row, null), options);
  model.addHook('afterCreate', created);
  model.addHook('afterBulkCreate', (rows, options) => {
    for (const [index, row] of rows.entries()) created(row, options, index);
  });
  model.addHook('afterUpdate', (row, options) => {
    const changes = changesBetween(table, previousRow(model, row), row);
    if (Object.keys(changes).length > 0) record('update', row, changes, options);
  });
  model.addHook('afterDestroy', deleted);
  model.addHook('beforeBulkDestroy', async (options) => {
    for (const row of await rowsToDestroy(model, options)) deleted(row, options);
  });
}

/** Adds a draft in the name of whoever writes; `index` is the row's in a bulk creation. */
function addDraft(
  { origins, drafts }: Gathering,
  draft: Omit<AuditDraft, 'id' | 'happenedAt' | 'origin'>,
  index = 0,
): void {
  const origin = origins.length === 1 ? origins[0] : origins[index];
  if (origin === undefined) throw new Error(`nobody is named who writes ${draft.kind} ${index}`);
  const { isUnprivileged = false } = origin;
  const changes = Object.fromEntries(
    Object.entries(draft.changes).map(([name, one]) => [name, boundChange(one, isUnprivileged)]),
  );
  drafts.push({ ...draft, changes, id: newId(), happenedAt: new Date(), origin });
}

/** The row as it was before its changes; its readers see what they would have seen then. */
function previousRow(model: ModelStatic<Model>, row: Model): Model {
  const names = Object.keys(model.getAttributes());
  const values = Object.fromEntries(names.map((name) => [name, row.previous(name as never)]));
  return model.build(values as never, { raw: true, isNewRecord: false });
}

/** tracking.ts made the delete one of ids before; several may be gone already. */
async function rowsToDestroy(model: ModelStatic<Model>, options: DestroyOptions): Promise<Model[]> {
  const ids = (options.where as Record<string, unknown[]>)[model.primaryKeyAttribute];
  if (ids === undefined || ids.length === 0) return [];
  return model.findAll({ where: options.where ?? {}, transaction: options.transaction ?? null });
}

/** The fields that differ; null stands for a record that does not exist. */
function changesBetween(
  table: AuditedTable,
  before: Model | null,
  after: Model | null,
): FieldChanges {
  const changes: FieldChanges = {};
  for (const [name, reader] of Object.entries(table.fields)) {
    const change =
      'secret' in reader
        ? secretChange(reader.secret, before, after)
        : valueChange(reader.read, before, after);
    if (change !== null) changes[name] = change;
  }
  return changes;
}

function secretChange(
  read: (row: Model) => unknown,
  before: Model | null,
  after: Model | null,
): FieldChange | null {
  return jsonOf(read, before) === jsonOf(read, after) ? null : { changed: true };
}

function valueChange(
  read: (row: Model) => unknown,
  before: Model | null,
  after: Model | null,
): FieldChange | null {
  const from = jsonOf(read, before);
  const to = jsonOf(read, after);
  if (from === to) return null;
  if (before === null) return { to: JSON.parse(to) as unknown };
  if (after === null) return { from: JSON.parse(from) as unknown };
  return changeOfValue(JSON.parse(from), JSON.parse(to));
}

function jsonOf(read: (row: Model) => unknown, row: Model | null): string {
  if (row === null) return 'null';
  try {
    return JSON.stringify(read(row) ?? null);
  } catch (error) {
    // What an earlier key sealed must not stop a write that replaces it.
    if (error instanceof CiphertextError) return '"(unreadable)"';
    throw error;
  }
}
