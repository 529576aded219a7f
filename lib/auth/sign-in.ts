// The one way by which every method (password, OpenID Connect, SAML) completes a sign-in, and the
// way out again. docs/api.md#sign-in.

import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import {
  actAs,
  type Database,
  ENABLED,
  noteAction,
  type SessionAtProvider,
  type Transaction,
  type User,
  writeTransaction,
} from '../../models/index.ts';
import { callerOf } from '../kit/http/request-caller.ts';
import type { Shared } from '../kit/process/shared.ts';
import { PageError } from '../kit/http/page-error.ts';
import { shownMethod } from './identity/method.ts';
import { localPath } from './local-path.ts';
import { hasSecondFactor } from './second-factors.ts';
import type { Sessions } from './sessions.ts';
import { maySignIn } from '../kit/records/session-life.ts';

/** What signing in needs of the server. */
export interface SignInContext {
  readonly services: Pick<Shared, 'database' | 'counters'>;
  readonly sessions: Sessions;
  /** The path of EXTERNAL_URL, without its last slash. */
  readonly outside: string;
}

/** A user who has proved their identity, and how. */
export interface SignedIn {
  readonly userId: string;
  /** `email` for a password, else a provider's `methodOf`. */
  readonly method: string;
  /** For a password: the hash that it was compared with. */
  readonly passwordHash?: string;
  /** When the person proved who they are, where that was before now: at a provider. */
  readonly since?: Date | undefined;
  /** Where the provider may end the session later: how it knows it. */
  readonly atProvider?: SessionAtProvider | undefined;
  /** The page that was asked for before signing in; anything that is no local path is ignored. */
  readonly returnTo?: string | null;
  /** What else is written in the transaction of the sign-in; what it throws refuses all of it. */
  readonly also?: (user: User, transaction: Transaction) => Promise<void>;
}

/** Why a sign-in is refused although the person proved their identity. */
export class SignInRefusal extends PageError {
  override name = 'SignInRefusal';

  constructor(reason: 'disabled' | 'unknown') {
    super('forbidden', {
      title: 'Sign-in refused',
      text:
        reason === 'disabled'
          ? 'Error signing in: this account is disabled. An administrator can enable it.'
          : 'Error signing in: this account is no longer there.',
    });
  }
}

/**
 * Completes a sign-in. Called by a handler once the method has proven who the user is (password
 * compared, code exchanged and token checked, assertion checked), and never before; the caller has
 * already found, linked or created the user. It
 *
 * 1. throws SignInRefusal (403 with a page) where the user is gone, has another password than the
 *    one that was compared, or may not sign in this way: one disabled by an administrator never,
 *    one disabled by a provider's error only through that very provider (`method` equals the user's
 *    `disabled_provider`);
 * 2. ends the session that the browser had and begins one with a new secret, so that no id
 *    survives a sign-in;
 * 3. where the user has a second factor: leaves the session in a state that opens `/mfa/auth` and
 *    nothing else, and redirects there. Steps 4 and 5 then wait for `completeSecondFactor`;
 * 4. sets `last_signed_in_at` and `last_signed_in_method`, clears a provider's disabling, and
 *    writes the audit entry, in one transaction whose revision the answer waits for, so that
 *    devices whose VPN session had ended pass packets when the page appears;
 * 5. redirects (303) to `returnTo` if that is a path of this gateway, else to `/`.
 *
 * What the caller must have done: checked CSRF (forms: by themselves; callbacks: their state) and
 * counted attempts. What it must not do: call `h.state` with the session's cookie, or answer with
 * anything but the response that this returns.
 */
