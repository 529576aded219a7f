// Changes to many records that a person selected in a table. Records that were ticked on a page are
// changed one after another within the request; all records that a search found are changed by a
// job (jobs.ts). Each record is changed as if it were alone, so each has its own entry in the audit
// trail. The person is asked first where a change cannot be undone, or where it concerns records
// that the page did not show.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import {
  type Searchable,
  searchEveryId,
  searchStates,
  type SearchWish,
  type StateFacts,
} from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { actorId, callerOf } from '../../kit/http/request-caller.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { localPath } from '../../auth/local-path.ts';
import type { RoomWrite } from '../parts/effect.ts';
import { attempt, errorLine } from './attempt.ts';
import { textOf, textsOf } from './form-token.ts';
import { type Job, JOB_RECORDS_MAX, type Left } from './jobs.ts';
import { adminPage } from './route.ts';
import { PAGE_RECORDS } from './searched.ts';
import { askedIn } from './table-page.ts';
import { undoPath, undoPathOfJob } from './undo.ts';
import type { Web } from './web.ts';
import { counted } from './words.ts';

/** How many names a question shows, and how many a refusal. */
const NAMES_SHOWN = 10;
const ERRORS_SHOWN = 3;

/** A text for one record and for several; a string is for both. */
export type Counted = string | readonly [one: string, several: string];

/** What can be done with the selected records. */
export interface Change {
  /** What is said afterwards: `switched off`. */
  readonly done: string;
  /** The question before it; `label` is the text of its button. */
  readonly question: { readonly title: Counted; readonly text: Counted; readonly label: string };
  /** True if it can be undone: then records that were ticked are changed without a question. */
  readonly isHarmless?: boolean;
  /** The only field that it sets. */
  readonly about?: string;
  /** Further fields of the form that it is read from. */
  readonly fields?: readonly string[];
  /** The write that does it to one record. */
  readonly write: (caller: Caller, id: string) => RoomWrite;
}

/** A table whose records can be selected. */
export interface ManyPlan {
  readonly table: Searchable;
  readonly path: string;
  /** Where its forms are sent, below that path; `many` if it is left out. */
  readonly action?: string;
  /** Words for one record and for several. */
  readonly nouns: readonly [one: string, several: string];
  /** Names of the records that exist, by id. */
  readonly names: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** The change that a form asks for; a text says what is wrong with the form. */
  readonly change: (name: string, request: Request) => Change | string;
  /** What such writes would end, for the view `many`; null: nothing. */
  readonly effect: (web: Web, writes: readonly RoomWrite[]) => Promise<object | null>;
  /** What a state of the table means at this moment, for all records or some, if it can change. */
  readonly facts?: (state: string, ids?: readonly string[]) => Promise<StateFacts>;
}

/** The route to which such a table is sent. */
export function manyRoute(web: Web, plan: ManyPlan): ServerRoute {
  return adminPage('POST', actionOf(plan), (request, h) => runMany(web, plan, request, h));
}

/** The page that shows the progress of a job with records of a table. */
export function jobRoute(web: Web, path: string): ServerRoute {
  return adminPage('GET', `${path}/many/{job}`, (request, h) => showJob(web, request, h));
}

function actionOf({ path, action = 'many' }: ManyPlan): string {
  return `${path}/${action}`;
}

async function runMany(
  web: Web,
  plan: ManyPlan,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const jobId = textOf(request, 'job');
  if (jobId !== '') return beginJob(web, plan, jobId, request, h);
  const back = backTo(plan, request);
  const isAll = textOf(request, 'all') === 'true';
  const ids = textsOf(request, 'id').filter(isUuid).slice(0, PAGE_RECORDS);
  const name = textOf(request, 'do');
  const change = plan.change(name, request);
  if (typeof change === 'string') return giveBack(web, h, back, change);
  if (isAll) return askForAll(web, plan, change, request, h);
  if (ids.length === 0) return giveBack(web, h, back, 'Nothing was selected.');
  const isSure = textOf(request, 'sure') === 'true';
  const caller = callerOf(request);
  const tried = ids.map((id) => change.write(caller, id));
  const effect = isSure ? null : await plan.effect(web, tried);
  if (!isSure && (change.isHarmless !== true || effect !== null)) {
    const names = await plan.names(ids);
    return web.pages.show(request, h, 'many', {
      ...questionFor(change, names.size),
      count: countInWords(plan, names.size),
      names: [...names.values()],
      more: 0,
      effect,
      hidden: [
        ['do', name],
        ...(change.fields ?? []).map((field) => [field, textOf(request, field)]),
        ...[...names.keys()].map((id) => ['id', id]),
      ],
      action: actionOf(plan),
      back,
    });
  }
  const { done, left } = await runEach(web, plan, change, ids, caller);
  const said = doneInWords(plan, change, done);
  const undo = await undoPath(web, request);
  const refused = `${countInWords(plan, left.length)} could not be: ${named(left)}.`;
  if (left.length === 0) web.pages.flash(h, 'done', said, undo);
  else web.pages.flash(h, 'failed', done === 0 ? refused : `${said} ${refused}`, undo);
  return web.pages.redirect(h, back);
}

/** The question about so many records. */
function questionFor(
  { question }: Change,
  count: number,
): { title: string; text: string; label: string } {
  const worded = (text: Counted): string =>
    typeof text === 'string' ? text : text[count === 1 ? 0 : 1];
  return { ...question, title: worded(question.title), text: worded(question.text) };
}

function giveBack(web: Web, h: ResponseToolkit, back: string, error: string): ResponseObject {
  web.pages.flash(h, 'failed', error);
  return web.pages.redirect(h, back);
}

