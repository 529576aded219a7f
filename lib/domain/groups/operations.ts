// The operations on groups of users, and on their members. docs/api.md#groups.

import { groupNameOf } from '../../../models/index.ts';
import { schemaOfAnswer } from '../../kit/validation/answers.ts';
import { isUuid, resource, text } from '../../kit/validation/fields.ts';
import { messages } from '../../kit/validation/messages.ts';
import { validatorOf } from '../../kit/validation/validate.ts';
import { type AskedPage, idPageFields, idPages } from '../../kit/operations/id-pages.ts';
import {
  type Body,
  type Operation,
  type Param,
  queryOf,
  read,
  UUID_PARAM,
  write,
} from '../../kit/operations/operation.ts';
import { placed } from '../../kit/operations/places.ts';
import { insistence } from '../policy/guard.ts';
import { changedFields, memberFields } from './fields.ts';
import { type Groups, groupSchema, type GroupValues, showGroup, validateGroup } from './groups.ts';
import {
  type Members,
  membersSchema,
  type MembersSent,
  showMember,
  validateMembers,
} from './members.ts';

interface HasGroups {
  readonly groups: Groups;
}

interface HasMembers {
  readonly members: Members;
}

interface AskedGroups extends AskedPage {
  readonly user_id?: string;
  readonly name?: string;
}

const groupParameters = resource({
  user_id: text('Only groups that this user is in.'),
  name: text('Only the group of exactly this name.'),
  ...idPageFields,
});

const memberParameters = resource({ ...idPageFields });

const group = { title: 'Group', fields: groupSchema } as const;
const body: Omit<Body<GroupValues>, 'mode'> = {
  ...group,
  wrapper: 'group',
  validate: validateGroup,
};
const member = { title: 'GroupMember', fields: schemaOfAnswer(memberFields) } as const;
const all = { path: '/v0/groups', tag: 'groups' } as const;
const one = { path: '/v0/groups/{id}', tag: 'groups', params: UUID_PARAM } as const;
const ofGroup = { ...one, path: '/v0/groups/{id}/members' } as const;
const memberParams: Readonly<Record<string, Param>> = {
  ...UUID_PARAM,
  user: { description: 'The id or the e-mail of a user.', schema: { type: 'string' } },
};
const ofMember = { ...one, path: '/v0/groups/{id}/members/{user}', params: memberParams } as const;

/** The operations on groups. */
export const groupOperations: readonly Operation<HasGroups & HasMembers>[] = [
  idPages<HasGroups, AskedGroups>({
    ...all,
    id: 'listGroups',
    method: 'GET',
    scopes: ['read'],
    summary: 'List groups',
    description: 'In the order in which they were made.',
    query: queryOf(groupParameters, validatorOf<AskedGroups>(groupParameters)),
    answer: { ...group, description: 'A page.' },
    async page({ groups }, { query: { user_id: userId, name }, afterId, limit }) {
      if (userId !== undefined && !isUuid(userId)) return [];
      const found = await groups.page({
        afterId,
        limit,
        ...(name === undefined ? {} : { name: groupNameOf(name) }),
        ...(userId === undefined ? {} : { memberId: userId.toLowerCase() }),
      });
      return found.map(showGroup);
    },
  }),
  write<HasGroups, GroupValues>({
    ...all,
    ...placed('createGroup'),
    scopes: [],
    isTriable: true,
    summary: 'Make a group',
    body: { ...body, mode: 'create' },
    answer: { ...group, description: 'The group.' },
    locationOf: ({ id }) => `${all.path}/${String(id)}`,
    run: async ({ groups }, caller, input) => showGroup(await groups.create(caller, input.body)),
  }),
  read<HasGroups>({
    ...one,
    id: 'showGroup',
    method: 'GET',
    scopes: ['read'],
    summary: 'Show a group',
    answer: { ...group, description: 'The group.' },
    run: async ({ groups }, _caller, { params }) =>
      showGroup(await groups.find(params['id'] ?? '')),
  }),
  write<HasGroups, GroupValues>({
    ...one,
    ...placed('updateGroup'),
    scopes: [],
    isTriable: true,
    summary: 'Change a group',
    body: { ...body, mode: 'update' },
    answer: { ...group, description: 'The group.' },
    run: async ({ groups }, caller, input) =>
      showGroup(await groups.update(caller, input.params['id'] ?? '', input.body)),
  }),
  write<HasGroups>({
    ...one,
    ...placed('deleteGroup'),
    scopes: [],
    isTriable: true,
    summary: 'Remove a group with its memberships and its rules',
    answer: null,
    async run({ groups }, caller, { params }) {
      await groups.remove(caller, params['id'] ?? '');
      return null;
    },
  }),
  idPages<HasMembers>({
    ...ofGroup,
    id: 'listGroupMembers',
    method: 'GET',
    scopes: ['read'],
    summary: 'List the members of a group',
    description: 'In the order of their ids.',
    query: queryOf(memberParameters, validatorOf<AskedPage>(memberParameters)),
    answer: { ...member, description: 'A page.' },
    page: async ({ members }, { params, afterId, limit }) =>
      (await members.page(params['id'] ?? '', { afterId, limit })).map(showMember),
  }),
  write<HasMembers, MembersSent, { readonly force: boolean }>({
    ...ofGroup,
    ...placed('changeGroupMembers'),
    scopes: [],
    isTriable: true,
    summary: 'Add and remove members',
    description: 'All of them, or none.',
    query: insistence,
    body: {
      wrapper: 'members',
      expected: messages.membersShape,
      title: 'GroupMembers',
      fields: membersSchema,
      validate: validateMembers,
      mode: 'update',
    },
    answer: {
      title: 'GroupMembersChanged',
      fields: schemaOfAnswer(changedFields),
      description: 'How many were added and removed.',
    },
    run: async ({ members }, caller, input) => ({
      ...(await members.change(caller, input.params['id'] ?? '', input.body, input.query.force)),
    }),
  }),
  write<HasMembers, object, { readonly force: boolean }>({
    ...ofMember,
    id: 'addGroupMember',
    method: 'PUT',
    scopes: [],
    summary: 'Add a member',
    query: insistence,
    answer: { ...member, description: 'The member.' },
    run: async ({ members }, caller, { params: { id = '', user = '' }, query }) =>
      showMember(await members.add(caller, id, user, query.force)),
  }),
  write<HasMembers>({
    ...ofMember,
    id: 'removeGroupMember',
    method: 'DELETE',
    scopes: [],
    summary: 'Remove a member',
    answer: null,
    async run({ members }, caller, { params: { id = '', user = '' } }) {
      await members.remove(caller, id, user);
      return null;
    },
  }),
];
