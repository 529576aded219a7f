// Signing in and out: `/` offers what the configuration allows, a form for e-mail and password and
// a link for each identity provider. docs/api.md#sign-in.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { methodOf } from '../../auth/identity/method.ts';
import { checkPassword, LOCAL_METHOD, LOCAL_OFF, type Wait } from '../../auth/local.ts';
import { localPath } from '../../auth/local-path.ts';
import { OidcClients } from '../../auth/oidc/client.ts';
import { signOutAddress } from '../../auth/oidc/sign-out.ts';
import type { LiveSession } from '../../auth/sessions.ts';
import { completeSignIn, SignInRefusal, signOut } from '../../auth/sign-in.ts';
import { pageAt } from '../../kit/http/late-routes.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { commandLine } from '../../kit/process/command-line.ts';
import { describeError } from '../../kit/process/log.ts';
import { wantsPage } from '../kit/errors.ts';
import { textOf } from '../kit/form-token.ts';
import { homeOf } from '../kit/navigation.ts';
import { openPage } from '../kit/route.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';
import { minutesUntil } from '../kit/words.ts';

/** Lets people sign in with passwords again, where nobody can sign in. */
const OPENING = commandLine('configuration set local_auth_enabled=true');

/** A way to sign in that is not a password. */
interface Provider {
  readonly id: string;
  readonly label: string;
  readonly path: string;
  /** What sessions that began this way name. */
  readonly method: string;
}

/** The routes of signing in and out. */
export function signInPages(web: Web): ServerRoute[] {
  const begin = (request: Request, h: ResponseToolkit) => showSignIn(web, request, h);
  const signIn = (request: Request, h: ResponseToolkit) => signInLocally(web, request, h);
  const clients = new OidcClients(web.services.discoveryLimits);
  const leave = async (request: Request, h: ResponseToolkit) => {
    const session = await web.sessions.find(request);
    await signOut(web, request, h);
    const address =
      session === null ? null : await addressAtProvider(web, request, clients, session);
    if (address !== null) return web.pages.leave(request, h, address);
    if (session !== null) web.pages.flash(h, 'done', say('sign_out.done'));
    return web.pages.redirect(h, '/');
  };
  return [
    openPage('GET', '/', begin),
    openPage('GET', '/auth/identity', async (request, h) =>
      (await isLocalOn(web)) ? showSignIn(web, request, h) : answerLocalOff(web, request, h),
    ),
    openPage('GET', '/auth/identity/callback', (_request, h) => web.pages.redirect(h, '/')),
    openPage('POST', '/auth/identity', signIn),
    openPage('POST', '/auth/identity/callback', signIn),
    openPage('POST', '/sign_out', leave),
    openPage('DELETE', '/sign_out', leave),
  ];
}

/** The address at the provider where signing out continues; null if it ends here or on an error. */
async function addressAtProvider(
  { services, recall }: Web,
  request: Request,
  clients: OidcClients,
  session: LiveSession,
): Promise<string | null> {
  const { database, config, log } = services;
  try {
    await recall.refresh();
    const { openid_connect_providers: providers } = await recall.configuration();
    const context = { database, clients, providers, externalUrl: config.externalUrl };
    return await signOutAddress(context, session);
  } catch (error) {
    const fields = { request_id: request.app.id, err: describeError(error) };
    log.warn(fields, 'nobody was signed out at the provider');
    return null;
  }
}

async function showSignIn(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const session = await web.sessions.find(request);
  if (session?.state === 'open') return web.pages.redirect(h, homeOf(session.user.role));
  if (session?.state === 'second factor') return web.pages.redirect(h, '/mfa/auth');
  const ended = request.query['why'] === 'ended' ? say('sign_in.ended') : null;
  return signInPage(web, request, h, { returnTo: localPath(request.query['return_to']), ended });
}

async function signInLocally(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  if (!(await isLocalOn(web))) return answerLocalOff(web, request, h);
  const email = textOf(request, 'email').trim();
  const returnTo = localPath(textOf(request, 'return_to'));
  const checked = await checkPassword(
    web.services,
    callerOf(request),
    email,
    textOf(request, 'password'),
  );
  try {
    if (typeof checked === 'object' && 'userId' in checked)
      return await completeSignIn(web, request, h, { ...checked, method: LOCAL_METHOD, returnTo });
  } catch (error) {
    // The user was disabled, removed or given another password meanwhile: the usual answer.
    if (!(error instanceof SignInRefusal)) throw error;
  }
  const isWait = typeof checked === 'object' && 'waitsUntil' in checked;
  const words = isWait
    ? waitWords(checked)
    : say(checked === 'disabled' ? 'sign_in.disabled' : 'sign_in.refused');
  const isAgain = textOf(request, 'again') !== '' && (await isSignedIn(web, request));
  const response = isAgain
    ? await signInAgainPage(web, request, h, {
        returnTo: returnTo ?? '/',
        isForChange: textOf(request, 'again') === 'recent',
        email,
        error: words,
      })
    : await signInPage(web, request, h, { returnTo, email, error: words });
  return response.code(401);
}

