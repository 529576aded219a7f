// What describes a field of a record, in words that every room understands. Each record has one
// table of fields beside this file: how a field is kept, who may send it and within which limits,
// how the API describes it, whether the audit trail holds it, whether gateways obey it. Other rooms
// make their part of that table, and TypeScript makes the types of rows and of values. A table is
// plain data: it knows neither Sequelize nor Joi. CONTRIBUTING.md says how to add a field.

/** How a value is kept, and the type that it has then. */
export interface ColumnValues {
  /** A UUIDv7, made where none is given. */
  id: string;
  /** Exactly `size` characters. */
  char: string;
  /** At most `size` characters. */
  text: string;
  'long text': string;
  /** Encrypted in the database; null in rows that are read in bulk, where it does not open. */
  sealed: string;
  flag: boolean;
  integer: number;
  'tiny integer': number;
  'big integer': number;
  time: Date;
  /** When the row was made, or was changed last; nobody sets it by hand. */
  timestamp: Date;
  /** Canonical text. Setting it sets `ipv4_key` or `ipv6_key` too. */
  ipv4: string;
  ipv6: string;
  /** A list, kept as JSON. */
  texts: string[];
  /** `holds` names the type. */
  json: unknown;
  /** JSON that is encrypted in the database. */
  'sealed json': unknown;
}

/** A column of a table. */
export interface Column {
  readonly kind: keyof ColumnValues;
  /** Characters. */
  readonly size?: number;
  /** The only values there are. */
  readonly words?: readonly (string | number)[];
  readonly holds?: Holds<unknown>;
  readonly nullable?: true;
  /** The value if nobody gives one. */
  readonly default?: unknown;
  /** True: the value follows from another column, and is set with that one. */
  readonly derived?: true;
  /** Left out of the rows that are read in bulk. */
  readonly inRows?: false;
}

/** The type of a JSON value; there is nothing at run time. */
export interface Holds<Value> {
  readonly value?: Value;
}

/** Names the type of a JSON value. */
export function holds<Value>(): Holds<Value> {
  return {};
}

/** How the API reads a value, and the type of one that no column keeps. */
export interface ApiValues {
  id: string;
  time: Date;
  /** The id of another record. */
  reference: string;
  /** Taken as it comes. */
  text: string;
  /** Without the spaces around it. */
  trimmed: string;
  /** In NFC, without the spaces around it and without a character that nobody sees. */
  name: string;
  /** One of `words`, which are named where another one is sent. */
  choice: string;
  /** One of `words` that Firezone's API has too: another one is invalid, and no more is said. */
  'choice of Firezone': string;
  flag: boolean;
  /** From `min` to `max`. */
  integer: number;
  /** Only ever shown. */
  count: number;
  ipv4: string;
  ipv6: string;
  /** An address of either family, in its canonical form. */
  'any address': string;
  /** An address or a network, as it was sent. */
  cidr: string;
  cidrs: string[];
  networks: string[];
  dns: string[];
  endpoint: string;
  url: string;
  /** What one record alone has; the resource of that record says how it is read. */
  key: string;
  'public key': string;
  email: string;
  password: string;
  ports: { start: number; end: number };
  logo: object;
  'openid providers': object[];
  'saml providers': object[];
  'provider id': string;
  scopes: string;
  'metadata address': string;
  'short text': string;
  'entity id': string;
  pair: { name: string; value: string };
  /** Names of groups at a provider, each with the name of a group here. */
  'group names': Record<string, string>;
}

/** A field as requests and answers have it. */
export interface ApiField {
  readonly kind: keyof ApiValues;
  /** For people who read the OpenAPI document. */
  readonly description: string;
  /** Only answered; ignored when sent. */
  readonly readOnly?: true;
  /** Only sent; never answered. */
  readonly writeOnly?: true;
  /** Ignored by updates. */
  readonly createOnly?: true;
  /** A create must send it. */
  readonly required?: true;
  /** Whether it may be null; left out: as the column may. */
  readonly nullable?: boolean;
  /** Never null in answers, though an update may say null. */
  readonly neverNull?: true;
  /** On create, null is no way to leave it out. */
  readonly nullIsBlank?: true;
  /** Required only where this field is not sent; it is empty then. */
  readonly unless?: string;
  /**
   * Of a record in a list that is replaced whole, a field that older clients do not know: answered
   * only where it was sent, kept where a later list does not name it, removed by null or "".
   */
  readonly keptUnsent?: true;
  /** What a create has that does not send it; left out: the default of the column. */
  readonly default?: unknown;
  /** The gateway makes one up where a create does not send it. */
  readonly filledIn?: true;
  readonly words?: readonly string[];
  /** Characters. */
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly min?: number;
  readonly max?: number;
}

/**
 * What the audit trail holds of a column: its value, only that it changed, or nothing. `own`: what
 * audited-fields.ts says.
 */
export type AuditedAs = 'value' | 'secret' | 'nothing' | 'own';

