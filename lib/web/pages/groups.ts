// Groups in the console: their list, a page for each with its members, and forms that add, change
// and delete them. docs/api.md#groups.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import {
  countMembers,
  countRules,
  type Database,
  type Group,
  MANUAL,
  readMembers,
  readUsers,
} from '../../../models/index.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { errorLine } from '../kit/attempt.ts';
import { formView, inputOf, type Section, type Typed, typedFrom, typedIn } from '../kit/form.ts';
import { takesLongForm, textOf } from '../kit/form-token.ts';
import { adminPage } from '../kit/route.ts';
import { act, performs, saveForm } from '../kit/save.ts';
import { inOrder } from '../../kit/records/in-order.ts';
import { pageById, queryText, SEARCH_CHARACTERS_MAX } from '../kit/searched.ts';
import { changedMeanwhile, seenOf } from '../kit/seen.ts';
import { askedIn, findPage, sendFile, type TablePlan } from '../kit/table-page.ts';
import type { Web } from '../kit/web.ts';
import { counted } from '../kit/words.ts';
import { historyView } from '../parts/history-view.ts';
import {
  addedWords,
  forced,
  invitation,
  memberErrors,
  membersForm,
  namesIn,
  unknownErrors,
  type WayButton,
  waysAround,
} from '../parts/new-members.ts';
import { OFFERED_GROUPS, OFFERED_PEOPLE, offeredGroups, offeredPeople } from '../parts/owners.ts';
import { type NameOfProvider, providerNames } from '../parts/provider-names.ts';

const GROUPS = '/users/groups';
const ONE = `${GROUPS}/{id}`;

const plan: TablePlan = {
  table: 'user_groups',
  path: GROUPS,
  states: {
    by_provider: 'Members by a provider',
    manual: 'Members by administrators alone',
    empty: 'Without members',
  },
};

const FILE_HEAD = ['id', 'name', 'description', 'provider', 'members', 'rules'];

const groupForm: readonly Section[] = [
  {
    fields: [
      { name: 'name', label: 'Name', help: 'For example: Engineering.', isRequired: true },
      { name: 'description', label: 'Description', help: 'What it is for.' },
    ],
  },
];

/** The routes of groups. */
export function groupPages(web: Web): ServerRoute[] {
  const { database } = web.services;
  return [
    adminPage('GET', GROUPS, (request, h) => showGroups(web, request, h)),
    adminPage('GET', `${GROUPS}.csv`, (request, h) =>
      sendFile(h, 'groups', database, plan, askedIn(request, plan), FILE_HEAD, async (ids) =>
        (await readTable(database, ids)).map(fileLine),
      ),
    ),
    adminPage('GET', `${GROUPS}/new`, (request, h) =>
      showNew(web, request, h, typedFrom({}, groupForm)),
    ),
    adminPage('GET', OFFERED_PEOPLE, async (request, h) =>
      h.response({ offers: await offeredPeople(database, typedSoFar(request)) }),
    ),
    adminPage('GET', OFFERED_GROUPS, async (request, h) =>
      h.response({ offers: await offeredGroups(database, typedSoFar(request)) }),
    ),
    adminPage('POST', `${GROUPS}/new`, (request, h) => create(web, request, h)),
    adminPage('GET', ONE, async (request, h) =>
      showGroup(web, request, h, await web.rooms.groups.find(idOf(request))),
    ),
    adminPage('POST', ONE, (request, h) => change(web, request, h)),
    adminPage('POST', `${ONE}/members`, (request, h) => addMembers(web, request, h), {
      payload: takesLongForm,
    }),
    adminPage('POST', `${ONE}/remove_member`, async (request, h) => {
      const nameOf = await providerNames(web);
      return act(web, request, h, {
        asked: 'Remove the member',
        // Not by the operation, which does not answer which provider still makes the user a member.
        write: ({ members }) =>
          members.remove(callerOf(request), idOf(request), textOf(request, 'user')),
        back: `${GROUPS}/${idOf(request)}`,
        done: (sources) => removedWords(sourceWords(sources, nameOf)),
        failed: (errors) => errorLine(errors, 'remove'),
      });
    }),
    adminPage('POST', `${ONE}/delete`, (request, h) =>
      act(web, request, h, {
        asked: 'Delete the group',
        write: performs(callerOf(request), 'deleteGroup', { params: { id: idOf(request) } }),
        back: `${GROUPS}/${idOf(request)}`,
        to: GROUPS,
        done: () => 'The group is deleted, with its rules.',
      }),
    ),
  ];
}

async function showGroups(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database } = web.services;
  const found = await findPage(database, request, plan);
  const nameOf = await providerNames(web);
  return web.pages.show(request, h, 'groups', {
    title: 'Groups',
    finder: found.view,
    list: (await readTable(database, found.ids)).map(({ group, members, rules }) => [
      {
        text: group.name,
        href: `${GROUPS}/${group.id}`,
        below: group.description,
        help: group.provider === null ? '' : `made by ${nameOf(group.provider)}`,
      },
      { text: counted(members, 'member'), href: `/users?group=${group.id}` },
      { text: counted(rules, 'rule'), href: `/rules?group=${group.id}` },
    ]),
    ids: found.ids,
  });
}

interface CountedGroup {
  readonly group: Group;
  readonly members: number;
  readonly rules: number;
}

async function readTable(database: Database, ids: readonly string[]): Promise<CountedGroup[]> {
  if (ids.length === 0) return [];
  const rows = await database.models.Group.findAll({ where: { id: [...ids] } });
  const [members, rules] = [await countMembers(database, ids), await countRules(database, ids)];
  return inOrder(ids, rows).map((group) => ({
    group,
    members: members.get(group.id) ?? 0,
    rules: rules.get(group.id) ?? 0,
  }));
}

