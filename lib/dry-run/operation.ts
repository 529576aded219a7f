// What is asked to be tried: an operation of the API by its method, its path and its body, judged
// as that operation judges them. docs/api.md#what-a-write-would-do.

import { type DeviceContext, Devices } from '../devices/devices.ts';
import { Groups, judgeGroup, showGroup } from '../groups/groups.ts';
import { judgeMembers, Members } from '../groups/members.ts';
import { ApiError } from '../http/errors.ts';
import { choice, joi, mark, resource, text } from '../judge/fields.ts';
import { addFault, isFaultless, isObject, type Judged, judgeOf } from '../judge/judge.ts';
import { messages } from '../judge/messages.ts';
import type { Caller } from '../process/caller.ts';
import type { Collection } from '../records/collection.ts';
import type { Shown } from '../records/shown.ts';
import { refusalFor } from '../records/writes.ts';
import { Rules } from '../rules/rules.ts';
import { type UserContext, Users } from '../users/users.ts';

/** The methods of operations that can be tried. */
const METHODS = ['POST', 'PATCH', 'PUT', 'DELETE'] as const;

/** What may be sent. */
export const operationFields = resource({
  method: choice('The method of the operation.', ...METHODS).required(),
  path: mark(
    text(
      'Its path: that of rules, devices, users or groups, of one of them, or of the members of a group.',
    ).required(),
    {
      json: {
        pattern: '^/v0/((rules|devices|users|groups)(/[^/?#]+)?|groups/[^/?#]+/members)$',
      },
    },
  ),
  body: joi
    .object()
    .unknown()
    .allow(null)
    .description('Its body, with the wrapper; DELETE has none.'),
});

/** What was sent. */
export interface OperationValues {
  readonly method?: (typeof METHODS)[number];
  readonly path?: string;
  readonly body?: object | null;
}

/** An operation that may be tried. */
export interface Operation {
  readonly method: (typeof METHODS)[number];
  readonly collection: 'rules' | 'devices' | 'users' | 'groups' | 'members';
  /** The record, or the group whose members change; null: it makes a new record. */
  readonly id: string | null;
  readonly body: object;
}

/** Judges the form of what was sent. */
export const judgeOperation = judgeOf<OperationValues>(operationFields);

const PATH = /^\/v0\/(rules|devices|users|groups)(?:\/([^/?#]+))?$/;
const MEMBERS_PATH = /^\/v0\/groups\/([^/?#]+)\/members$/;

/** Reads what was sent; throws its faults. */
export function readOperation({ values, faults }: Judged<OperationValues>): Operation {
  const { method = 'POST', path = '', body } = values;
  const [, ofMembers = null] = MEMBERS_PATH.exec(path) ?? [];
  const [, name = ofMembers === null ? undefined : 'members', id = ofMembers] =
    PATH.exec(path) ?? [];
  if (faults['path'] === undefined && faults['method'] === undefined) {
    if (name === undefined) addFault(faults, 'path', messages.notTriable);
    else if (ofMembers !== null) {
      if (method !== 'POST') addFault(faults, 'method', messages.onlyPost);
    } else if (method === 'POST' && id !== null) addFault(faults, 'path', messages.idTooMuch);
    else if (method !== 'POST' && id === null) addFault(faults, 'path', messages.idMissing);
  }
  if (!isFaultless(faults)) throw refusalFor(faults);
  return {
    method,
    collection: name as Operation['collection'],
    id: id === null ? null : decoded(id),
    body: body ?? {},
  };
}

/** An id that is badly encoded is one that nobody has. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return '';
  }
}

/** Whose operation is run, and whether they insist on it though policy tests fail then. */
interface Asked {
  readonly caller: Caller;
  readonly force: boolean;
}

/** Runs an operation as its route does; returns the record, null where it was removed. */
export function operate(
  context: DeviceContext & UserContext,
  asked: Asked,
  operation: Operation,
): Promise<Shown | null> {
  switch (operation.collection) {
    case 'rules':
      return operateOn(new Rules(context), asked, operation);
    case 'devices':
      return operateOn(new Devices(context), asked, operation);
    case 'users':
      return operateOn(new Users(context), asked, operation);
    case 'groups':
      return operateOnGroups(new Groups(context), asked, operation);
    case 'members':
      return changeMembers(new Members(context), asked, operation);
  }
}

async function operateOnGroups(
  groups: Groups,
  { caller }: Asked,
  { method, id, body }: Operation,
): Promise<Shown | null> {
  if (method === 'DELETE') {
    await groups.remove(caller, id ?? '');
    return null;
  }
  const record = recordIn(body, 'group');
  return showGroup(
    id === null
      ? await groups.create(caller, judgeGroup(record, 'create'))
      : await groups.update(caller, id, judgeGroup(record, 'update')),
  );
}

async function changeMembers(
  members: Members,
  { caller, force }: Asked,
  { id, body }: Operation,
): Promise<Shown> {
  const input = judgeMembers(recordIn(body, 'members'), 'update');
  return { ...(await members.change(caller, id ?? '', input, force)) };
}

async function operateOn<Values>(
  collection: Collection<Values>,
  { caller, force }: Asked,
  { method, id, body }: Operation,
): Promise<Shown | null> {
  const { wrapper, judge } = collection;
  if (method === 'DELETE') {
    await collection.remove(caller, id ?? '');
    return null;
  }
  const record = recordIn(body, wrapper);
  if (id === null) return collection.create(caller, judge(record, 'create'), force);
  return collection.update(caller, id, judge(record, 'update'), force);
}

function recordIn(body: object, wrapper: string): object {
  const record: unknown = Object.hasOwn(body, wrapper)
    ? (body as Record<string, unknown>)[wrapper]
    : undefined;
  if (isObject(record)) return record;
  throw new ApiError('missing_wrapper', { faults: { [wrapper]: [messages.blank] } });
}
