// The operations that all kinds of records have: list, make, show, change and delete.
// docs/api.md#operations.

import type Joi from 'joi';
import type { Mode, Validator } from '../validation/validate.ts';
import type { Collection, Filters, Selected } from '../records/collection.ts';
import { type Body, type Operation, type Param, type Query, read, write } from './operation.ts';
import { recordPlace } from './places.ts';

/** Records of one kind, as requests and answers hold them. */
export interface RecordKind<Values> {
  /** In paths, and the tag: `rules`. */
  readonly name: string;
  /** In bodies: `rule`. */
  readonly wrapper: string;
  /** The name of the schemas: `Rule`. */
  readonly title: string;
  readonly fields: Joi.ObjectSchema;
  readonly validate: Validator<Values>;
  readonly filters: Filters<Selected>;
  /** What names a record in paths. */
  readonly params: Readonly<Record<'id', Param>>;
  /** What a caller who makes or changes a record may say beside it. */
  readonly insistence?: Query<{ readonly force: boolean }>;
  /** Whether dry runs may try to make, change and delete one. */
  readonly isTriable?: boolean;
}

/** The operations of a kind of records; `roomOf`: which room has them. */
export function recordOperations<Rooms, Values>(
  kind: RecordKind<Values>,
  roomOf: (rooms: Rooms) => Collection<Values>,
): Operation<Rooms>[] {
  const { name, wrapper, title, fields, filters, params, insistence, isTriable = false } = kind;
  const all = { path: `/v0/${name}`, tag: name };
  const one = { path: `/v0/${name}/{id}`, tag: name, params };
  const noun = wrapper.replaceAll('_', ' ');
  const answer = { title, fields };
  const writes = { scopes: [], isTriable, ...(insistence && { query: insistence }) } as const;
  const body = (mode: Mode): Body<Values> => ({
    wrapper,
    title,
    fields,
    validate: kind.validate,
    mode,
  });
  const idOf = (names: Readonly<Record<string, string>>): string => names['id'] ?? '';
  return [
    {
      ...all,
      kind: 'list',
      id: `list${title}s`,
      method: 'GET',
      scopes: ['read'],
      summary: `List ${name.replaceAll('_', ' ')}`,
      filters,
      answer: { ...answer, description: 'The records.' },
      listed: roomOf,
    },
    write<Rooms, Values, { readonly force?: boolean }>({
      ...all,
      ...writes,
      ...recordPlace('create', name, title),
      summary: `Make a ${noun}`,
      body: body('create'),
      answer: { ...answer, description: 'The record.' },
      locationOf: ({ id }) => `${all.path}/${String(id)}`,
      run: (rooms, caller, input) => roomOf(rooms).create(caller, input.body, input.query.force),
    }),
    read<Rooms>({
      ...one,
      id: `show${title}`,
      method: 'GET',
      scopes: ['read'],
      summary: `Show a ${noun}`,
      answer: { ...answer, description: 'The record.' },
      run: (rooms, _caller, input) => roomOf(rooms).show(idOf(input.params)),
    }),
    write<Rooms, Values, { readonly force?: boolean }>({
      ...one,
      ...writes,
      ...recordPlace('update', name, title),
      summary: `Change a ${noun}`,
      description: 'What is not sent stays as it is. PATCH and PUT are one operation.',
      body: body('update'),
      answer: { ...answer, description: 'The whole record.' },
      run: (rooms, caller, input) =>
        roomOf(rooms).update(caller, idOf(input.params), input.body, input.query.force),
    }),
    write<Rooms>({
      ...one,
      ...recordPlace('delete', name, title),
      scopes: [],
      isTriable,
      summary: `Delete a ${noun}`,
      answer: null,
      run: async (rooms, caller, input) => {
        await roomOf(rooms).remove(caller, idOf(input.params));
        return null;
      },
    }),
  ];
}
