// Makers of columns that tables share: ids, timestamps, JSON and encrypted text, addresses with
// their sortable keys. A setter that gets a value equal to the present one changes nothing, so an
// update that changes nothing leaves `updated_at` alone (docs/api.md#values).

import { isIPv4 } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import ipaddr from 'ipaddr.js';
import {
  type DataType,
  DataTypes,
  type Model,
  type ModelAttributeColumnOptions,
  type ModelStatic,
  type Sequelize,
} from 'sequelize';
import { CiphertextError, type Keyring, type Place } from '../storage/encryption.ts';
import { newId } from '../storage/uuid.ts';

/**
 * What a table needs to be bound to one database: classes are made for each database, never global.
 */
export interface TableContext {
  sequelize: Sequelize;
  keyring: Keyring;
}

/** A column of any table, as `init` takes it. */
export type Column = ModelAttributeColumnOptions<Model>;

/** The family of an address or a network. */
export type Family = 4 | 6;

/** A network as the first and last of its addresses, in hex of fixed width. */
export interface AddressRange {
  family: Family;
  start: string;
  end: string;
}

/** Options of a table whose rows carry `inserted_at` and `updated_at`. */
export const timestamps = {
  timestamps: true,
  createdAt: 'inserted_at',
  updatedAt: 'updated_at',
} as const;

/** When a row was made or changed; six digits are the database's, JavaScript fills three. */
export function timestampColumn(): Column {
  return { type: DataTypes.DATE(6), allowNull: false };
}

/** The columns of `timestamps`. */
export function timestampColumns() {
  // Made for each table: Sequelize changes types into types of its database in place.
  return {
    inserted_at: timestampColumn(),
    updated_at: timestampColumn(),
  };
}

/** The primary key of a record: a UUIDv7, made when none is given. */
export function idColumn(): Column {
  return { type: DataTypes.CHAR(36), primaryKey: true, defaultValue: newId };
}

/** A value that may be missing: null from the start, so that a row just made reads as one found. */
export function nullable(type: DataType): Column {
  return { type, allowNull: true, defaultValue: null };
}

/** A point in time that may be unknown. */
export function timeColumn(): Column {
  return nullable(DataTypes.DATE(6));
}

/** Makes every real change of a row move `updated_at` forward, within one millisecond too. */
export function keepUpdatedAtMoving<M extends Model>(model: ModelStatic<M>): void {
  model.addHook('beforeUpdate', 'updated_at moves', (row: Model) => {
    const before = row.previous('updated_at') as Date | undefined;
    const present = row.getDataValue('updated_at') as Date;
    if (before === undefined) return;
    if (row.changed() === false) row.setDataValue('updated_at', before);
    else if (present <= before) row.setDataValue('updated_at', new Date(before.getTime() + 1));
  });
}

/** A value kept as JSON text; null stays SQL's NULL. */
export function jsonColumn(column: string, fallback: unknown = null): Column {
  return {
    type: DataTypes.TEXT,
    allowNull: fallback === null,
    defaultValue: fallback === null ? null : JSON.stringify(fallback),
    get(this: Model) {
      return parseJson(this.getDataValue(column) as string | null | undefined);
    },
    set(this: Model, value: unknown) {
      const present = parseJson(this.getDataValue(column) as string | null | undefined);
      if (present !== undefined && isDeepStrictEqual(present, value)) return;
      this.setDataValue(column, value === null ? null : JSON.stringify(value));
    },
  };
}

/** Text that is encrypted in the database and plain in the model. */
export function encryptedColumn(keyring: Keyring, table: string, column: string): Column {
  const sealed = new SealedValue(keyring, table, column);
  return {
    type: DataTypes.TEXT,
    allowNull: false,
    get(this: Model) {
      return sealed.read(this);
    },
    set(this: Model, value: unknown) {
      if (typeof value !== 'string') throw new TypeError(`${table}.${column} takes text`);
      if (sealed.present(this) !== value) sealed.write(this, value);
    },
  };
}

/** A value kept as encrypted JSON text; null in the database reads as the fallback. */
export function encryptedJsonColumn(
  keyring: Keyring,
  table: string,
  column: string,
  fallback: unknown,
): Column {
  const sealed = new SealedValue(keyring, table, column);
  const parse = (text: string | null | undefined): unknown =>
    typeof text === 'string' ? JSON.parse(text) : structuredClone(fallback);
  return {
    ...nullable(DataTypes.TEXT),
    get(this: Model) {
      return parse(sealed.read(this));
    },
    set(this: Model, value: unknown) {
      const present = sealed.present(this);
      // What does not open is no value: even the fallback replaces it.
      if (present !== BROKEN && isDeepStrictEqual(parse(present), value)) return;
      sealed.write(this, JSON.stringify(value));
    },
  };
}