export async function completeSignIn(
  context: SignInContext,
  request: Request,
  h: ResponseToolkit,
  { userId, method, passwordHash, since, atProvider, returnTo = null, also }: SignedIn,
): Promise<ResponseObject> {
  const { database } = context.services;
  const { result, revision } = await writeTransaction(database, async (transaction) => {
    const user = await lockUser(database, userId, method, transaction);
    // Changed since it was compared: that change ended all sessions, and this one would outlive it.
    if (passwordHash !== undefined && user.password_hash !== passwordHash)
      throw new SignInRefusal('unknown');
    actAs(transaction, { ...callerOf(request).origin, ...actorOf(user) });
    await also?.(user, transaction);
    const isFactorWanted = await hasSecondFactor(database, user.id, transaction);
    const state = isFactorWanted ? 'second factor' : 'open';
    // A second factor is shown now, whenever the first was.
    const beginning = {
      user,
      method,
      state,
      returnTo,
      atProvider,
      ...(isFactorWanted ? {} : { since }),
    } as const;
    const secret = await context.sessions.begin(request, beginning, transaction);
    if (!isFactorWanted) await noteSignIn(user, method, transaction);
    return { secret, isFactorWanted };
  });
  context.sessions.setSecret(h, result.secret);
  if (result.isFactorWanted) return redirect(context, h, '/mfa/auth');
  context.services.counters.add('sign_ins', 'completed');
  callerOf(request).revision = revision;
  return redirect(context, h, localPath(returnTo) ?? '/');
}

/**
 * Completes what `completeSignIn` left waiting, once a second factor was shown: the session gets a
 * new secret and opens. `prove` checks the factor in the same transaction; where it answers false
 * nothing is changed, and this returns null.
 */
export async function completeSecondFactor(
  context: SignInContext,
  request: Request,
  h: ResponseToolkit,
  prove: (userId: string, transaction: Transaction) => Promise<boolean>,
): Promise<ResponseObject | null> {
  const { database } = context.services;
  const waiting = await context.sessions.find(request);
  if (waiting?.state !== 'second factor') throw new Error('no second factor is waited for');
  const { method, return_to: returnTo } = waiting;
  const { result: secret, revision } = await writeTransaction(database, async (transaction) => {
    const user = await lockUser(database, waiting.user_id, method, transaction);
    // Ended since it was found, by another password or by an administrator.
    const where = { id: waiting.id };
    if ((await database.models.Session.count({ where, transaction })) === 0) return null;
    actAs(transaction, { ...callerOf(request).origin, ...actorOf(user) });
    if (!(await prove(user.id, transaction))) return null;
    const beginning = { user, method, state: 'open', atProvider: waiting } as const;
    const begun = await context.sessions.begin(request, beginning, transaction);
    await noteSignIn(user, method, transaction);
    return begun;
  });
  if (secret === null) return null;
  context.sessions.setSecret(h, secret);
  context.services.counters.add('sign_ins', 'completed');
  callerOf(request).revision = revision;
  return redirect(context, h, localPath(returnTo) ?? '/');
}

/** Ends the session of a request's browser, whatever its state, and writes the audit entry. */
export async function signOut(
  { services: { database }, sessions }: Pick<SignInContext, 'services' | 'sessions'>,
  request: Request,
  h: ResponseToolkit,
): Promise<void> {
  const session = await sessions.find(request);
  sessions.clearSecret(h);
  if (session === null) return;
  await writeTransaction(database, async (transaction) => {
    actAs(transaction, { ...callerOf(request).origin, ...actorOf(session.user) });
    const where = { id: session.id };
    const ended = await database.models.Session.destroy({ where, transaction });
    const entry = { action: 'sign out', kind: 'user', recordId: session.user_id } as const;
    if (ended > 0) noteAction(transaction, entry);
  });
  request.app.session = null;
}

async function lockUser(
  database: Database,
  userId: string,
  method: string,
  transaction: Transaction,
): Promise<User> {
  const user = await database.models.User.findByPk(userId, { transaction, lock: true });
  if (user === null) throw new SignInRefusal('unknown');
  if (!maySignIn(user, method)) throw new SignInRefusal('disabled');
  return user;
}

async function noteSignIn(user: User, method: string, transaction: Transaction): Promise<void> {
  await user.update(
    { last_signed_in_at: new Date(), last_signed_in_method: shownMethod(method), ...ENABLED },
    { transaction },
  );
  noteAction(transaction, {
    action: 'sign in',
    kind: 'user',
    recordId: user.id,
    changes: { method: { to: method } },
  });
}

/** A person who signs in acts in their own name, also before there is a session. */
function actorOf({ id, email, role }: User) {
  return { actor: 'user', userId: id, email, isUnprivileged: role !== 'admin' } as const;
}

function redirect({ outside }: SignInContext, h: ResponseToolkit, path: string): ResponseObject {
  return h.redirect(outside + path).code(303);
}
