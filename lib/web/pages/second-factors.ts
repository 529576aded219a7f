// A user's second factors: setting an authenticator up, removing one, new recovery codes. All of
// these ask for a recent sign-in. Those that make the account weaker also ask for a code, so that
// a browser that somebody left open is not enough.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { ApiError } from '../../kit/http/errors.ts';
import type { FormError } from '../kit/plain-words.ts';
import { atMostCharacters, messages } from '../../kit/validation/messages.ts';
import { noteLocks, takeAttempt } from '../../auth/attempts.ts';
import { actorId, callerOf } from '../../kit/http/request-caller.ts';
import { LOCAL_METHOD } from '../../auth/local.ts';
import type {
  BeginsSession,
  ChangedFactors,
  FactorChange,
  ProvenFactor,
} from '../../auth/own-account.ts';
import {
  beginEnrolment,
  type Enrolment,
  FACTOR_NAME_CHARACTERS_MAX,
  FACTORS_MAX,
  hasSecondFactor,
  openEnrolment,
  stepOf,
} from '../../auth/second-factors.ts';
import { codesOf, type SpendsCode, spends, tryCode } from '../../auth/try-code.ts';
import { textOf } from '../kit/form-token.ts';
import { qrCode } from '../kit/qr-code.ts';
import { recently } from '../kit/recent.ts';
import { page } from '../kit/route.ts';
import { say, type TextKey } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';

type Errors = Record<string, FormError[]>;

/** The field for a code of an authenticator that the user already has. */
const PRESENT_CODE = 'present_code';

/** The routes of second factors. */
export function secondFactorsPages(web: Web): ServerRoute[] {
  const base = '/user_account';
  const routes = [
    page('GET', `${base}/register_mfa`, (request, h) => showEnrolment(web, request, h)),
    page('POST', `${base}/register_mfa`, (request, h) => enrol(web, request, h)),
    page('GET', `${base}/second_factors/{id}/remove`, (request, h) =>
      askForCode(web, request, h, removal, {}),
    ),
    page('POST', `${base}/second_factors/{id}/remove`, (request, h) => remove(web, request, h)),
    page('GET', `${base}/recovery_codes`, (request, h) => askForCode(web, request, h, renewal, {})),
    page('POST', `${base}/recovery_codes`, (request, h) => renew(web, request, h)),
  ];
  return routes.map((route) => recently(route));
}

/** What is said where a code is asked for before something is done. */
interface CodeQuestion {
  readonly title: TextKey;
  readonly text: TextKey;
  readonly label: TextKey;
  /** The class of the button. */
  readonly tone: 'danger' | '';
}

const removal: CodeQuestion = {
  title: 'factors.removal',
  text: 'factors.removal_more',
  label: 'factors.remove_it',
  tone: 'danger',
};

const renewal: CodeQuestion = {
  title: 'codes.renewal',
  text: 'codes.renewal_more',
  label: 'codes.make_new',
  tone: '',
};

async function showEnrolment(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  begun: Enrolment | null = null,
  errors: Errors = {},
): Promise<ResponseObject> {
  const { database } = web.services;
  const enrolment = begun ?? (await beginEnrolment(database, ownerOf(request)));
  return web.pages.show(request, h, 'register-mfa', {
    title: say('factors.add'),
    isAnother: await hasSecondFactor(database, actorId(request)),
    sealed: enrolment.sealed,
    address: enrolment.address,
    secret: enrolment.secret.match(/.{1,4}/g)?.join(' '),
    qr: await qrCode(enrolment.address),
    name: textOf(request, 'name'),
    errors,
  });
}

async function enrol(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database } = web.services;
  const enrolment = await openEnrolment(database, textOf(request, 'sealed'), ownerOf(request));
  if (enrolment === null) throw new ApiError('stale_form');
  const name = textOf(request, 'name').trim();
  const step = await stepOf(enrolment.secret, textOf(request, 'code'), 0);
  const errors: Errors = {
    ...nameErrors(name),
    ...(step === null ? { code: [say('factors.wrong_code')] } : {}),
  };
  if (step === null || Object.keys(errors).length > 0)
    return (await showEnrolment(web, request, h, enrolment, errors)).code(422);
  const added = await addProven(web, request, h, { name, secret: enrolment.secret, step });
  if ('errors' in added)
    return (await showEnrolment(web, request, h, enrolment, added.errors)).code(422);
  if (added.recoveryCodes.length > 0) return showCodes(web, request, h, added.recoveryCodes);
  web.pages.flash(h, 'done', say('factors.is_added', { name }));
  return web.pages.redirect(h, '/user_account');
}

