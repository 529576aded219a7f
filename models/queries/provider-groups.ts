// Memberships in groups that identity providers name. Each provider has memberships of its own,
// beside those of administrators and of other providers. docs/api.md#groups-of-providers.

import type { Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import {
  GROUP_NAME_CHARACTERS_MAX,
  groupNameOf,
  GROUPS_MAX,
  GROUPS_OF_USER_MAX,
  MANUAL,
  UNSEEN,
  UUID,
} from '../fields/group.ts';
import type { GroupsError, ProviderKind } from '../fields/identity.ts';
import { plainSelect } from '../storage/select.ts';
import { BULK_ROWS_MAX } from '../storage/tracking.ts';
import { withdrawRoles } from './administrators.ts';

/** How many names one statement looks for. */
const NAMES_PER_STATEMENT = 500;

/** What a provider says of the groups of a user. */
export interface GroupsNamed {
  readonly userId: string;
  /** The provider, as `oidc/okta`. */
  readonly source: string;
  /** The names of groups as the provider writes them. */
  readonly names: readonly string[];
  /**
   * The groups of Postern that these names mean; left out: each means the group of the same name
   * that the provider made.
   */
  readonly map?: Readonly<Record<string, string>> | undefined;
  /** Whether a name that is not in the map means what it means without a map. */
  readonly isOpen?: boolean;
  /** Whether groups that do not exist are made. */
  readonly isCreating: boolean;
}

/** The groups of a user before a change and after it, whoever says that the user is in them. */
export interface GroupsChange {
  readonly userId: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** What became of the names of a provider. */
export interface Replaced {
  /** Where not all of the groups have room. */
  readonly problem: Extract<GroupsError, 'left_out'> | null;
  readonly change: GroupsChange;
}

/** A group that a provider names; its id is null if the group does not exist yet. */
interface Named {
  readonly name: string;
  readonly id: string | null;
}

/** Replaces the memberships that a provider named. The configuration must be locked. */
export async function replaceMemberships(
  database: Database,
  named: GroupsNamed,
  transaction: Transaction,
): Promise<Replaced> {
  const { GroupMembership } = database.models;
  const { userId, source } = named;
  const all = await GroupMembership.findAll({
    attributes: ['id', 'group_id', 'source'],
    where: { user_id: userId },
    transaction,
  });
  const present = all.filter((row) => row.source === source);
  const others = new Set(all.filter((row) => row.source !== source).map((row) => row.group_id));
  const isIn = new Set(present.map(({ group_id }) => group_id));
  const wanted = await findNamed(database, named, transaction);
  const { taken, isAllTaken } = takeWithRoom(wanted, isIn, others);
  const ids = await makeMissing(database, taken, source, transaction);
  const kept = new Set(ids);
  const gone = present.filter(({ group_id }) => !kept.has(group_id)).map(({ id }) => id);
  if (gone.length > 0) await GroupMembership.destroy({ where: { id: gone }, transaction });
  const fresh = ids.filter((id) => !isIn.has(id));
  if (fresh.length > 0)
    await GroupMembership.bulkCreate(
      fresh.map((group_id) => ({ group_id, user_id: userId, source })),
      { transaction, validate: false },
    );
  return {
    problem: isAllTaken && ids.length === taken.length ? null : 'left_out',
    change: {
      userId,
      before: [...new Set([...others, ...isIn])],
      after: [...new Set([...others, ...ids])],
    },
  };
}

/** The groups that the names mean, in the order of the groups' names. */
async function findNamed(
  { models }: Database,
  { source, names, map, isOpen = map === undefined, isCreating }: GroupsNamed,
  transaction: Transaction,
): Promise<Named[]> {
  const { mapped, own } = meaningOf(names, map ?? {});
  const wanted = [...new Set([...mapped, ...(isOpen ? own : [])])].filter(isLegible).toSorted();
  const found = new Map<string, { id: string; provider: string | null }>();
  for (let start = 0; start < wanted.length; start += NAMES_PER_STATEMENT) {
    const groups = await models.Group.findAll({
      attributes: ['id', 'name', 'provider'],
      where: { name: wanted.slice(start, start + NAMES_PER_STATEMENT) },
      transaction,
    });
    for (const { id, name, provider } of groups) found.set(name, { id, provider });
  }
  return wanted.flatMap((name): Named[] => {
    const group = found.get(name);
    if (group === undefined) return isCreating && isGroupName(name) ? [{ name, id: null }] : [];
    // Else a provider could put people into any group by its name.
    return !mapped.has(name) && group.provider !== source ? [] : [{ name, id: group.id }];
  });
}

/** Names of groups here: those that the map says, and names that stand for themselves. */
function meaningOf(
  names: readonly string[],
  map: Readonly<Record<string, string>>,
): { mapped: ReadonlySet<string>; own: ReadonlySet<string> } {
  const mapped = new Set<string>();
  const own = new Set<string>();
  // Else a group there could pass for the group here that is called so for another one.
  const targets = new Set(Object.values(map).map((here) => here.normalize('NFC')));
  for (const sent of names) {
    const name = sent.normalize('NFC');
    const here = ownValue(map, sent) ?? ownValue(map, name);
    if (here !== undefined) mapped.add(here.normalize('NFC'));
    else if (!targets.has(name)) own.add(name);
  }
  return { mapped, own };
}

function ownValue(map: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}

/** True for a name that the API takes as it is. */
export function isGroupName(name: string): boolean {
  return isLegible(name) && !UUID.test(name);
}

/** True for a name that a group may have, also from before UUIDs were refused. */
function isLegible(name: string): boolean {
  return (
    name !== '' &&
    name.length <= 2 * GROUP_NAME_CHARACTERS_MAX &&
    name.isWellFormed() &&
    name === groupNameOf(name) &&
    !UNSEEN.test(name) &&
    Array.from(name).length <= GROUP_NAME_CHARACTERS_MAX
  );
}

/** As many as a user may be in: those that the user is in already come first. */
function takeWithRoom(
  wanted: readonly Named[],
  isIn: ReadonlySet<string>,
  others: ReadonlySet<string>,
): { taken: Named[]; isAllTaken: boolean } {
  const isStaying = ({ id }: Named): boolean => id !== null && (isIn.has(id) || others.has(id));
  const inOrder = [...wanted.filter(isStaying), ...wanted.filter((one) => !isStaying(one))];
  let room = GROUPS_OF_USER_MAX - others.size;
  const taken = inOrder.filter(({ id }) => {
    if (id !== null && others.has(id)) return true;
    room -= 1;
    return room >= 0;
  });
  return { taken, isAllTaken: taken.length === wanted.length };
}

/** The ids of groups; those that do not exist are made while there is room for them. */
async function makeMissing(
  { models }: Database,
  groups: readonly Named[],
  source: string,
  transaction: Transaction,
): Promise<string[]> {
  const ids = groups.flatMap(({ id }) => (id === null ? [] : [id]));
  const missing = groups.filter(({ id }) => id === null);
  if (missing.length === 0) return ids;
  const room = GROUPS_MAX - (await models.Group.count({ transaction }));
  for (const { name } of missing.slice(0, Math.max(0, room))) {
    const made = await models.Group.create({ name, provider: source }, { transaction });
    ids.push(made.id);
  }
  return ids;
}

/** What the entries of the configuration say of groups; each as `oidc/okta`. */
export interface StandingProviders {
  readonly all: readonly string[];
  /** The entries that name groups. */
  readonly naming: readonly string[];
  /** The entries with a group of administrators. */
  readonly administering: readonly string[];
}

/**
 * Removes what providers said that say nothing of groups any more: memberships, and the role of an
 * administrator; groups stay. The scope of the configuration must be locked.
 */
export async function forgetGroupsOfOthers(
  database: Database,
  { all, naming, administering }: StandingProviders,
  transaction: Transaction,
): Promise<void> {
  const { Group, GroupMembership } = database.models;
  const memberships = await sourcesIn(database, 'group_memberships', 'source', transaction);
  for (const source of without(memberships, [MANUAL, ...naming]))
    for (let removed = BULK_ROWS_MAX; removed === BULK_ROWS_MAX;) {
      const rows = await GroupMembership.findAll({
        attributes: ['id'],
        where: { source },
        limit: BULK_ROWS_MAX,
        transaction,
      });
      removed = await GroupMembership.destroy({
        where: { id: rows.map(({ id }) => id) },
        transaction,
      });
    }
  const makers = await sourcesIn(database, 'user_groups', 'provider', transaction);
  const goneMakers = without(makers, all);
  if (goneMakers.length > 0)
    await Group.update({ provider: null }, { where: { provider: goneMakers }, transaction });
  await withdrawRoles(
    database,
    without(await sourcesIn(database, 'users', 'role_provider', transaction), administering),
    transaction,
  );
}

/** The providers that a column names. */
async function sourcesIn(
  { sequelize }: Database,
  table: string,
  column: string,
  transaction: Transaction,
): Promise<string[]> {
  const rows = await sequelize.query<{ source: string }>(
    `SELECT DISTINCT ${column} AS source FROM ${table} WHERE ${column} IS NOT NULL`,
    plainSelect(transaction),
  );
  return rows.map(({ source }) => source);
}

function without(sources: readonly string[], standing: readonly string[]): string[] {
  return sources.filter((source) => !standing.includes(source));
}

/** For how many accounts of an entry the groups could not be taken. */
export interface GroupsErrors {
  readonly kind: ProviderKind;
  readonly provider_id: string;
  readonly problem: GroupsError;
  readonly accounts: number;
}

/** Counts the accounts whose groups are not those that their providers mean. */
export async function countGroupsErrors({ sequelize }: Database): Promise<GroupsErrors[]> {
  const rows = await sequelize.query<GroupsErrors>(
    `SELECT kind, provider_id, groups_problem AS problem, COUNT(*) AS accounts FROM identities
     WHERE groups_problem IS NOT NULL
     GROUP BY kind, provider_id, groups_problem ORDER BY kind, provider_id, groups_problem`,
    plainSelect(),
  );
  return rows.map((row) => ({ ...row, accounts: Number(row.accounts) }));
}
