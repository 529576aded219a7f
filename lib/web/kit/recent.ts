// Changes that need a recent sign-in. A browser that somebody left open must not be enough to take
// the account over, nor to make another way in. So a page that changes second factors, passwords,
// e-mails, tokens, users' rights or identity providers leads to the sign-in page if the sign-in was
// earlier: five minutes for the own account, 15 for what an administrator changes of others.
// The time runs from the sign-in, whatever is changed meanwhile.

import type { Request, ResponseObject, ResponseToolkit, Server, ServerRoute } from '@hapi/hapi';
import { isWithin } from '../../../models/index.ts';
import { ADMINISTRATORS } from '../../auth/sessions.ts';
import { localPath } from '../../auth/local-path.ts';
import { RECENT_ADMINISTRATION_MS, RECENT_MS } from '../../kit/records/session-life.ts';
import { textOf } from './form-token.ts';
import { say } from './texts.ts';
import type { Web } from './web.ts';

declare module '@hapi/hapi' {
  interface RouteOptionsApp {
    /**
     * Asks for a recent sign-in. `back`: where to come back to, null for the path of the request.
     * `opensOwn`: whether an administrator gets into their own account by what it makes.
     */
    recentSignIn?: { readonly back: string | null; readonly opensOwn: boolean };
  }
}

/** Makes a route ask for a recent sign-in; `back` is where a form is found that is only sent. */
export function recently(route: ServerRoute, back: string | null = null): ServerRoute {
  return withRecentSignIn(route, { back, opensOwn: false });
}

/** Makes a form ask for one whose token or link opens an account, one's own too. */
export function recentlyForOwn(route: ServerRoute, back: string | null = null): ServerRoute {
  return withRecentSignIn(route, { back, opensOwn: true });
}

function withRecentSignIn(
  route: ServerRoute,
  recentSignIn: { readonly back: string | null; readonly opensOwn: boolean },
): ServerRoute {
  const options = typeof route.options === 'object' ? route.options : {};
  return { ...route, options: { ...options, app: { recentSignIn } } };
}

/** Makes a person who signed in too long ago sign in again. */
export function askForRecentSignIn(server: Server, web: Web): void {
  server.ext('onPreHandler', async (request, h) => {
    const { recentSignIn } = request.route.settings.app ?? {};
    if (recentSignIn === undefined || (await isRecent(web, request))) return h.continue;
    return askAgain(web, request, h, recentSignIn.back).takeover();
  });
}

/** Whether the person of this request's browser signed in just now. */
async function isRecent(web: Web, request: Request): Promise<boolean> {
  return signedInWithin(web, request, windowOf(request));
}

/** Whether the sign-in of this browser is no older. */
export async function signedInWithin(
  { sessions }: Pick<Web, 'sessions'>,
  request: Request,
  ms: number,
): Promise<boolean> {
  const session = await sessions.find(request);
  return session?.state === 'open' && isWithin(session.inserted_at, ms, Date.now());
}

/** How old the sign-in may be; an administrator's own user is no other. */
function windowOf({ route, params, auth }: Request): number {
  const isAdministration = auth.strategy === ADMINISTRATORS;
  const isOwn =
    route.settings.app?.recentSignIn?.opensOwn === true ||
    String(params['id']).toLowerCase() === auth.credentials.user?.id;
  return isAdministration && !isOwn ? RECENT_ADMINISTRATION_MS : RECENT_MS;
}

function askAgain(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  back: string | null,
): ResponseObject {
  const isForm = request.method === 'post';
  if (isForm) web.pages.flash(h, 'failed', say('again.too_long_ago'));
  const place = formPath(request, back);
  const query = new URLSearchParams({ why: 'recent', return_to: place }).toString();
  return web.pages.redirect(h, `/sign_in_again?${query}`);
}

/** The page that the form was on: its browser fills it in again there (static/typed-again.js). */
function formPath(request: Request, back: string | null): string {
  if (back === null) return request.path;
  const place = back.replace('{id}', encodeURIComponent(String(request.params['id'])));
  // A table says which of its pages.
  const page = localPath(textOf(request, 'back'));
  return page?.startsWith(`${place}?`) === true ? page : place;
}
