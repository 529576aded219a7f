// What is done with many records at once, which were selected in a table: one after another, each
// as if it were done alone, so that each has its audit entry. What cannot be undone is asked first.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { ApiError } from '../api/errors.ts';
import { isUuid } from '../api/fields.ts';
import { localPath } from '../auth/local-path.ts';
import { attempt, faultLine } from './attempt.ts';
import { textOf, textsOf } from './forms.ts';
import { adminPage } from './route.ts';
import { PAGE_RECORDS } from './searched.ts';
import type { Web } from './web.ts';

/** What can be done with the selected records. */
export interface Deed {
  /** What is said afterwards: `switched off`. */
  readonly done: string;
  /** Asked before; left out where it can be undone. `label` is its button's. */
  readonly question?: { readonly title: string; readonly text: string; readonly label: string };
  readonly run: (request: Request, id: string) => Promise<unknown>;
}

/** A table whose records can be selected. */
export interface ManyPlan {
  readonly path: string;
  /** Where its forms are sent, below that path; `many` where it is left out. */
  readonly action?: string;
  /** Words for one record and for several. */
  readonly nouns: readonly [one: string, several: string];
  /** Names of the records that are there, by id. */
  readonly names: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** The deed that a form asks for; a text says what is wrong with the form. */
  readonly deed: (name: string, request: Request) => Deed | string;
}

/** The route to which such a table is sent. */
export function manyRoute(web: Web, plan: ManyPlan): ServerRoute {
  return adminPage('POST', actionOf(plan), (request, h) => runMany(web, plan, request, h));
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
  const back = backTo(plan, request);
  const ids = textsOf(request, 'id').filter(isUuid).slice(0, PAGE_RECORDS);
  const name = textOf(request, 'do');
  const deed = plan.deed(name, request);
  if (typeof deed === 'string' || ids.length === 0) {
    web.pages.flash(h, 'failed', typeof deed === 'string' ? deed : 'Nothing was selected.');
    return web.pages.redirect(h, back);
  }
  if (deed.question !== undefined && textOf(request, 'sure') !== 'true') {
    const names = await plan.names(ids);
    return web.pages.show(request, h, 'many', {
      ...deed.question,
      count: inWords(plan, names.size),
      names: [...names.values()],
      ids: [...names.keys()],
      deed: name,
      action: actionOf(plan),
      back,
    });
  }
  const { done, faults } = await runEach(deed, ids, request);
  const said = `${inWords(plan, done)} ${done === 1 ? 'is' : 'are'} ${deed.done}.`;
  const refused = `${inWords(plan, faults.length)} could not be: ${faults[0] ?? ''}.`;
  if (faults.length === 0) web.pages.flash(h, 'done', said);
  else web.pages.flash(h, 'failed', done === 0 ? refused : `${said} ${refused}`);
  return web.pages.redirect(h, back);
}

async function runEach(
  deed: Deed,
  ids: readonly string[],
  request: Request,
): Promise<{ done: number; faults: string[] }> {
  const faults: string[] = [];
  let done = 0;
  for (const id of ids) {
    try {
      const tried = await attempt(() => deed.run(request, id));
      if (tried.faults === null) done += 1;
      else faults.push(faultLine(tried.faults));
    } catch (error) {
      // Somebody removed it since the table was shown.
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
    }
  }
  return { done, faults };
}

/** The page of the table that the form was on. */
function backTo({ path }: ManyPlan, request: Request): string {
  const back = localPath(textOf(request, 'back'));
  return back !== null && (back === path || back.startsWith(`${path}?`)) ? back : path;
}

function inWords({ nouns: [one, several] }: ManyPlan, count: number): string {
  return `${count} ${count === 1 ? one : several}`;
}
