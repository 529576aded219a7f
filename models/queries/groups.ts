// Groups of users, page by page: who is in them, and in which a user is. docs/api.md#groups.

import { Op, type Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { Binds } from '../storage/binds.ts';
import { plainSelect } from '../storage/select.ts';
import { BULK_ROWS_MAX } from '../storage/tracking.ts';
import type { Group } from '../tables/group.ts';

/** How many users or groups one statement names; longer lists are read in parts. */
const NAMED_PER_STATEMENT = 500;

/** A part of a list, in the order of ids. */
export interface GroupPage {
  /** The part begins behind this id; null: at the beginning. */
  readonly afterId?: string | null;
  readonly limit?: number;
  readonly transaction?: Transaction;
}

/** A member of a group. */
export interface GroupMember {
  /** The id of the user. */
  readonly id: string;
  readonly email: string;
  /** Who says that the user is a member; at least one. */
  readonly sources: readonly string[];
}

/** Which groups are read; all of them where nothing here filters them. */
export interface GroupWish extends GroupPage {
  /** Only groups that this user is in. */
  readonly memberId?: string;
  /** Only the group of exactly this name. */
  readonly name?: string;
}

/** Reads groups. */
export async function readGroups(
  database: Database,
  { memberId, name, afterId = null, limit, transaction }: GroupWish,
): Promise<Group[]> {
  const ofMember = memberId === undefined ? null : await readGroupsOfUsers(database, [memberId]);
  return database.models.Group.findAll({
    where: {
      [Op.and]: [
        ofMember === null ? {} : { id: ofMember.get(memberId ?? '') ?? [] },
        afterId === null ? {} : { id: { [Op.gt]: afterId } },
        name === undefined ? {} : { name },
      ],
    },
    order: [['id', 'ASC']],
    ...(limit === undefined ? {} : { limit }),
    transaction: transaction ?? null,
  });
}

/** Tells which of these groups exist, and locks them against their removal. */
export async function readGroupIds(
  { models }: Database,
  ids: readonly string[],
  transaction: Transaction,
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await models.Group.findAll({
    attributes: ['id'],
    where: { id: [...ids] },
    order: [['id', 'ASC']],
    lock: true,
    transaction,
  });
  return new Set(rows.map(({ id }) => id));
}

/** Tells which of these names groups have. */
export async function readGroupNames(
  { models }: Database,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let start = 0; start < names.length; start += NAMED_PER_STATEMENT) {
    const name = names.slice(start, start + NAMED_PER_STATEMENT);
    for (const row of await models.Group.findAll({ attributes: ['name'], where: { name } }))
      found.add(row.name);
  }
  return found;
}

/** Reads members of a group: all, or these. */
export async function readMembers(
  database: Database,
  groupId: string,
  { afterId = null, limit, userIds, transaction }: GroupPage & { readonly userIds?: string[] },
): Promise<GroupMember[]> {
  const conditions = [
    'group_id = :groupId',
    ...(afterId === null ? [] : ['user_id > :afterId']),
    ...(userIds === undefined ? [] : ['user_id IN (:userIds)']),
  ];
  if (userIds?.length === 0) return [];
  const atMost = limit === undefined ? '' : 'LIMIT :limit';
  const rows = await database.sequelize.query<{ id: string; email: string }>(
    `SELECT DISTINCT users.id AS id, users.email AS email
     FROM group_memberships JOIN users ON users.id = group_memberships.user_id
     WHERE ${conditions.join(' AND ')} ORDER BY users.id ${atMost}`,
    { ...plainSelect(transaction), replacements: { groupId, afterId, userIds, limit } },
  );
  const memberships = await database.models.GroupMembership.findAll({
    attributes: ['user_id', 'source'],
    where: { group_id: groupId, user_id: rows.map(({ id }) => id) },
    order: [['source', 'ASC']],
    raw: true,
    transaction: transaction ?? null,
  });
  const sources = Map.groupBy(memberships, ({ user_id }) => user_id);
  return rows.map(({ id, email }) => ({
    id,
    email,
    sources: (sources.get(id) ?? []).map(({ source }) => source),
  }));
}

/** How many members groups have, by id of the group; one without members is left out. */
export function countMembers(
  database: Database,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  return countOfGroups(database, 'COUNT(DISTINCT user_id)', 'group_memberships', groupIds);
}

/** Counts the rules for each of these groups; those without any are left out. */
export function countRules(
  database: Database,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  return countOfGroups(database, 'COUNT(*)', 'rules', groupIds);
}

async function countOfGroups(
  database: Database,
  count: string,
  table: string,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (groupIds.length === 0) return new Map();
  const binds = new Binds();
  const rows = await database.sequelize.query<{ group_id: string; counted: number }>(
    `SELECT group_id, ${count} AS counted FROM ${table}
     WHERE group_id IN (${binds.list(groupIds)}) GROUP BY group_id`,
    { ...plainSelect(), bind: binds.values },
  );
  return new Map(rows.map(({ group_id, counted }) => [group_id, Number(counted)]));
}

/** Reads the ids of the groups that each of these users is in; a user in none is left out. */
export async function readGroupsOfUsers(
  database: Database,
  userIds: readonly string[],
  transaction?: Transaction,
): Promise<Map<string, string[]>> {
  const groups = new Map<string, string[]>();
  for (let start = 0; start < userIds.length; start += NAMED_PER_STATEMENT) {
    const binds = new Binds();
    const ids = binds.list(userIds.slice(start, start + NAMED_PER_STATEMENT));
    const rows = await database.sequelize.query<{ user_id: string; group_id: string }>(
      `SELECT DISTINCT user_id, group_id FROM group_memberships
       WHERE user_id IN (${ids}) ORDER BY user_id, group_id`,
      { ...plainSelect(transaction), bind: binds.values },
    );
    for (const { user_id, group_id } of rows) {
      const ofUser = groups.get(user_id);
      if (ofUser === undefined) groups.set(user_id, [group_id]);
      else ofUser.push(group_id);
    }
  }
  return groups;
}

/** Deletes a group with its memberships and its rules. */
export async function removeGroup(
  { models }: Database,
  group: Group,
  transaction: Transaction,
): Promise<void> {
  const where = { group_id: group.id };
  for (const table of [models.Rule, models.GroupMembership] as (typeof models.Rule)[]) {
    const rows = await table.findAll({ attributes: ['id'], where, transaction });
    for (let start = 0; start < rows.length; start += BULK_ROWS_MAX) {
      const id = rows.slice(start, start + BULK_ROWS_MAX).map((row) => row.id);
      await table.destroy({ where: { id }, transaction });
    }
  }
  await group.destroy({ transaction });
}
