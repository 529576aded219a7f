// The operations on groups and their members, as paths of the document. docs/api.md#groups.

import { groupSchema } from '../../groups/groups.ts';
import { membersSchema } from '../../groups/members.ts';
import { insistence } from '../../policy/guard.ts';
import { BODY_BYTES_MAX } from '../body.ts';
import { groupParameters, memberFields, memberParameters } from '../v0/groups.ts';
import {
  answer,
  answersOf,
  body,
  type Described,
  operation,
  parametersIn,
  READ,
  WRITE,
  written,
} from './operations.ts';
import { headerRefs, schemaRef } from './answers.ts';
import { list } from './paged-list.ts';
import { answerSchema, type Json, requestSchema } from './schemas.ts';

/** The schemas of what is sent and answered. */
export const groupSchemas: Json = {
  Group: answerSchema(groupSchema),
  GroupCreate: requestSchema(groupSchema, 'create'),
  GroupUpdate: requestSchema(groupSchema, 'update'),
  GroupMember: answerSchema(memberFields),
  GroupMembersUpdate: requestSchema(membersSchema, 'update'),
};

/** The paths. `common`: tags and ids of records of the whole installation. */
export function groupPaths(common: Omit<Described, 'wrapper' | 'title' | 'fields'>): Json {
  const group = { ...common, wrapper: 'group', title: 'Group', fields: groupSchema };
  const id = [{ name: 'id', in: 'path', required: true, ...common.id }];
  return {
    '/v0/groups': {
      get: list(group, ['Group', 'Groups'], groupParameters, {
        summary: 'List groups',
        description: 'In the order in which they were made.',
      }),
      post: operation(group, 'createGroup', {
        summary: 'Make a group',
        ...body(group, 'create', BODY_BYTES_MAX),
        responses: answersOf(
          {
            201: answer(
              'The group.',
              { data: schemaRef('Group') },
              { Location: 'Location', ...written },
            ),
          },
          WRITE,
        ),
      }),
    },
    '/v0/groups/{id}': groupPath(group, id),
    '/v0/groups/{id}/members': membersPath(group, id),
    '/v0/groups/{id}/members/{user}': memberPath(group, id),
  };
}

function groupPath(group: Described, id: Json[]): Json {
  const change = (name: string): Json =>
    operation(group, name, {
      summary: 'Change a group',
      ...body(group, 'update', BODY_BYTES_MAX),
      responses: answersOf({ 200: answer('The group.', { data: schemaRef('Group') }, written) }, [
        404,
        ...WRITE,
      ]),
    });
  return {
    parameters: id,
    get: operation(group, 'showGroup', {
      summary: 'Show a group',
      responses: answersOf({ 200: answer('The group.', { data: schemaRef('Group') }) }, [
        404,
        ...READ,
      ]),
    }),
    patch: change('updateGroup'),
    put: change('updateGroupByPut'),
    delete: operation(group, 'deleteGroup', {
      summary: 'Remove a group with its memberships and its rules',
      responses: answersOf({ 204: { description: 'It is gone.', headers: headerRefs(written) } }, [
        404,
        408,
        413,
        ...READ,
      ]),
    }),
  };
}

function membersPath(group: Described, id: Json[]): Json {
  const members = { ...group, wrapper: 'members', title: 'GroupMembers', fields: membersSchema };
  const counts = { added: { type: 'integer' }, removed: { type: 'integer' } };
  return {
    parameters: id,
    get: list(
      group,
      ['GroupMember', 'GroupMembers'],
      memberParameters,
      {
        summary: 'List the members of a group',
        description: 'In the order of their ids.',
      },
      [404],
    ),
    post: operation(group, 'changeGroupMembers', {
      summary: 'Add and remove members',
      description: 'All of them, or none.',
      parameters: parametersIn(Object.entries(insistence)),
      ...body(members, 'update', BODY_BYTES_MAX),
      responses: answersOf(
        {
          200: answer(
            'How many were added and removed.',
            { data: { type: 'object', properties: counts, required: ['added', 'removed'] } },
            written,
          ),
        },
        [404, ...WRITE],
      ),
    }),
  };
}

function memberPath(group: Described, id: Json[]): Json {
  const user = {
    name: 'user',
    in: 'path',
    required: true,
    description: 'The id or the e-mail of a user.',
    schema: { type: 'string' },
  };
  return {
    parameters: [...id, user],
    put: operation(group, 'addGroupMember', {
      summary: 'Add a member',
      parameters: parametersIn(Object.entries(insistence)),
      responses: answersOf(
        { 200: answer('The member.', { data: schemaRef('GroupMember') }, written) },
        [404, 408, 413, 422, ...READ],
      ),
    }),
    delete: operation(group, 'removeGroupMember', {
      summary: 'Remove a member',
      responses: answersOf(
        { 204: { description: 'The user is no member.', headers: headerRefs(written) } },
        [404, 408, 413, 422, ...READ],
      ),
    }),
  };
}
