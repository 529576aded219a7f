// The lists of groups, and of the members of one.

import { readGroups, readMembers } from '../../models/index.ts';
import { showGroup } from '../domain/groups/groups.ts';
import { showMember } from '../domain/groups/members.ts';
import { findGroup, findUser } from './finds.ts';
import type { CommandName } from './grammar.ts';
import type { Command, Given, Outcome, Run } from './run.ts';
import { listed } from './screen.ts';

/** The commands. */
export const groupCommands: Partial<Record<CommandName, Run>> = {
  'group list': listGroups,
  'group members': listMembers,
};

async function listGroups({ database }: Given, { options: { email } }: Command): Promise<Outcome> {
  const member = email === undefined ? null : await findUser(database, email);
  const groups = await readGroups(database, member === null ? {} : { memberId: member.id });
  const rows = groups.map(({ id, name, description }) => [id, name, description ?? '']);
  return {
    ...listed(
      [
        ['id', 'id'],
        ['name', 'text'],
        ['description', 'text'],
      ],
      rows,
    ),
    data: groups.map(showGroup),
  };
}

async function listMembers(
  { database }: Given,
  { options: { group: named = '' } }: Command,
): Promise<Outcome> {
  const group = await findGroup(database, named);
  const members = await readMembers(database, group.id, {});
  const rows = members.map(({ id, email, sources }) => [id, email, sources.join(', ')]);
  return {
    ...listed(
      [
        ['id', 'id'],
        ['e-mail', 'text'],
        ['source', 'text'],
      ],
      rows,
    ),
    data: members.map(showMember),
  };
}
