// Answers lists: a page of records with the address of the next page, or all records. The text of a
// short list is remembered, because writing it takes as long as reading the records. A long list is
// never in memory as a whole: pages are read while the answer is sent, as fast as the client reads.
// Records are ordered by time and id. So no record comes twice, and none is missing that existed
// the whole time. docs/api.md#lists.

import { Readable } from 'node:stream';
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { Selection } from '../../models/index.ts';
import { describeError, type Log } from '../kit/process/log.ts';
import type { ListTurns } from './list-turns.ts';
import { nextPage, type Position, readListQuery } from './paging.ts';
import { callerOf } from '../kit/http/request-caller.ts';
import type { Listed, Selected } from '../kit/records/collection.ts';
import type { Recall } from '../kit/records/recall.ts';
import { listedWithoutSecrets } from '../kit/records/secrets.ts';
import type { Shown } from '../kit/records/shown.ts';

/** Lists with more characters are sent while they are read. */
export const SHORT_LIST_MAX = 4_000_000;
/** Records that are read at once for a list without pages; everything else waits meanwhile. */
const RECORDS_AT_ONCE = 50;
/** How long a list counts as long after it was. A list that became short is only sent slower. */
const LONG_KEEP_MS = 60_000;

/** What listing needs of the server. */
export interface ListContext {
  readonly recall: Recall;
  readonly turns: ListTurns;
  readonly log: Log;
  /** The path of EXTERNAL_URL, which comes before our paths; empty if it has none. */
  readonly outside: string;
}

/** A ListContext with what one request adds. */
interface AskedContext extends ListContext {
  /** For the log. */
  readonly requestId: string;
  /** The name under which the text of the list is remembered. */
  readonly memory: string;
}

/** Answers the list that a request asks for. */
export async function answerList(
  context: ListContext,
  whole: Listed,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const isWhole = callerOf(request).seesSecrets;
  const listed = isWhole ? whole : listedWithoutSecrets(whole);
  const query = readListQuery(request.url.search, listed.filters);
  if (query.selected === null) return h.response({ data: [] });
  const memory = `list of ${listed.name}${isWhole ? '' : ' without secrets'}`;
  if (query.page === null)
    return answerAll({ ...context, requestId: request.app.id, memory }, listed, query.selected, h);
  const { limit } = query.page;
  // One more record is read than was asked for: if it exists, there is a next page.
  const records = await listed.list({ ...query.selected, ...query.page, limit: limit + 1 });
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
  selected: Selected,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const isWhole = Object.keys(selected).length === 0;
  const text = isWhole
    ? await recallText(context, listed)
    : await shortText(context, listed, selected);
  const body = text ?? (await longText(context, listed, selected));
  return h.response(body).type('application/json; charset=utf-8');
}

/** The text of the list without a filter; null if it is long. */
async function recallText(context: AskedContext, listed: Listed): Promise<string | null> {
  const { sources, keepMs = Number.POSITIVE_INFINITY } = listed;
  const { recall, memory } = context;
  const remembered = await recall.read<{ text: string | null }>(memory, async () => {
    const text = await shortText(context, listed, {});
    return text === null
      ? { value: { text }, sources: [], keepMs: LONG_KEEP_MS }
      : { value: { text }, sources, keepMs };
  });
  return remembered?.text ?? null;
}

/** The text of a list; null if it is long: then the rest is not read. */
async function shortText(
  { turns }: ListContext,
  listed: Listed,
  selected: Selected,
): Promise<string | null> {
  let text = '';
  for await (const piece of pieces(turns, listed, selected)) {
    text += piece;
    if (text.length > SHORT_LIST_MAX) return null;
  }
  return text;
}

/** A list that is read while it is sent. A failure before the first byte fails the request. */
async function longText(
  { turns, log, requestId }: AskedContext,
  listed: Listed,
  selected: Selected,
): Promise<Readable> {
  const rest = pieces(turns, listed, selected);
  const first = await rest.next();
  async function* all(): AsyncGenerator<string> {
    if (first.done !== true) yield first.value;
    try {
      yield* rest;
    } catch (error) {
      // The connection is broken, so that the client sees that the JSON is not complete.
      const fields = { request_id: requestId, list: listed.name, err: describeError(error) };
      log.error(fields, 'a list broke off');
      throw error;
    }
  }
  return Readable.from(all(), { objectMode: false, highWaterMark: 1 });
}

/** The JSON of a list, piece by piece; a piece is read when it is asked for. */
async function* pieces(
  turns: ListTurns,
  listed: Listed,
  selected: Selected,
): AsyncGenerator<string> {
  let before = '{"data":[';
  for (let after: Position | null = null; ;) {
    const selection: Selection & Selected = {
      ...selected,
      limit: RECORDS_AT_ONCE,
      ...(after && { after }),
    };
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
  /** Null if there is no record. */
  readonly last: Position | null;
}

async function readPage(listed: Listed, selection: Selection & Selected): Promise<Page> {
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