function waitWords({ waitsUntil }: Wait): string {
  return say('sign_in.waits', { minutes: minutesUntil(waitsUntil) });
}

async function isSignedIn({ sessions }: Web, request: Request): Promise<boolean> {
  return (await sessions.find(request))?.state === 'open';
}

async function signInPage(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  values: { returnTo: string | null; email?: string; error?: string; ended?: string | null },
): Promise<ResponseObject> {
  const { email = '', error: words = null, ended = null, returnTo } = values;
  return web.pages.show(request, h, 'sign-in', {
    title: say('sign_in.title'),
    isLocalOn: await isLocalOn(web),
    // Strangers read it: it names no e-mail.
    opening: 'local_auth_enabled' in web.fixed ? null : OPENING,
    canReset: web.services.mails !== undefined,
    providers: await providersOf(web, returnTo),
    email,
    error: words,
    ended,
    returnTo,
  });
}

/** What the page shows that asks a person who is signed in to sign in again. */
export interface AskedAgain {
  /** Where the person comes back to. */
  readonly returnTo: string;
  /** True where a change asks for it; false where it renews the VPN session. */
  readonly isForChange: boolean;
  /** What was typed, after a refusal. */
  readonly email?: string;
  readonly error?: string;
}

/** Asks by the way by which the person signed in. */
export async function signInAgainPage(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { returnTo, isForChange, email, error: words }: AskedAgain,
): Promise<ResponseObject> {
  const session = await web.sessions.find(request);
  const isLocal = await isLocalOn(web);
  const wasLocal = isLocal && session?.method === LOCAL_METHOD;
  const all = await providersOf(web, returnTo);
  const own = wasLocal ? [] : all.filter(({ method }) => method === session?.method);
  // If the way that the person used no longer exists, the page offers all others.
  const isAny = !wasLocal && own.length === 0;
  return web.pages.show(request, h, 'sign-in-again', {
    title: say('again.title'),
    isForChange,
    email: email ?? session?.user.email ?? '',
    error: words ?? null,
    returnTo,
    cancel: pageWithoutQuestion(request, returnTo),
    isLocalOn: wasLocal || (isAny && isLocal),
    providers: isAny ? all : own,
  });
}

/** The nearest page at or above a path that does not ask for a recent sign-in itself. */
function pageWithoutQuestion({ server }: Pick<Request, 'server'>, path: string): string {
  const route = pageAt(server, path.replace(/\?.*$/s, ''));
  if (route !== null && route.settings.app?.recentSignIn === undefined) return path;
  return pageWithoutQuestion({ server }, path.replace(/\/[^/]*$/, '') || '/');
}

/** Refuses a sign-in by password, in the words of the API. */
export async function answerLocalOff(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  if (!wantsPage(request)) return h.response(LOCAL_OFF).type('text/plain; charset=utf-8').code(404);
  const text = say('sign_in.local_off_more');
  const values = { title: say('sign_in.local_off'), text, status: 404 };
  return (await web.pages.show(request, h, 'error', values)).code(404);
}

/** Whether people can sign in by password at present. */
export async function isLocalOn({ recall }: Web): Promise<boolean> {
  await recall.refresh();
  return (await recall.configuration()).local_auth_enabled;
}

/** The providers at present. After a sign-in their paths lead back to `returnTo`. */
export async function providersOf({ recall }: Web, returnTo: string | null): Promise<Provider[]> {
  const { openid_connect_providers: openid, saml_identity_providers: saml } =
    await recall.configuration();
  const query =
    returnTo === null ? '' : `?${new URLSearchParams({ return_to: returnTo }).toString()}`;
  return [
    ...openid.map((entry) => ({ ...entry, kind: 'oidc', base: '/auth/oidc/' }) as const),
    ...saml.map((entry) => ({ ...entry, kind: 'saml', base: '/auth/saml/auth/signin/' }) as const),
  ].map(({ id, label, kind, base }) => ({
    id,
    label,
    path: base + encodeURIComponent(id) + query,
    method: methodOf(kind, id),
  }));
}
