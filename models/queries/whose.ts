// Users and groups by a part of their names, for a field in which people type whose a rule is.

import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';

/** A user by e-mail, or a group by name. */
export interface UserOrGroup {
  readonly kind: 'user' | 'group';
  readonly id: string;
  readonly name: string;
}

/** Finds some; those whose names begin with the text are first. */
export async function findUsersAndGroups(
  database: Database,
  text: string,
  limit: number,
): Promise<UserOrGroup[]> {
  const values = { text, lower: text.toLowerCase(), limit };
  const read = (table: string, name: string) =>
    database.sequelize.query<{ id: string; name: string; place: number }>(
      `SELECT id, ${name} AS name, INSTR(LOWER(${name}), :lower) AS place FROM ${table}
       WHERE INSTR(${name}, :text) > 0 OR INSTR(LOWER(${name}), :lower) > 0
       ORDER BY place, ${name}, id LIMIT :limit`,
      { ...plainSelect(), replacements: values },
    );
  const [groups, users] = await Promise.all([read('user_groups', 'name'), read('users', 'email')]);
  return [
    ...groups.map((row) => ({ ...row, kind: 'group' as const })),
    ...users.map((row) => ({ ...row, kind: 'user' as const })),
  ]
    .toSorted((a, b) => a.place - b.place)
    .slice(0, limit)
    .map(({ kind, id, name }) => ({ kind, id, name }));
}