/** An address as text, kept in its canonical form; setting it sets the key column beside it. */
export function addressColumn(column: string, keyColumn: string, family: Family): Column {
  return {
    ...nullable(DataTypes.STRING(family === 4 ? 15 : 45)),
    set(this: Model, value: unknown) {
      if (value === null) {
        this.setDataValue(column, null);
        this.setDataValue(keyColumn, null);
        return;
      }
      const address = typeof value === 'string' ? parseAddress(value) : null;
      if (address === null || address.family !== family)
        throw new TypeError(`${column} takes an IPv${family} address`);
      this.setDataValue(column, address.text);
      this.setDataValue(keyColumn, address.key);
    },
  };
}

/** The sortable key of an address: fixed-width hex, so that text order is address order. */
export function addressKeyColumn(family: Family): Column {
  return nullable(DataTypes.CHAR(family === 4 ? 8 : 32));
}

/** `::1.2.3.4`, which ipaddr.js takes for another address, `::ffff:1.2.3.4`. */
const IPV4_AT_ITS_END = /^::\d+(\.\d+){3}$/;

/** Reads an address without prefix or zone; null when it is none. */
export function parseAddress(text: string): { family: Family; text: string; key: string } | null {
  // ipaddr.js finds by an error that a text is no IPv4 address; every IPv6 address would make one.
  if (isIPv4(text)) {
    const address = ipaddr.IPv4.parse(text);
    return { family: 4, text: address.toString(), key: hexOf(address.toByteArray()) };
  }
  if (!ipaddr.IPv6.isValid(text) || text.includes('%')) return null;
  const address = ipaddr.IPv6.parse(IPV4_AT_ITS_END.test(text) ? `0${text}` : text);
  return { family: 6, text: address.toRFC5952String(), key: hexOf(address.toByteArray()) };
}

/** Reads an address or a CIDR into the range that it covers, host bits cleared; null when bad. */
export function parseRange(text: string): AddressRange | null {
  const [addressText = '', prefixText, rest] = text.split('/');
  const address = parseAddress(addressText);
  if (address === null || rest !== undefined) return null;
  const bits = address.family === 4 ? 32 : 128;
  if (prefixText !== undefined && !/^(0|[1-9][0-9]{0,2})$/.test(prefixText)) return null;
  const prefix = prefixText === undefined ? bits : Number(prefixText);
  if (prefix > bits) return null;
  const hostBits = BigInt(bits - prefix);
  const hostMask = (1n << hostBits) - 1n;
  const value = BigInt(`0x${address.key}`);
  const width = bits / 4;
  return {
    family: address.family,
    start: (value & ~hostMask).toString(16).padStart(width, '0'),
    end: (value | hostMask).toString(16).padStart(width, '0'),
  };
}

function hexOf(bytes: number[]): string {
  return Buffer.from(bytes).toString('hex');
}

function parseJson(text: string | null | undefined): unknown {
  return text === null || text === undefined ? text : JSON.parse(text);
}

/** Stands for a present value that does not open. */
const BROKEN = Symbol('broken');

/** One encrypted column of one table. */
class SealedValue {
  readonly #keyring: Keyring;
  readonly #table: string;
  readonly #column: string;

  constructor(keyring: Keyring, table: string, column: string) {
    this.#keyring = keyring;
    this.#table = table;
    this.#column = column;
  }

  /** The text in the clear; throws when it does not open. */
  read(row: Model): string | null | undefined {
    const sealed = row.getDataValue(this.#column) as string | null | undefined;
    return typeof sealed === 'string' ? this.#keyring.open(sealed, this.#placeOf(row)) : sealed;
  }

  /** The text, to compare it: a value that does not open must not stop a new one. */
  present(row: Model): string | null | undefined | typeof BROKEN {
    try {
      return this.read(row);
    } catch (error) {
      if (error instanceof CiphertextError) return BROKEN;
      throw error;
    }
  }

  write(row: Model, text: string): void {
    row.setDataValue(this.#column, this.#keyring.seal(text, this.#placeOf(row)));
  }

  #placeOf(row: Model): Place {
    return { table: this.#table, column: this.#column, id: recordId(row) };
  }
}

/** The primary key of a row; a value sealed without it could never be opened. */
function recordId(row: Model): string {
  const { primaryKeyAttribute } = row.constructor as ModelStatic<Model>;
  const id: unknown = row.getDataValue(primaryKeyAttribute);
  if (typeof id !== 'string')
    throw new TypeError('An encrypted column is set before the id; name the id first');
  return id;
}
