// Users and groups by a part of their names or e-mails, for fields in which people type them.

import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';
import { holdsText } from './search.ts';

/** A user by e-mail, or a group by name. */
export interface UserOrGroup {
  readonly kind: 'user' | 'group';
  readonly id: string;
  readonly name: string;
  /** The name that a user has beside the e-mail; null for none, and for groups. */
  readonly person: string | null;
}

interface Found {
  readonly id: string;
  readonly name: string;
  readonly person: string | null;
  readonly place: number;
}

/** The place of who matches by another column alone: after every e-mail, none being that long. */
const ELSEWHERE = 1_000;

/**
 * Finds some; those whose names begin with the text are first. The names that users have beside
 * their e-mails are chosen by themselves, so they come last and push nobody off the list.
 */
export async function findUsersAndGroups(
  database: Database,
  text: string,
  limit: number,
): Promise<UserOrGroup[]> {
  const [groups, users] = await Promise.all([
    readNamed(database, GROUPS, text, limit),
    readNamed(database, PEOPLE, text, limit),
  ]);
  return [
    ...groups.map((row) => ({ ...row, kind: 'group' as const })),
    ...users.map((row) => ({ ...row, kind: 'user' as const })),
  ]
    .toSorted((a, b) => a.place - b.place)
    .slice(0, limit)
    .map(({ kind, id, name, person }) => ({ kind, id, name, person }));
}

/** Finds some users, in that order. */
export async function findPeople(
  database: Database,
  text: string,
  limit: number,
): Promise<{ readonly email: string; readonly name: string | null }[]> {
  const found = await readNamed(database, PEOPLE, text, limit);
  return found.map(({ name, person }) => ({ email: name, name: person }));
}

/** Finds some groups, in that order. */
export async function findGroups(
  database: Database,
  text: string,
  limit: number,
): Promise<{ readonly id: string; readonly name: string }[]> {
  const found = await readNamed(database, GROUPS, text, limit);
  return found.map(({ id, name }) => ({ id, name }));
}

const GROUPS = { table: 'user_groups', name: 'name', person: null } as const;
const PEOPLE = { table: 'users', name: 'email', person: 'name' } as const;

function readNamed(
  database: Database,
  { table, name, person }: { table: string; name: string; person: string | null },
  text: string,
  limit: number,
): Promise<Found[]> {
  const columns = person === null ? [name] : [name, person];
  return database.sequelize.query<Found>(
    `SELECT id, ${name} AS name, ${person ?? 'NULL'} AS person, ${placeIn(name)} AS place
     FROM ${table} WHERE ${columns.map(holdsText).join(' OR ')}
     ORDER BY place, ${name}, id LIMIT :limit`,
    {
      ...plainSelect(),
      replacements: { text, lower: text.toLowerCase(), limit, elsewhere: ELSEWHERE },
    },
  );
}

/** Where a column holds the text, as `holdsText` looks for it. */
function placeIn(column: string): string {
  const places = [`INSTR(LOWER(${column}), :lower)`, `INSTR(${column}, :text)`];
  return `COALESCE(${places.map((place) => `NULLIF(${place}, 0)`).join(', ')}, :elsewhere)`;
}