async function runEach(
  web: Web,
  plan: ManyPlan,
  change: Change,
  ids: readonly string[],
  caller: Caller,
): Promise<{ done: number; left: Left[] }> {
  const names = await plan.names(ids);
  const left: Left[] = [];
  let done = 0;
  for (const id of ids) {
    try {
      const tried = await attempt(() => change.write(caller, id)(web.rooms));
      if (tried.errors === null) done += 1;
      else left.push({ name: names.get(id) ?? id, why: errorLine(tried.errors, change.about) });
    } catch (error) {
      // Somebody removed the record after the table was shown.
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
    }
  }
  return { done, left };
}

function named(left: readonly Left[]): string {
  const first = left.slice(0, ERRORS_SHOWN).map(({ name, why }) => `${name} (${why})`);
  return [...first, ...(left.length > ERRORS_SHOWN ? ['…'] : [])].join(', ');
}

// ---- all that a search found -----------------------------------------------------------------

async function askForAll(
  web: Web,
  plan: ManyPlan,
  change: Change,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { database } = web.services;
  const back = backTo(plan, request);
  const state = textOf(request, 'state');
  const whose = ['owner', 'group'].map((name) => textOf(request, name));
  // An unknown state or owner would select everything.
  const isUnclear =
    (state !== '' && !searchStates(plan.table).includes(state)) ||
    whose.some((id) => id !== '' && !isUuid(id));
  if (isUnclear)
    return giveBack(web, h, back, 'What was searched for is not clear. Please search again.');
  const [owner, group] = whose;
  const query = { q: textOf(request, 'q'), state, owner, group };
  const wish = async (some?: readonly string[]): Promise<Omit<SearchWish, 'offset' | 'limit'>> =>
    askedIn({ query }, plan, await plan.facts?.(state, some));
  const ids = await searchEveryId(database, plan.table, await wish(), JOB_RECORDS_MAX + 1);
  if (ids.length === 0) return giveBack(web, h, back, 'Nothing matches any more.');
  if (ids.length > JOB_RECORDS_MAX)
    return giveBack(web, h, back, `At most ${countInWords(plan, JOB_RECORDS_MAX)} at once.`);
  const { table, names, nouns } = plan;
  const job = web.jobs.ask({
    userId: actorId(request),
    ids,
    matching: async (some) =>
      searchEveryId(database, table, { ...(await wish(some)), ids: some }, some.length),
    names,
    run: (one, id) => change.write(one, id)(web.rooms),
    title: change.question.label,
    nouns,
    done: change.done,
    ...(change.about === undefined ? {} : { about: change.about }),
    back,
    action: actionOf(plan),
  });
  if (job === null)
    return giveBack(
      web,
      h,
      back,
      'Too many changes are being made already. Please wait until they are done.',
    );
  return web.pages.show(request, h, 'many', {
    ...questionFor(change, ids.length),
    count: countInWords(plan, ids.length),
    names: [...(await names(ids.slice(0, NAMES_SHOWN))).values()],
    more: Math.max(0, ids.length - NAMES_SHOWN),
    effect: null,
    hidden: [['job', job.id]],
    action: actionOf(plan),
    back,
  });
}

function beginJob(
  web: Web,
  plan: ManyPlan,
  jobId: string,
  request: Request,
  h: ResponseToolkit,
): ResponseObject {
  const job = web.jobs.find(jobId, actorId(request));
  if (job === null || job.plan.action !== actionOf(plan))
    return giveBack(
      web,
      h,
      backTo(plan, request),
      'Nothing is changed: this question is too old, or another gateway asked it. Please select again.',
    );
  web.jobs.begin(job, callerOf(request), new Date(request.info.received));
  return web.pages.redirect(h, `${plan.path}/many/${job.id}`);
}

async function showJob(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const job = web.jobs.find(String(request.params['job']), actorId(request));
  if (job === null || !job.isBegun) throw new ApiError('not_found');
  const { plan, total, done, passedOver, refused, isOver, named: left } = job;
  return web.pages.show(request, h, 'many-progress', {
    title: `${plan.title}: ${countInWords(plan, total)}`,
    scripts: isOver ? [] : ['many-progress.js'],
    isOver,
    total,
    passed: done + passedOver + refused,
    result: resultOf(job),
    isGood: job.broke === null && refused === 0,
    left,
    leftMore: refused - left.length,
    undo: await undoPathOfJob(web, request, job),
    back: plan.back,
  });
}

/** What became of a job, in sentences. */
function resultOf(job: Job): string[] {
  const { plan, done, passedOver, refused, broke, total } = job;
  const rest = total - done - passedOver - refused;
  return [
    doneInWords(plan, plan, done),
    ...(passedOver === 0
      ? []
      : [
          `${countInWords(plan, passedOver)} ${verb(passedOver)} left alone: deleted meanwhile, or no longer found by the search.`,
        ]),
    ...(refused === 0 ? [] : [`${countInWords(plan, refused)} could not be:`]),
    ...(broke === null
      ? []
      : [`${broke} The other ${countInWords(plan, rest)} ${verb(rest)} as before.`]),
  ];
}

// ---- words -----------------------------------------------------------------------------------

/** The page of the table that the form was on. */
function backTo({ path }: ManyPlan, request: Request): string {
  const back = localPath(textOf(request, 'back'));
  return back !== null && (back === path || back.startsWith(`${path}?`)) ? back : path;
}

function doneInWords(plan: Pick<ManyPlan, 'nouns'>, { done }: { done: string }, count: number) {
  return `${countInWords(plan, count)} ${verb(count)} ${done}.`;
}

function countInWords({ nouns }: Pick<ManyPlan, 'nouns'>, count: number): string {
  return counted(count, ...nouns);
}

function verb(count: number): string {
  return count === 1 ? 'is' : 'are';
}
