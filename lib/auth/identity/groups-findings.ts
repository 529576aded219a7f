// Groups that could not be taken from a provider, in words for administrators: on the dashboard,
// for the doctor, and after a test sign-in. Known are one word for each account, from its last
// sign-in or refresh, and the groups to which the entries lead.

import {
  countGroupsErrors,
  type Database,
  GROUPS_MAX,
  GROUPS_OF_USER_MAX,
  type GroupsError,
  type GroupsSaid,
  readGroupNames,
} from '../../../models/index.ts';
import { bad, doubtful, type Finding, good } from './finding.ts';
import { NAMES_BYTES_MAX, NAMES_MAX } from './groups.ts';
import { methodOf } from './method.ts';
import { entriesOf, type ProviderLists, standingProviders } from './standing-providers.ts';

/** One finding about groups. */
export interface GroupsFinding {
  readonly text: string;
  readonly fix: string;
}

const WORDS: Readonly<Record<GroupsError, { what: string; fix: string }>> = {
  overage: {
    what: 'the provider has more groups of the person than it sends (Entra does so from 201 on, 151 with SAML)',
    fix: 'In Entra, let the groups claim hold the groups that are assigned to the application, or use app roles.',
  },
  unreadable: {
    what: 'what should name the groups is no text, no list of texts, and no object that has only objects in it',
    fix: 'Test sign-in, on the page of the provider, shows what it sends; name another claim, or change it at the provider.',
  },
  too_many_names: {
    what: `there are more than ${NAMES_MAX} names of groups, or more than ${NAMES_BYTES_MAX} bytes of them`,
    fix: 'Let the provider send only the groups that this gateway needs.',
  },
  left_out: {
    what: `a user is in at most ${GROUPS_OF_USER_MAX} groups, and there are at most ${GROUPS_MAX}; the others were left out`,
    fix: 'Map fewer groups of the provider, or remove the user from groups here.',
  },
};

/** What is wrong with the groups of the entries. */
export async function groupsFindings(
  database: Database,
  lists: ProviderLists,
): Promise<GroupsFinding[]> {
  const naming = new Set(standingProviders(lists).naming);
  if (naming.size === 0) return [];
  const left = (await countGroupsErrors(database))
    .map(({ kind, provider_id, ...counted }) => ({ name: methodOf(kind, provider_id), ...counted }))
    .filter(({ name }) => naming.has(name))
    .map(({ name, problem, accounts }) => {
      const { what, fix } = WORDS[problem];
      const whose = accounts === 1 ? '1 account' : `${accounts} accounts`;
      const stays = problem === 'left_out' ? '' : ' Their groups stay as they were.';
      return {
        text: `The groups of ${whose} were not taken from the provider ${name}: ${what}.${stays}`,
        fix,
      };
    });
  return [...left, ...(await absentTargets(database, lists))];
}

/** Groups to which entries lead, that do not exist and that no sign-in makes. */
async function absentTargets(database: Database, lists: ProviderLists): Promise<GroupsFinding[]> {
  const entries = entriesOf(lists).filter(({ entry }) => entry.groups_create !== true);
  const targetsOf = (map: Readonly<Record<string, string>> = {}) => [
    ...new Set(Object.values(map)),
  ];
  const wanted = new Set(entries.flatMap(({ entry }) => targetsOf(entry.groups_map)));
  const present = await readGroupNames(database, [...wanted]);
  return entries.flatMap(({ name, entry }): GroupsFinding[] => {
    const absent = targetsOf(entry.groups_map).filter((target) => !present.has(target));
    const [first] = absent;
    if (first === undefined) return [];
    const others = absent.length === 1 ? '' : `, and ${absent.length - 1} more`;
    return [
      {
        text: `groups_map of the provider ${name} leads to a group that is not there: ${first}${others}. Nobody becomes a member of it.`,
        fix: 'Make the group, correct its name in groups_map, or let the entry make groups that are not there (groups_create).',
      },
    ];
  });
}

/** What a test sign-in found of groups; nothing where the entry does not ask. */
export function findGroups(where: string | undefined, said: GroupsSaid | undefined): Finding[] {
  if (where === undefined || said === undefined) return [];
  if ('problem' in said) {
    const { what, fix } = WORDS[said.problem];
    return [bad(`Groups are not taken from ${where}: ${what}. ${fix}`)];
  }
  const { length } = said.names;
  if (length === 0)
    return [
      doubtful(`There is nothing in ${where}: such a person is in no group of this provider.`),
    ];
  const many = length === 1 ? 'one group' : `${length} groups`;
  return [good(`The provider names ${many} in ${where}.`)];
}