/** One field of a record. */
export interface Field {
  readonly column?: Column;
  /** Every column says it, so that nobody forgets a secret. */
  readonly audit?: AuditedAs;
  /** A column of device_statuses, which gateways write. */
  readonly status?: Column;
  /** Gateways read it to decide which packets pass. */
  readonly obeyed?: true;
  readonly api?: ApiField;
}

/** All fields of one record, in the order in which the API answers them. */
export type Fields = Readonly<
  Record<string, Field & ({ column: Column; audit: AuditedAs } | { column?: undefined })>
>;

/** Checks a table, and keeps the type of every word in it. */
export function fieldsOf<const Table extends Fields>(table: Table): Table {
  return table;
}

/** The columns of a row that is read in bulk. */
export function rowColumns<Table extends Fields>(fields: Table): InRows<Table>[] {
  const all = Object.entries<Field>(fields);
  const isInRows = ([, { column }]: [string, Field]): boolean =>
    column !== undefined && column.inRows !== false;
  return all.filter(isInRows).map(([name]) => name as InRows<Table>);
}

/** The columns that are encrypted. */
export function sealedColumns<Table extends Fields>(fields: Table) {
  type Sealed = NamesWith<Table, { column: { kind: 'sealed' | 'sealed json' } }>;
  const all = Object.entries<Field>(fields);
  const isSealed = ([, { column }]: [string, Field]): boolean =>
    column?.kind === 'sealed' || column?.kind === 'sealed json';
  return all.filter(isSealed).map(([name]) => name as Sealed);
}

// ---- types of a table ----------------------------------------------------------------------

/** The names of the fields that have a part, such as `{ column: { kind: 'time' } }`. */
export type NamesWith<Table, Part> = {
  [Name in keyof Table]: Table[Name] extends Part ? Name : never;
}[keyof Table] &
  string;

type Null<Part> = Part extends { nullable: true } ? null : never;

/** The type of a column's value. */
export type ValueOf<C> =
  | (C extends { words: readonly (infer Word)[] }
      ? Word
      : C extends { holds: Holds<infer Value> }
        ? Value
        : C extends { kind: infer Kind extends keyof ColumnValues }
          ? ColumnValues[Kind]
          : never)
  | Null<C>;

/** The values of all columns. */
export type ColumnsOf<Table> = {
  -readonly [Name in NamesWith<Table, { column: Column }>]: Table[Name] extends {
    column: infer C;
  }
    ? ValueOf<C>
    : never;
};

type MadeByItself =
  | { column: { nullable: true } }
  | { column: { derived: true } }
  | { column: { default: unknown } }
  | { column: { kind: 'id' | 'timestamp' } };

/** The columns of a row that is to be made; what is made by itself may be left out. */
export type NewColumnsOf<Table> = Omit<ColumnsOf<Table>, NamesWith<Table, MadeByItself>> &
  Partial<Pick<ColumnsOf<Table>, NamesWith<Table, MadeByItself> & keyof ColumnsOf<Table>>>;

type InRows<Table> = Exclude<
  NamesWith<Table, { column: Column }>,
  NamesWith<Table, { column: { inRows: false } }>
>;

/** A row as it is read in bulk: its columns, then what gateways saw. */
export type RowOf<Table> = {
  [Name in InRows<Table>]: Table[Name] extends { column: infer C }
    ? ValueOf<C> | (C extends { kind: 'sealed' } ? null : never)
    : never;
} & {
  [Name in NamesWith<Table, { status: Column }>]: Table[Name] extends { status: infer C }
    ? ValueOf<C> | null
    : never;
};

/** Names of the fields that requests may send. */
export type SentName<Table> = Exclude<
  NamesWith<Table, { api: ApiField }>,
  NamesWith<Table, { api: { readOnly: true } }>
>;

type MayBeNull<F> = F extends { api: { nullable: infer Is } }
  ? Is extends true
    ? null
    : never
  : F extends { column: { nullable: true } }
    ? null
    : never;

type SentValue<F> =
  | (F extends { column: infer C }
      ? Exclude<ValueOf<C>, null>
      : F extends { api: { words: readonly (infer Word)[] } }
        ? Word
        : F extends { api: { kind: infer Kind extends keyof ApiValues } }
          ? ApiValues[Kind]
          : never)
  | MayBeNull<F>;

/** What the fields of a request yield. */
export type SentOf<Table> = { -readonly [Name in SentName<Table>]?: SentValue<Table[Name]> };

type Sent<Table, Part> = SentName<Table> & NamesWith<Table, { api: Part }>;

/** A record that is a member of a list: what a create must send or has by default, and the rest. */
export type EntryOf<Table> = {
  -readonly [
    Name in Sent<Table, { required: true } | { default: unknown } | { filledIn: true }>
  ]: SentValue<Table[Name]>;
} & {
  -readonly [Name in Sent<Table, { keptUnsent: true }>]?: SentValue<Table[Name]>;
};

/** What gateways may read of a row. */
export type ObeyedOf<Table> = Pick<
  RowOf<Table>,
  NamesWith<Table, { obeyed: true }> & keyof RowOf<Table>
>;
