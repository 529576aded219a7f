// The audit_entries table: who changed what, when, and from where. An entry is written in the
// transaction of the change that it is about, never altered, and deleted when it is old. Entries
// hold names and e-mails as they were, so that they tell of records that are gone.
// docs/state.md#audit-trail.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { jsonColumn, nullable, type TableContext } from './columns.ts';
import type { FieldChanges } from '../storage/auditing.ts';
import type { Actor } from '../storage/origin.ts';

/** One entry of the audit trail. */
export class AuditEntry extends Model<
  InferAttributes<AuditEntry>,
  InferCreationAttributes<AuditEntry>
> {
  /** Begins with the time, as all ids do: the order of ids is that of the entries. */
  declare id: string;
  declare happened_at: Date;
  declare actor: Actor;
  /** The id of the user in whose name it happened; null if the actor is no user. */
  declare user_id: CreationOptional<string | null>;
  /** The e-mail of that user, as it was then. */
  declare email: CreationOptional<string | null>;
  declare token_id: CreationOptional<string | null>;
  /** An AuditAction. */
  declare action: string;
  /** `user`, `device`, `rule`, `configuration`, `token`, `identity`, `session` and so on. */
  declare kind: string;
  declare record_id: string;
  /** Fields by name, from what to what; of secrets only that they changed. */
  declare changes: FieldChanges;
  /** As in the log and in `x-request-id`; null where there was no request. */
  declare request_id: CreationOptional<string | null>;
  /** Where the request came from. */
  declare address: CreationOptional<string | null>;
  /** What the record was called then; null in entries of before 1.1, and where it has no name. */
  declare record_name: CreationOptional<string | null>;
  /** Whose the record was: the e-mail of a user or the name of a group. */
  declare owner_name: CreationOptional<string | null>;
  /** What the API token was called. */
  declare token_name: CreationOptional<string | null>;
}

/** Binds the table to one database. */
export function initAuditEntry({ sequelize }: TableContext): typeof AuditEntry {
  return class extends AuditEntry {}.init(
    {
      id: { type: DataTypes.CHAR(36), primaryKey: true },
      happened_at: { type: DataTypes.DATE(6), allowNull: false },
      actor: { type: DataTypes.STRING(16), allowNull: false },
      user_id: nullable(DataTypes.CHAR(36)),
      email: nullable(DataTypes.STRING(255)),
      token_id: nullable(DataTypes.CHAR(36)),
      action: { type: DataTypes.STRING(32), allowNull: false },
      kind: { type: DataTypes.STRING(32), allowNull: false },
      record_id: { type: DataTypes.STRING(64), allowNull: false },
      changes: jsonColumn('changes', {}),
      request_id: nullable(DataTypes.STRING(64)),
      address: nullable(DataTypes.STRING(45)),
      record_name: nullable(DataTypes.STRING(255)),
      owner_name: nullable(DataTypes.STRING(255)),
      token_name: nullable(DataTypes.STRING(255)),
    },
    { sequelize, modelName: 'audit_entry', tableName: 'audit_entries', timestamps: false },
  );
}
