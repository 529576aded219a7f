// Finds the rules that match packets to given addresses, through the index of rules: however many
// rules there are, it costs what is asked. Networks either contain one another or are apart, so the
// few starts of all networks around an address find every rule that contains it.

import type { Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import type { RuleRow } from '../fields/rule.ts';
import { plainSelect } from '../storage/select.ts';
import { parseAddress } from '../tables/columns.ts';
import { enclosingStarts } from './rivals.ts';
import { readRules } from './rows.ts';

/** Whose rules are searched, and for which addresses. */
export interface AddressesOf {
  /** The owner of the rules; null: those of a group, or those that are everyone's. */
  readonly userId: string | null;
  /** The group of the rules; left out: they are of no group. */
  readonly groupId?: string | null;
  readonly addresses: readonly string[];
}

/** What one statement asks for at most: first addresses of networks, in so many parts. */
const STARTS_MAX = 16_384;
const PARTS_MAX = 200;

/** First addresses of networks, of one owner or group and family; they are hex digits. */
interface Wanted {
  readonly userId: string | null;
  readonly groupId: string | null;
  readonly family: 4 | 6;
  readonly starts: readonly string[];
}

/**
 * Reads the rules that match packets to these addresses. Some others may be among them. A row
 * whose destination or action is none is not found.
 */
export async function readRulesByAddress(
  database: Database,
  wanted: readonly AddressesOf[],
  transaction?: Transaction,
): Promise<RuleRow[]> {
  const ids = new Set<string>();
  const parts = wanted.flatMap((one) => startsOf(one));
  for (const part of inStatements(parts)) {
    const read = database.kind === 'sqlite' ? readOnSqlite : readOnMysql;
    for (const { id } of await read(database, part, transaction)) ids.add(id);
  }
  return readRules(database, { ids: [...ids], ...(transaction && { transaction }) });
}

type Ids = Promise<{ id: string }[]>;

/** One text for any number of networks stays prepared. */
function readOnSqlite(
  { sequelize }: Database,
  wanted: readonly Wanted[],
  transaction?: Transaction,
): Ids {
  const rows = wanted.flatMap(({ userId, groupId, family, starts }) =>
    starts.map((start) => [userId, family, start, groupId]),
  );
  return sequelize.query(
    `SELECT rules.id AS id FROM json_each($rows) AS wanted CROSS JOIN rules
     WHERE rules.user_id IS (wanted.value ->> 0)
       AND rules.group_id IS (wanted.value ->> 3) AND rules.action IN ('accept', 'drop')
       AND rules.family = (wanted.value ->> 1) AND rules.range_start = (wanted.value ->> 2)`,
    { ...plainSelect(transaction), bind: { rows: JSON.stringify(rows) } },
  );
}

/**
 * Hex digits are written into the text: thousands of places for values would cost far more. Each
 * owner has a SELECT, because with an OR between them MariaDB walks the whole index.
 */
function readOnMysql(
  { sequelize }: Database,
  wanted: readonly Wanted[],
  transaction?: Transaction,
): Ids {
  const selects = wanted.map(({ userId, groupId, family, starts }) => {
    const is = (id: string | null): string =>
      id === null ? 'IS NULL' : `= ${sequelize.escape(id)}`;
    const scope = `user_id ${is(userId)} AND group_id ${is(groupId)}`;
    const list = starts.map((start) => `'${start}'`).join(',');
    return `SELECT id FROM rules WHERE ${scope} AND action IN ('accept', 'drop')
            AND family = ${family} AND range_start IN (${list})`;
  });
  return sequelize.query(selects.join(' UNION ALL '), plainSelect(transaction));
}

/** Parts that one statement asks for together. */
function* inStatements(parts: readonly Wanted[]): Generator<Wanted[]> {
  let together: Wanted[] = [];
  let count = 0;
  for (const part of parts) {
    const isFull = together.length === PARTS_MAX || count + part.starts.length > STARTS_MAX;
    if (together.length > 0 && isFull) {
      yield together;
      together = [];
      count = 0;
    }
    together.push(part);
    count += part.starts.length;
  }
  if (together.length > 0) yield together;
}

/** The first addresses of all networks around the addresses, by family and in parts. */
function startsOf({ userId, groupId = null, addresses }: AddressesOf): Wanted[] {
  const starts = { 4: new Set<string>(), 6: new Set<string>() };
  for (const text of addresses) {
    const address = parseAddress(text);
    if (address === null) continue;
    for (const start of enclosingStarts({ start: address.key })) starts[address.family].add(start);
  }
  const parts: Wanted[] = [];
  for (const family of [4, 6] as const) {
    const all = [...starts[family]];
    for (let at = 0; at < all.length; at += STARTS_MAX)
      parts.push({ userId, groupId, family, starts: all.slice(at, at + STARTS_MAX) });
  }
  return parts;
}
