// Lists as they are answered: a page of records with the address of the next one, or all of them.
// The text of a short list is remembered, because writing it out takes as long as reading it. A
// long one is never whole in memory: pages are read while the answer is sent, as fast as the client
// takes it. Pages follow one another by time and id, so no record comes twice, and none that was
// there throughout is missing. docs/api.md#lists.

import { Readable } from 'node:stream';
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { Selection } from '../../models/index.ts';
import { describeError, type Log } from '../process/log.ts';
import type { ListTurns } from './list-turns.ts';
import { nextPage, type Position, readListQuery } from './paging.ts';
import type { Listed, Narrow } from '../records/collection.ts';
import type { Recall } from '../records/recall.ts';
import type { Shown } from '../records/shown.ts';

/** Longer lists, in characters, are sent while they are read. */
export const SHORT_LIST_MAX = 4_000_000;
/** Records that are read at once for a list that is sent whole; all else waits for them. */
const RECORDS_AT_ONCE = 50;
/** How long a list is believed to be a long one; sending a short one so is slower, not wrong. */
const LONG_KEEP_MS = 60_000;

/** What listing needs of the server. */
export interface ListContext {
  readonly recall: Recall;
  readonly turns: ListTurns;
  readonly log: Log;
  /** The path that stands before ours in the addresses of the outside. */
  readonly outside: string;
}

/** The same with the id of the request at hand, for the log. */
interface AskedContext extends ListContext {
  readonly requestId: string;
}

/** Answers the list that a request asks for. */
export async function answerList(
  context: ListContext,
  listed: Listed,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const query = readListQuery(request.url.search, listed.filters);
  if (query.narrow === null) return h.response({ data: [] });
  if (query.page === null)
    return answerAll({ ...context, requestId: request.app.id }, listed, query.narrow, h);
  const { limit } = query.page;
  // One more record than asked for tells whether there is a next page.
  const records = await listed.list({ ...query.narrow, ...query.page, limit: limit + 1 });
  const data = records.slice(0, limit);
  const response = h.response({ data });
  const last = data.at(-1);
  if (records.length > limit && last !== undefined) {
    const address = `${context.outside}/v0/${listed.name}?${nextPage(query, positionOf(last))}`;
    response.header('link', `<${address}>; rel="next"`);
  }
  return response;
}

async function answerAll(
  context: AskedContext,
  listed: Listed,
  narrow: Narrow,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const isWhole = Object.keys(narrow).length === 0;
  const text = isWhole
    ? await recallText(context, listed)
    : await shortText(context, listed, narrow);
  const body = text ?? (await longText(context, listed, narrow));
  return h.response(body).type('application/json; charset=utf-8');
}

/** The text of the whole list; null for a long one. */
async function recallText(context: ListContext, listed: Listed): Promise<string | null> {
  const { name, sources, keepMs = Number.POSITIVE_INFINITY } = listed;
  const remembered = await context.recall.read<{ text: string | null }>(
    `list of ${name}`,
    async () => {
      const text = await shortText(context, listed, {});
      return text === null
        ? { value: { text }, sources: [], keepMs: LONG_KEEP_MS }
        : { value: { text }, sources, keepMs };
    },
  );
  return remembered?.text ?? null;
}

/** The text of a list; null, and read no further, when it is a long one. */
async function shortText(
  { turns }: ListContext,
  listed: Listed,
  narrow: Narrow,
): Promise<string | null> {
  let text = '';
  for await (const piece of pieces(turns, listed, narrow)) {
    text += piece;
    if (text.length > SHORT_LIST_MAX) return null;
  }
  return text;
}

/** A list that is read while it is sent; what fails before the first byte fails the request. */
async function longText(
  { turns, log, requestId }: AskedContext,
  listed: Listed,
  narrow: Narrow,
): Promise<Readable> {
  const rest = pieces(turns, listed, narrow);
  const first = await rest.next();
  async function* all(): AsyncGenerator<string> {
    if (first.done !== true) yield first.value;
    try {
      yield* rest;
    } catch (error) {
      // The client sees the connection break: what it got is no JSON.
      const fields = { request_id: requestId, list: listed.name, err: describeError(error) };
      log.error(fields, 'a list broke off');
      throw error;
    }
  }
  return Readable.from(all(), { objectMode: false, highWaterMark: 1 });
}

/** The JSON of a list, piece by piece; nothing is read before it is asked for. */
async function* pieces(turns: ListTurns, listed: Listed, narrow: Narrow): AsyncGenerator<string> {
  let before = '{"data":[';
  for (let after: Position | null = null; ;) {
    const selection: Selection = { ...narrow, limit: RECORDS_AT_ONCE, ...(after && { after }) };
    const page = await turns.take(() => readPage(listed, selection));
    if (page.last !== null) {
      yield before + page.text;
      before = ',';
    }
    if (page.count < RECORDS_AT_ONCE) break;
    after = page.last;
  }
  yield `${before === ',' ? '' : before}]}`;
}

/** Some records as text, without the brackets around them. */
interface Page {
  readonly text: string;
  readonly count: number;
  /** Null where there is no record. */
  readonly last: Position | null;
}

async function readPage(listed: Listed, selection: Selection): Promise<Page> {
  const records = await listed.list(selection);
  const last = records.at(-1);
  return {
    text: JSON.stringify(records).slice(1, -1),
    count: records.length,
    last: last === undefined ? null : positionOf(last),
  };
}

function positionOf({ inserted_at, id }: Shown): Position {
  return { inserted_at: new Date(String(inserted_at)), id: String(id) };
}
