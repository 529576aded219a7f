// How a page writes: `saveForm` for a form, `act` for a button. Both perform a write in the rooms
// of the server; if it would end something, the page asks first. The page has the words and the
// views.

import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { Errors } from '../../kit/validation/validate.ts';
import { writeNamed } from '../../kit/operations/find.ts';
import { perform } from '../../kit/operations/perform.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { Shown } from '../../kit/records/shown.ts';
import { operations } from '../../rooms.ts';
import { type Asked, askFirst, isBack, type RoomWrite } from '../parts/effect.ts';
import type { FlashKind } from './answers.ts';
import { attempt, errorLine } from './attempt.ts';
import type { FormErrors } from './plain-words.ts';
import { undoPath } from './undo.ts';
import type { Web } from './web.ts';

/** The input that a page gives to an operation. */
export interface Sending {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** The record, without its wrapper. */
  readonly record?: object;
  /** Errors that the form finds beyond the rules of the operation. */
  readonly errors?: Errors;
}

/** The write that performs the operation with an id; it answers {} where nothing is left. */
export function performs(
  caller: Caller,
  id: string,
  { params = {}, query = {}, record = {}, errors = {} }: Sending,
): RoomWrite<Shown> {
  const operation = writeNamed(operations, id);
  const body = operation.body === undefined ? undefined : { [operation.body.wrapper]: record };
  const sent = { params, query: new URLSearchParams(query), body, errors };
  return async (rooms) => ((await perform(operation, rooms, caller, sent)) ?? {}) as Shown;
}

/** What is said when a write is done, and the page that says it. */
export interface Done {
  readonly said: string;
  readonly to: string;
  /** Left out: `done`. */
  readonly kind?: FlashKind;
}

/** A form that was sent. */
export interface SentForm<Result> {
  /** Errors because of which nothing is written and the operation is not asked; null: none. */
  readonly refused?: FormErrors | null;
  /** The question before the write, where it ends something; left out: nothing is asked. */
  readonly asked?: Asked;
  readonly write: RoomWrite<Result>;
  /** Shows the form again, with the errors of each field. */
  readonly again: (errors: FormErrors) => Promise<ResponseObject>;
  /**
   * What follows: a sentence on another page, or a page of its own for values that are shown once.
   */
  readonly done: (result: Result) => Done | Promise<Done | ResponseObject>;
}

/** Writes what a form sent, or shows the form again. */
export async function saveForm<Result>(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { refused = null, asked, write, again, done }: SentForm<Result>,
): Promise<ResponseObject> {
  if (refused !== null) return (await again(refused)).code(422);
  if (asked?.isForm === true && isBack(request)) return again({});
  const question = asked === undefined ? null : await askFirst(web, request, h, asked, write);
  if (question !== null) return question;
  const written = await attempt(() => write(web.rooms));
  if (written.errors !== null) return (await again(written.errors)).code(422);
  const next = await done(written.result);
  return 'said' in next ? tell(web, h, next, await undoPath(web, request)) : next;
}

/** A button that was pressed. */
export interface Button<Result> {
  /** The label of the question before the write; left out: nothing is asked. */
  readonly asked?: string;
  readonly write: RoomWrite<Result>;
  /** The page with the button. */
  readonly back: string;
  /** The page that follows; `back` where it is left out. */
  readonly to?: string;
  readonly done: (result: Result) => string;
  readonly failed?: (errors: Errors) => string;
}

/** Does what a button asks for, and says on the next page what came of it. */
export async function act<Result>(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { asked: label, write, back, to = back, done, failed = failedInWords }: Button<Result>,
): Promise<ResponseObject> {
  const question =
    label === undefined ? null : await askFirst(web, request, h, { label, back }, write);
  if (question !== null) return question;
  const written = await attempt(() => write(web.rooms));
  if (written.errors !== null)
    return tell(web, h, { said: failed(written.errors), to: back, kind: 'failed' });
  return tell(web, h, { said: done(written.result), to }, await undoPath(web, request));
}

function tell(
  web: Web,
  h: ResponseToolkit,
  { said, to, kind = 'done' }: Done,
  undo?: string,
): ResponseObject {
  web.pages.flash(h, kind, said, undo);
  return web.pages.redirect(h, to);
}

function failedInWords(errors: Errors): string {
  return `${errorLine(errors)}.`;
}