/** Adds a second factor; a user who already has one must also show a code of it. */
async function addProven(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  factor: ProvenFactor,
): Promise<{ recoveryCodes: readonly string[] } | { errors: Errors }> {
  const { database } = web.services;
  const caller = callerOf(request);
  const counted = codesOf(web.services, caller);
  const isAsked = await hasSecondFactor(database, actorId(request));
  const taken = isAsked ? await takeAttempt(database, counted) : null;
  const spend: SpendsCode =
    taken?.refusedBy === null
      ? spends(database, counted, textOf(request, PRESENT_CODE))
      : async () => false;
  const begin = beginsAnew(web, request);
  const added = await web.rooms.ownAccounts.addSecondFactor(caller, factor, { spend, begin });
  if (typeof added !== 'string') return goOn(web, request, h, added);
  if (taken !== null) await noteLocks(web.services, caller, taken, actorId(request));
  if (added === 'bad code') return { errors: { [PRESENT_CODE]: [say('code.wrong')] } };
  return { errors: { name: [say('factors.too_many', { most: String(FACTORS_MAX) })] } };
}

async function remove(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const id = String(request.params['id']);
  const removed = await withCode(web, request, (change) =>
    web.rooms.ownAccounts.removeSecondFactor(callerOf(request), id, change),
  );
  if (removed === null) return askForCode(web, request, h, removal, { code: [say('code.wrong')] });
  if (!goOn(web, request, h, removed)) throw new ApiError('not_found');
  web.pages.flash(h, 'done', say('factors.is_removed'));
  return web.pages.redirect(h, '/user_account');
}

async function renew(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const renewed = await withCode(web, request, (change) =>
    web.rooms.ownAccounts.renewRecoveryCodes(callerOf(request), change),
  );
  return renewed === null
    ? askForCode(web, request, h, renewal, { code: [say('code.wrong')] })
    : showCodes(web, request, h, goOn(web, request, h, renewed));
}

/** Makes a change that spends the code of the form; null if the code is not good. */
function withCode<Result>(
  web: Web,
  request: Request,
  act: (change: FactorChange) => Promise<Result | null>,
): Promise<Result | null> {
  const count = (isLocked: boolean): void =>
    web.services.counters.add('sign_ins', isLocked ? 'too_many_own_codes' : 'bad_own_code');
  const typed = { code: textOf(request, 'code'), count };
  const begin = beginsAnew(web, request);
  return tryCode(web.services, callerOf(request), typed, (spend) => act({ spend, begin }));
}

/** Begins the session with which this browser goes on after its second factors changed. */
function beginsAnew(web: Web, request: Request): BeginsSession {
  const { method = LOCAL_METHOD, inserted_at: since } = request.app.session ?? {};
  const atProvider = request.app.session ?? undefined;
  return (user, transaction) =>
    web.sessions.begin(request, { user, method, state: 'open', since, atProvider }, transaction);
}

/** Gives this browser the secret of the session that goes on. */
function goOn<Result>(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { result, secret }: ChangedFactors<Result>,
): Result {
  web.sessions.setSecret(h, secret);
  request.app.newSecret = secret;
  return result;
}

async function askForCode(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  { title, text, label, tone }: CodeQuestion,
  errors: Errors,
): Promise<ResponseObject> {
  const words = { title: say(title), text: say(text), label: say(label) };
  const values = { ...words, tone, action: request.path, errors };
  const response = await web.pages.show(request, h, 'ask-for-code', values);
  return response.code(Object.keys(errors).length === 0 ? 200 : 422);
}

function showCodes(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  codes: readonly string[],
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'recovery-codes', { title: say('codes.title'), codes });
}

function nameErrors(name: string): Errors {
  if (name === '' || !name.isWellFormed() || name.includes('\0')) return { name: [messages.blank] };
  const limit = FACTOR_NAME_CHARACTERS_MAX;
  return Array.from(name).length > limit ? { name: [atMostCharacters(limit)] } : {};
}

/** The owner of an enrolment, which can be completed only in the session that began it. */
function ownerOf({ auth }: Request): { sessionId: string; email: string } {
  const { sessionId = '', email = '' } = auth.credentials.user ?? {};
  return { sessionId, email };
}
