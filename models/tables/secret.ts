// The secrets table: values that the gateway makes once and keeps encrypted under a name, such as
// its private key. One of them, the key check, is there to refuse a wrong encryption key at the
// start, before a single device's key fails to open.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { encryptedColumn, timestampColumns, timestamps, type TableContext } from './columns.ts';

/** One named secret. */
export class Secret extends Model<InferAttributes<Secret>, InferCreationAttributes<Secret>> {
  declare name: string;
  /** Encrypted in the database. */
  declare value: string;
  declare inserted_at: CreationOptional<Date>;
  declare updated_at: CreationOptional<Date>;
}

/** Binds the table to one database. */
export function initSecret({ sequelize, keyring }: TableContext): typeof Secret {
  return class extends Secret {}.init(
    {
      name: { type: DataTypes.STRING(64), primaryKey: true },
      value: encryptedColumn(keyring, 'secrets', 'value'),
      ...timestampColumns(),
    },
    { sequelize, modelName: 'secret', tableName: 'secrets', ...timestamps },
  );
}
