// A user's second factors: setting an authenticator up, removing one, new recovery codes. All of
// these ask for a recent sign-in. Those that make the account weaker also ask for a code, so that
// a browser that somebody left open is not enough.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { Transaction, User } from '../../../models/index.ts';
import { ApiError } from '../../http/errors.ts';
import type { FormError } from '../kit/plain-words.ts';
import { atMostCharacters, messages } from '../../judge/messages.ts';
import { forgiveAttempt, noteLocks, takeAttempt } from '../../auth/attempts.ts';
import { actorId, callerOf } from '../../http/request-caller.ts';
import { LOCAL_METHOD } from '../../auth/local.ts';
import {
  addSecondFactor,
  beginEnrolment,
  type Enrolment,
  FACTOR_NAME_CHARACTERS_MAX,
  FACTORS_MAX,
  hasSecondFactor,
  openEnrolment,
  removeSecondFactor,
  renewRecoveryCodes,
  spendCode,
  stepOf,
} from '../../auth/second-factors.ts';
import { textOf } from '../kit/form-token.ts';
import { recently } from '../kit/recent.ts';
import { page } from '../kit/route.ts';
import type { Web } from '../kit/web.ts';
import { BAD_CODE, codesOf, tryCode } from './second-factor.ts';

type Faults = Record<string, FormError[]>;

/** The field for a code of an authenticator that the user already has. */
const PRESENT_CODE = 'present_code';
const TOO_MANY = `You have ${FACTORS_MAX} second factors, which is the most. Remove one first.`;
const WRONG_CODE =
  'This is not the code that your authenticator shows now. Type the one that it shows now; if that is refused too, check the clock of your phone.';

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

/** An action for which a code is asked. */
interface Deed {
  readonly title: string;
  readonly text: string;
  readonly label: string;
}

const removal: Deed = {
  title: 'Remove a second factor',
  text: 'You cannot sign in with its codes any more. If it is your last one, your recovery codes are removed too. Your other browsers are signed out.',
  label: 'Remove it',
};

const renewal: Deed = {
  title: 'New recovery codes',
  text: 'You get ten new codes. The old codes no longer work, and your other browsers are signed out.',
  label: 'Make new ones',
};

async function showEnrolment(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  begun: Enrolment | null = null,
  faults: Faults = {},
): Promise<ResponseObject> {
  const { database } = web.services;
  const enrolment = begun ?? (await beginEnrolment(database, ownerOf(request)));
  const { renderSVG } = await import('uqr');
  return web.pages.show(request, h, 'register-mfa', {
    title: 'Add a second factor',
    isAnother: await hasSecondFactor(database, actorId(request)),
    sealed: enrolment.sealed,
    secret: enrolment.secret.match(/.{1,4}/g)?.join(' '),
    // The SVG is made only of the address: letters, digits and what URLs encode.
    qr: renderSVG(enrolment.address, { border: 2 }),
    name: textOf(request, 'name'),
    faults,
  });
}

async function enrol(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database } = web.services;
  const enrolment = await openEnrolment(database, textOf(request, 'sealed'), ownerOf(request));
  if (enrolment === null) throw new ApiError('stale_form');
  const name = textOf(request, 'name').trim();
  const step = await stepOf(enrolment.secret, textOf(request, 'code'), 0);
  const faults: Faults = {
    ...nameFaults(name),
    ...(step === null ? { code: [WRONG_CODE] } : {}),
  };
  if (step === null || Object.keys(faults).length > 0)
    return (await showEnrolment(web, request, h, enrolment, faults)).code(422);
  const added = await addProven(web, request, h, { name, secret: enrolment.secret, step });
  if ('faults' in added)
    return (await showEnrolment(web, request, h, enrolment, added.faults)).code(422);
  if (added.recoveryCodes.length > 0) return showCodes(web, request, h, added.recoveryCodes);
  web.pages.flash(
    h,
    'done',
    `The second factor “${name}” is set up. Other browsers were signed out.`,
  );
  return web.pages.redirect(h, '/user_account');
}

