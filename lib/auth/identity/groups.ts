// What a provider says of the groups of a person: names, or why they cannot be known. Only things
// that belong to the provider are written: memberships of this source, and the role of an
// administrator where the entry names a group for it and is trusted.
// docs/api.md#groups-of-providers.

import {
  type Authority,
  type Database,
  type GroupsChange,
  type GroupsError,
  type GroupsSaid,
  type Identity,
  isTrusted,
  type OpenidConnectProvider,
  replaceMemberships,
  setRoleBy,
  type Transaction,
} from '../../../models/index.ts';
import type { Log } from '../../kit/process/log.ts';
import { methodOf } from './method.ts';

/** The most names that are read of one person, and their bytes: a sign-in may wait with them. */
export const NAMES_MAX = 1_000;
export const NAMES_BYTES_MAX = 32_768;

/** What an entry makes of names; both protocols have the same fields. */
export type GroupsEntry = Pick<
  OpenidConnectProvider,
  'groups_map' | 'groups_unmapped' | 'groups_create' | 'admin_group'
>;

/** What an answer says, and the entry that it came through. */
export interface GroupsOfAnswer {
  readonly said: GroupsSaid;
  readonly entry: GroupsEntry;
}

/**
 * Reads names: a list of texts, one text, or nothing at all, as providers write an empty list. From
 * a list that also holds something else no name is taken: the rest may name groups that stay.
 */
export function readNames(value: unknown): GroupsSaid {
  if (value === undefined || value === null) return { names: [] };
  const list: unknown[] | null = Array.isArray(value) ? value : null;
  if (list === null && typeof value !== 'string') return { problem: 'unreadable' };
  const all = list ?? [value];
  if (all.length > NAMES_MAX) return { problem: 'too_many_names' };
  const names = all.filter((name): name is string => typeof name === 'string');
  if (names.length < all.length) return { problem: 'unreadable' };
  const bytes = names.reduce((sum, name) => sum + Buffer.byteLength(name), 0);
  return bytes > NAMES_BYTES_MAX ? { problem: 'too_many_names' } : { names };
}

/** Hears in the transaction how the groups of a user changed. */
export type HearsGroups = (change: GroupsChange, transaction: Transaction) => Promise<void>;

/** Whose groups an answer names. */
export interface GroupsOf {
  readonly userId: string;
  /** The account; null where it is another one each time. */
  readonly identity: Identity | null;
  readonly authority: Authority;
  readonly hearGroups: HearsGroups;
}

/**
 * Writes the groups that an answer names; if they cannot be read, all stays as it is. Returns the
 * problem, if there is one. The scope of the configuration must be locked.
 */
export async function takeGroups(
  database: Database,
  { userId, identity, authority, hearGroups }: GroupsOf,
  { said, entry }: GroupsOfAnswer,
  transaction: Transaction,
): Promise<GroupsError | null> {
  const source = methodOf(authority.kind, authority.provider_id);
  let problem: GroupsError | null = 'problem' in said ? said.problem : null;
  if ('names' in said) {
    const { names } = said;
    const { groups_map: map, groups_create: isCreating = false, admin_group: admins } = entry;
    const isOpen = map === undefined || entry.groups_unmapped === true;
    const named = { userId, source, names, map, isOpen, isCreating };
    const replaced = await replaceMemberships(database, named, transaction);
    problem = replaced.problem;
    await hearGroups(replaced.change, transaction);
    const isAdmin =
      admins !== undefined &&
      names.includes(admins) &&
      (await isTrusted(database, authority, transaction));
    await setRoleBy(database, source, { userId, isAdmin }, transaction);
  }
  if (identity !== null) await identity.update({ groups_problem: problem }, { transaction });
  return problem;
}

/** Logs why the groups of a person are not those that the provider means. */
export function logGroupsError(
  log: Log,
  problem: GroupsError | null,
  about: Readonly<Record<string, unknown>>,
): void {
  if (problem !== null)
    log.warn({ ...about, reason: `groups_${problem}` }, 'groups were not taken from a provider');
}
