// What a write would end, shown to the person before the write is made: a person who agrees sends
// the same form again. docs/api.md#what-a-write-would-do.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { Effect } from '../../observe/dry-run/fields.ts';
import { cutsOffElsewhere, othersInWords } from '../../observe/dry-run/other-gateways-in-words.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { inTime } from '../../kit/http/in-time.ts';
import { PageError } from '../../kit/http/page-error.ts';
import type { Rooms } from '../../rooms.ts';
import { TOKEN_FIELD, textOf, textsOf } from '../kit/form-token.ts';
import type { Web } from '../kit/web.ts';
import { counted } from '../kit/words.ts';
import { type Cell, flowRow, namesOf } from './live-rows.ts';

/** The field that says what a person answered to the question. */
const ANSWER = 'effect';
/** How long the gateway may need to say it; a write that may be urgent does not wait longer. */
const PATIENCE_MS = 2_000;
/** How long a session waits until it asks again. */
const TRY_MS = 1_000;
/** How long a write may wait for its turn. */
const TURN_MS_MAX = 8_000;

const BUSY = {
  title: 'Too many at once',
  text: 'Several of your changes wait already. Nothing of this one is saved. Wait until they are saved, then try again.',
};

/** A write in rooms: in the rooms of the server, or in rooms whose writes are undone. */
export type RoomWrite<Result = unknown> = (rooms: Rooms) => Promise<Result>;

/** What a question is about. */
export interface Asked {
  /** The text of the button that agrees. */
  readonly label: string;
  /** The page to which a person goes who does not agree. */
  readonly back: string;
  /** True where that page is a form, which is shown with what was typed. */
  readonly isForm?: boolean;
}

/** Whether a person went back from the question to the form. */
export function isBack(request: Request): boolean {
  return textOf(request, ANSWER) === 'back';
}

/**
 * Asks before a write that would end flows, or cut off devices at other gateways; null: nothing is
 * to be asked.
 */
export async function askFirst(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  asked: Asked,
  write: RoomWrite,
): Promise<ResponseObject | null> {
  if (textOf(request, ANSWER) === 'agreed') return null;
  const effect = await effectView(web, [write]);
  if (effect === null) return null;
  return web.pages.show(request, h, 'effect', {
    title: `This ends ${effect.flows}`,
    effect,
    action: request.path,
    hidden: hiddenOf(request),
    ...asked,
  });
}

/** When each session may let a write be tried again, by its id. */
const nextTries = new Map<string, number>();

/**
 * Whether a session may ask again what a write would end: at most once a second, because each
 * question is a write that is undone.
 */
export function mayTry(request: Request, nowMs = performance.now()): boolean {
  return takeTurn(request, 0, nowMs) !== null;
}

/**
 * Waits until a session may ask again, for a write that `askFirst` asks about. Whoever compares the
 * write with what is there reads that afterwards: others write meanwhile. Writes of one session
 * have their turns in their order.
 */
export async function untilMayTry(web: Web, request: Request): Promise<void> {
  if (textOf(request, ANSWER) !== '' || web.services.live === undefined) return;
  const waitMs = takeTurn(request, TURN_MS_MAX, performance.now());
  if (waitMs === null) throw new PageError('too_many_requests', BUSY);
  await sleep(waitMs);
}

/** In how many ms a session may ask, which is then its turn; null: later than in `mostMs`. */
function takeTurn(request: Request, mostMs: number, nowMs: number): number | null {
  for (const [id, atMs] of nextTries) if (atMs <= nowMs) nextTries.delete(id);
  const id = request.app.session?.id ?? '';
  const waitMs = (nextTries.get(id) ?? nowMs) - nowMs;
  if (waitMs > mostMs) return null;
  nextTries.set(id, nowMs + waitMs + TRY_MS);
  return waitMs;
}

/** What writes would end, as the partial `effect` shows it. */
export interface EffectView {
  /** `14 flows of 3 people`, with `at this gateway` where there are others. */
  readonly flows: string;
  /** What is said of other gateways; null: none runs. */
  readonly others: string | null;
  readonly list: readonly Cell[][];
  /** How many flows are not listed. */
  readonly more: number;
}

/** What some writes would end together; null: nothing, or nobody can say it in time. */
export async function effectView(
  web: Web,
  writes: readonly RoomWrite[],
): Promise<EffectView | null> {
  const effect = await effectOf(web, writes);
  if (effect === null) return null;
  const { ended_flow_count: count, ended_flow_user_count: people, ended_flows: shown } = effect;
  if (count === 0 && !cutsOffElsewhere(effect.other_gateways)) return null;
  const others = othersInWords(effect.other_gateways);
  const names = await namesOf(web.services.database, shown);
  return {
    flows: flowsInWords(count, people) + (others === null ? '' : ' at this gateway'),
    others,
    list: shown.map((flow) => flowRow(flow, names)),
    more: count - shown.length,
  };
}

async function effectOf(web: Web, writes: readonly RoomWrite[]): Promise<Effect | null> {
  try {
    return await inTime(web.rooms.dryRuns.tryAll(writes), PATIENCE_MS);
  } catch (error) {
    // Without a data plane no flow ends. An error is shown when the write is made.
    if (error instanceof ApiError) return null;
    throw error;
  }
}

/** What the form sent, to be sent again. */
function hiddenOf(request: Request): [name: string, value: string][] {
  return Object.keys(request.payload as object)
    .filter((name) => name !== TOKEN_FIELD && name !== ANSWER)
    .flatMap((name) => textsOf(request, name).map((value): [string, string] => [name, value]));
}

function flowsInWords(count: number, people: number): string {
  if (count === 0) return 'no flow';
  return `${counted(count, 'flow', 'flows')} of ${counted(people, 'person', 'people')}`;
}
