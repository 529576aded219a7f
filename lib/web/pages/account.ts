// The account of the person who is signed in: what is known of them, their password, and the
// browsers in which they are signed in. Their second factors are in second-factors.ts.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import type { User } from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { hasNoErrors } from '../../kit/validation/validate.ts';
import type { FormErrors } from '../kit/plain-words.ts';
import { messages } from '../../kit/validation/messages.ts';
import { validatePasswordFields } from '../../domain/users/users.ts';
import { accountOf, fromAddress, noteLocks, takeAttempt } from '../../auth/attempts.ts';
import { actorId, callerOf } from '../../kit/http/request-caller.ts';
import { LOCAL_METHOD } from '../../auth/local.ts';
import { hashPassword, verifyPassword } from '../../auth/passwords.ts';
import { textOf } from '../kit/form-token.ts';
import { page } from '../kit/route.ts';
import { act } from '../kit/save.ts';
import { say } from '../kit/texts.ts';
import type { Web } from '../kit/web.ts';
import { providerNames } from '../parts/provider-names.ts';
import { methodName, sessionsOf } from '../parts/session-rows.ts';

/** The routes of the account. */
export function accountPages(web: Web): ServerRoute[] {
  return [
    page('GET', '/user_account', (request, h) => showAccount(web, request, h)),
    page('GET', '/user_account/change_password', (request, h) =>
      showPasswordForm(web, request, h, {}),
    ),
    page('POST', '/user_account/change_password', (request, h) => changePassword(web, request, h)),
    page('POST', '/user_account/sessions/end_others', (request, h) =>
      endSessions(web, request, h, null),
    ),
    page('POST', '/user_account/sessions/{id}/end', (request, h) =>
      endSessions(web, request, h, String(request.params['id'])),
    ),
  ];
}

async function showAccount(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { SecondFactor, RecoveryCode } = web.services.database.models;
  const userId = actorId(request);
  const where = { user_id: userId };
  const user = await ownUser(web, request);
  return web.pages.show(request, h, 'account', {
    title: say('account.title'),
    personName: user.name,
    hasPassword: user.password_hash !== null,
    lastSignedInAt: user.last_signed_in_at?.toISOString() ?? null,
    method: methodName(user.last_signed_in_method, await providerNames(web)),
    factors: await SecondFactor.findAll({ where, order: [['inserted_at', 'ASC']] }),
    recoveryCodes: await RecoveryCode.count({ where }),
    sessions: await sessionsOf(web, userId, ownSession(request)),
  });
}

async function changePassword(
  web: Web,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const { services, sessions } = web;
  const { values, errors: found } = validatePasswordFields({
    password: textOf(request, 'password'),
    password_confirmation: textOf(request, 'password_confirmation'),
  });
  const errors: FormErrors = found;
  if (textOf(request, 'password') === '') errors['password'] = [messages.blank];
  else if (textOf(request, 'password') === textOf(request, 'current_password'))
    errors['password'] = [say('password.same')];
  const user = await ownUser(web, request);
  if (!(await isOwnPassword(web, request, user)))
    errors['current_password'] = [say('password.wrong')];
  if (!hasNoErrors(errors)) return (await showPasswordForm(web, request, h, errors)).code(422);
  const secret = await web.rooms.ownAccounts.changePassword(
    callerOf(request),
    user.password_hash,
    await hashPassword(values.password ?? '', services.passwordCost),
    (present, transaction) => {
      const atProvider = request.app.session ?? undefined;
      const method = atProvider?.method ?? LOCAL_METHOD;
      const beginning = { user: present, method, state: 'open', atProvider } as const;
      return sessions.begin(request, beginning, transaction);
    },
  );
  sessions.setSecret(h, secret);
  web.pages.flash(h, 'done', say('password.is_changed'));
  return web.pages.redirect(h, '/user_account');
}

/** Counted like a sign-in: an open browser that somebody left must not serve to guess. */
async function isOwnPassword(web: Web, request: Request, user: User): Promise<boolean> {
  const { config, database, counters } = web.services;
  if (user.password_hash === null) return false;
  const counted = [accountOf(user.email), fromAddress(config, request.app.address)];
  const taken = await takeAttempt(database, counted);
  const { refusedBy } = taken;
  const typed = textOf(request, 'current_password');
  if (refusedBy !== null || !(await verifyPassword(typed, user.password_hash))) {
    counters.add('sign_ins', refusedBy === null ? 'bad_own_password' : 'too_many_own_passwords');
    await noteLocks(web.services, callerOf(request), taken, user.id);
    return false;
  }
  await web.rooms.ownAccounts.forgive(callerOf(request), counted);
  return true;
}

async function showPasswordForm(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  errors: FormErrors,
): Promise<ResponseObject> {
  const { password_hash: hash } = await ownUser(web, request);
  const values = { title: say('password.title'), hasPassword: hash !== null, errors };
  return web.pages.show(request, h, 'change-password', values);
}

/** Ends sessions of one's own; the one that asks is ended by signing out. Null: all others. */
async function endSessions(
  web: Web,
  request: Request,
  h: ResponseToolkit,
  id: string | null,
): Promise<ResponseObject> {
  return act(web, request, h, {
    async write({ ownAccounts }) {
      const count = await ownAccounts.endSessions(callerOf(request), id);
      if (count === 0 && id !== null) throw new ApiError('not_found');
      return count;
    },
    back: '/user_account',
    done: (count) =>
      count === 1 ? say('sessions.ended_one') : say('sessions.ended', { count: String(count) }),
  });
}

function ownSession({ auth }: Request): string {
  return auth.credentials.user?.sessionId ?? '';
}

async function ownUser({ services }: Web, request: Request): Promise<User> {
  const user = await services.database.models.User.findByPk(actorId(request));
  // Removed in this very moment.
  if (user === null) throw new ApiError('not_found');
  return user;
}