function fileLine({ group, members, rules }: CountedGroup): (string | number | null)[] {
  return [group.id, group.name, group.description, group.provider, members, rules];
}

/** What is shown of a group beside itself: what was typed and refused. */
interface Refused {
  readonly group?: { readonly typed: Typed; readonly errors: FormErrors };
  readonly members?: {
    readonly typed: Typed;
    readonly errors: FormErrors;
    readonly others: readonly WayButton[];
  };
}

async function showGroup(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  group: Group,
  refused: Refused = {},
): Promise<ResponseObject> {
  const { database } = web.services;
  const here = `${GROUPS}/${group.id}`;
  const { records, pages } = await pageById(request, here, (afterId, limit) =>
    readMembers(database, group.id, { afterId, limit }),
  );
  const people = await readUsers(database, { ids: records.map(({ id }) => id) });
  const names = new Map(people.map(({ id, name }) => [id, name]));
  const nameOf = await providerNames(web);
  return web.pages.show(request, h, 'group', {
    title: group.name,
    scripts: ['history.js', 'combobox.js'],
    history: await historyView(web, request, here, { kind: 'group', id: group.id }),
    group: {
      id: group.id,
      name: group.name,
      description: group.description,
      provider: group.provider === null ? null : nameOf(group.provider),
    },
    rules: await database.models.Rule.count({ where: { group_id: group.id } }),
    members: records.map(({ id, email, sources }) => ({
      id,
      email,
      name: names.get(id) ?? null,
      isManual: sources.includes(MANUAL),
      keptBy: sourceWords(
        sources.filter((source) => source !== MANUAL),
        nameOf,
      ),
      source: sourceWords(sources, nameOf),
    })),
    pages,
    addForm: formView(membersForm, refused.members?.typed ?? typedFrom({}, membersForm), {
      action: `${here}/members`,
      submit: 'Add members',
      errors: refused.members?.errors ?? {},
    }),
    addOthers: refused.members?.others ?? [],
    form: formView(groupForm, refused.group?.typed ?? typedFrom(group, groupForm), {
      action: here,
      submit: 'Save',
      seen: seenOf(typedFrom(group, groupForm)),
      errors: refused.group?.errors ?? {},
    }),
  });
}

function showNew(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  typed: Typed,
  errors: FormErrors = {},
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'group-new', {
    title: 'Add a group',
    form: formView(groupForm, typed, {
      action: `${GROUPS}/new`,
      submit: 'Add the group',
      cancel: GROUPS,
      errors,
    }),
  });
}

function create(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const typed = typedIn(request, groupForm);
  return saveForm(web, request, h, {
    write: performs(callerOf(request), 'createGroup', { record: inputOf(typed, groupForm) }),
    again: (errors) => showNew(web, request, h, typed, errors),
    done: ({ id }) => ({
      said: 'The group is added. Now add its members.',
      to: `${GROUPS}/${String(id)}`,
    }),
  });
}

async function change(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const group = await web.rooms.groups.find(idOf(request));
  const typed = typedIn(request, groupForm);
  const present = typedFrom(group, groupForm);
  return saveForm(web, request, h, {
    refused: changedMeanwhile(request, { typed, present }, groupForm),
    write: performs(callerOf(request), 'updateGroup', {
      params: { id: group.id },
      record: inputOf(typed, groupForm),
    }),
    again: (errors) => showGroup(web, request, h, group, { group: { typed, errors } }),
    done: () => ({ said: 'The changes are saved.', to: `${GROUPS}/${group.id}` }),
  });
}

async function addMembers(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const group = await web.rooms.groups.find(idOf(request));
  const here = `${GROUPS}/${group.id}`;
  const typed = typedIn(request, membersForm);
  const pressed = textOf(request, 'do');
  const ways = pressed.split(' ');
  const names = await web.rooms.members.known(namesIn(typed));
  const { known, unknown } = names;
  const toInvite = ways.includes('invite') ? invitation(group, unknown) : null;
  if (toInvite !== null && known.length === 0) return web.pages.redirect(h, toInvite);
  const again = (errors: FormErrors, others: readonly WayButton[]) =>
    showGroup(web, request, h, group, { members: { typed, errors, others } });
  if (unknown.length > 0 && !ways.includes('known'))
    return (await again(unknownErrors(typed, unknown), waysAround(group, names))).code(422);
  return saveForm(web, request, h, {
    asked: { label: 'Add the members', back: here },
    write: performs(callerOf(request), 'changeGroupMembers', {
      params: { id: group.id },
      ...(ways.includes('force') && { query: { force: 'true' } }),
      record: { add: known },
    }),
    again: (errors) =>
      // Policy tests alone say something that is about no field.
      again(memberErrors(errors, typed), errors['base'] === undefined ? [] : [forced(pressed)]),
    done: ({ added }) => ({
      said: addedWords(Number(added), toInvite === null ? unknown : []),
      to: toInvite ?? here,
    }),
  });
}

/** What became of a user who was removed; `sources` still say that they are a member. */
function removedWords(sources: string): string {
  return sources === ''
    ? 'The user is no member any more.'
    : `The user stays a member because of ${sources} alone.`;
}

/** Who says that a user is a member. */
function sourceWords(sources: readonly string[], nameOf: NameOfProvider): string {
  return sources
    .map((source) => (source === MANUAL ? 'an administrator' : nameOf(source)))
    .join(', ');
}

function typedSoFar(request: Request): string {
  return queryText(request, 'q').slice(0, SEARCH_CHARACTERS_MAX);
}

function idOf(request: Request): string {
  return String(request.params['id']);
}
