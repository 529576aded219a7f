// Makes the columns of a table, as Sequelize takes them, of the fields of its record. If a setter
// does more than set its own column, the file of the table says so. Sequelize changes types into
// types of its database in place, so all columns are made again for each database.

import { DataTypes, Model, type ModelStatic } from 'sequelize';
import type { Column as Kept, ColumnsOf, Fields } from '../fields/field.ts';
import {
  addressColumn,
  type Column,
  encryptedColumn,
  encryptedJsonColumn,
  idColumn,
  jsonColumn,
  type TableContext,
  timestampColumn,
} from './columns.ts';

/** What a table's class extends: Sequelize's Model, whose rows have the columns as properties. */
export function modelOf<Row extends object, NewRow extends object>() {
  return Model as unknown as ModelStatic<Model<Row, NewRow> & Row>;
}

/** Makes the columns of a table. */
export function columnsFrom<Table extends Fields>(
  fields: Table,
  table: string,
  { keyring }: TableContext,
): Record<keyof ColumnsOf<Table>, Column> {
  const columns: Record<string, Column> = {};
  for (const [name, { column }] of Object.entries<Fields[string]>(fields))
    if (column !== undefined) columns[name] = columnFrom(column, name, table, keyring);
  return columns as Record<keyof ColumnsOf<Table>, Column>;
}

function columnFrom(
  column: Kept,
  name: string,
  table: string,
  keyring: TableContext['keyring'],
): Column {
  const { kind, size = 0, nullable = false, default: fallback = null } = column;
  const plain = (type: Column['type']): Column => ({
    type,
    allowNull: nullable,
    // Null from the start, so that a row just made reads as one found.
    ...(nullable || fallback !== null ? { defaultValue: fallback } : {}),
  });
  switch (kind) {
    case 'id':
      return idColumn();
    case 'char':
      return plain(DataTypes.CHAR(size));
    case 'text':
      return plain(DataTypes.STRING(size));
    case 'long text':
      return plain(DataTypes.TEXT);
    case 'flag':
      return plain(DataTypes.BOOLEAN);
    case 'integer':
      return plain(DataTypes.INTEGER);
    case 'tiny integer':
      return plain(DataTypes.TINYINT);
    case 'big integer':
      return plain(DataTypes.BIGINT);
    case 'time':
      return plain(DataTypes.DATE(6));
    case 'timestamp':
      return timestampColumn();
    case 'ipv4':
      return addressColumn(name, `${name}_key`, 4);
    case 'ipv6':
      return addressColumn(name, `${name}_key`, 6);
    case 'texts':
    case 'json':
      return jsonColumn(name, fallback);
    case 'sealed':
      return encryptedColumn(keyring, table, name);
    case 'sealed json':
      return encryptedJsonColumn(keyring, table, name, fallback);
  }
}