/** Adds a second factor; a user who already has one must also show a code of it. */
async function addProven(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  factor: { readonly name: string; readonly secret: string; readonly step: number },
): Promise<{ recoveryCodes: readonly string[] } | { faults: Faults }> {
  const { database } = web.services;
  const counted = codesOf(request);
  const isAsked = await hasSecondFactor(database, actorId(request));
  const taken = isAsked ? await takeAttempt(database, counted) : null;
  const mayTry = taken?.refusedBy === null;
  let faults: Faults = {};
  const added = await changeFactors(web, request, h, async (user, transaction) => {
    faults = { [PRESENT_CODE]: [BAD_CODE] };
    if (await hasSecondFactor(database, user.id, transaction)) {
      const code = textOf(request, PRESENT_CODE);
      if (!mayTry || !(await spendCode(database, user.id, code, transaction))) return null;
      await forgiveAttempt(database, counted, transaction);
    }
    faults = { name: [TOO_MANY] };
    return addSecondFactor(database, { ...factor, userId: user.id }, transaction);
  });
  if (added === null && taken !== null)
    await noteLocks(web.services, callerOf(request), taken, actorId(request));
  return added ?? { faults };
}

async function remove(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database } = web.services;
  const id = String(request.params['id']);
  const isDone = await withCode(web, request, h, (user, transaction) =>
    removeSecondFactor(database, user.id, id, transaction),
  );
  if (isDone === null) return askForCode(web, request, h, removal, { code: [BAD_CODE] });
  if (!isDone) throw new ApiError('not_found');
  web.pages.flash(h, 'done', 'The second factor is removed. Other browsers were signed out.');
  return web.pages.redirect(h, '/user_account');
}

async function renew(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const codes = await withCode(web, request, h, (user, transaction) =>
    renewRecoveryCodes(web.services.database, user.id, transaction),
  );
  return codes === null
    ? askForCode(web, request, h, renewal, { code: [BAD_CODE] })
    : showCodes(web, request, h, codes);
}

/** Spends the code of the form and then runs `write`; null if the code is not good. */
async function withCode<T>(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  write: (user: User, transaction: Transaction) => Promise<T>,
): Promise<T | null> {
  const count = (isLocked: boolean): void =>
    web.services.counters.add('sign_ins', isLocked ? 'too_many_own_codes' : 'bad_own_code');
  return tryCode(web, request, count, (spend) =>
    changeFactors(web, request, h, async (user, transaction) =>
      (await spend(user.id, transaction)) ? write(user, transaction) : null,
    ),
  );
}

/**
 * Runs `write`, which changes the user's second factors. If it changed something (its result is not
 * null), other browsers are signed out and this one gets a new secret.
 */
async function changeFactors<T>(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  write: (user: User, transaction: Transaction) => Promise<T | null>,
): Promise<T | null> {
  const { models } = web.services.database;
  const { method = LOCAL_METHOD, inserted_at: since } = request.app.session ?? {};
  const done = await web.writes.run(callerOf(request), {
    judge: async (transaction) => {
      const id = actorId(request);
      const user = await models.User.findByPk(id, { transaction, lock: true });
      if (user === null) throw new ApiError('not_found');
      // A session that ended after the request came (by a new password, say) must begin no other.
      const where = { id: request.app.session?.id ?? '' };
      if ((await models.Session.count({ where, transaction })) === 0)
        throw new ApiError('stale_form');
      return user;
    },
    write: async (transaction, user) => {
      const result = await write(user, transaction);
      if (result === null) return null;
      await models.Session.destroy({ where: { user_id: user.id }, transaction });
      const atProvider = request.app.session ?? undefined;
      const beginning = { user, method, state: 'open', since, atProvider } as const;
      return { result, secret: await web.sessions.begin(request, beginning, transaction) };
    },
  });
  if (done === null) return null;
  web.sessions.setSecret(h, done.secret);
  request.app.newSecret = done.secret;
  return done.result;
}

async function askForCode(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  deed: Deed,
  faults: Faults,
): Promise<ResponseObject> {
  const values = { ...deed, action: request.path, faults };
  const response = await web.pages.show(request, h, 'ask-for-code', values);
  return response.code(Object.keys(faults).length === 0 ? 200 : 422);
}

function showCodes(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  codes: readonly string[],
): Promise<ResponseObject> {
  return web.pages.show(request, h, 'recovery-codes', { title: 'Your recovery codes', codes });
}

function nameFaults(name: string): Faults {
  if (name === '' || !name.isWellFormed() || name.includes('\0')) return { name: [messages.blank] };
  const limit = FACTOR_NAME_CHARACTERS_MAX;
  return Array.from(name).length > limit ? { name: [atMostCharacters(limit)] } : {};
}

/** The owner of an enrolment, which can be completed only in the session that began it. */
function ownerOf({ auth }: Request): { sessionId: string; email: string } {
  const { sessionId = '', email = '' } = auth.credentials.user ?? {};
  return { sessionId, email };
}
