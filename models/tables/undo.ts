// The undos table: what a session of the console did last, so that it can be undone for some
// minutes at any gateway, once. What the records were before is in the audit trail, in the entries
// that a row names. Written without change rows. docs/state.md#undo.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { idColumn, jsonColumn, type TableContext } from './columns.ts';

/** One change that can be undone. */
export class Undo extends Model<InferAttributes<Undo>, InferCreationAttributes<Undo>> {
  declare id: CreationOptional<string>;
  declare session_id: string;
  /** The ids of the entries of the audit trail that the change left. */
  declare entries: readonly string[];
  declare inserted_at: Date;
}

/** Binds the table to one database. */
export function initUndo({ sequelize }: TableContext): typeof Undo {
  return class extends Undo {}.init(
    {
      id: idColumn(),
      session_id: { type: DataTypes.CHAR(36), allowNull: false },
      entries: jsonColumn('entries', []),
      inserted_at: { type: DataTypes.DATE(6), allowNull: false },
    },
    { sequelize, modelName: 'undo', tableName: 'undos', timestamps: false },
  );
}
