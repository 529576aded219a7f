// Sessions of browsers: a row of the database, and a cookie with a secret of which only the hash is
// kept. Each request reads the row and the user. So a session ends at the next request after any
// process revoked it or disabled its user. docs/api.md#sign-in.

import type { Request, ResponseToolkit, Server } from '@hapi/hapi';
import {
  countsFrom,
  type Database,
  forgetAssertions,
  forgetUndos,
  JUMP_MAX_MS,
  Op,
  pruneSignIns,
  type Session,
  type SessionAtProvider,
  type SessionState,
  touchSession,
  type Transaction,
  type User,
} from '../../models/index.ts';
import { ApiError } from '../kit/http/errors.ts';
import { pageAt } from '../kit/http/late-routes.ts';
import type { ForgettingTime } from '../kit/process/forgetting.ts';
import type { Chore } from '../kit/process/hourly.ts';
import { describeError } from '../kit/process/log.ts';
import type { Shared } from '../kit/process/shared.ts';
import { BrowserCookies, hashSecret, newSecret } from './browser-cookies.ts';
import { KnownGood, type Somebody } from './known-good.ts';
import { localPath } from './local-path.ts';
import { refuseLaterRow } from '../kit/records/later-rows.ts';
import { IDLE_MS, isAlive } from '../kit/records/session-life.ts';

/** The most sessions of one user; then the one that was unused for longest ends. */
export const SESSIONS_MAX = 20;
/**
 * The most sessions that wait for a second factor. They are counted apart, so that somebody who
 * knows only the password cannot end open sessions.
 */
export const WAITING_MAX = 5;
/** The strategy of routes that only administrators may use. */
export const ADMINISTRATORS = 'session of an administrator';
/** The state that a session must have, by the strategy of a route. */
const STATES = new Map<string, SessionState>([
  ['session', 'open'],
  [ADMINISTRATORS, 'open'],
  ['second factor', 'second factor'],
]);
const USER_AGENT_CHARACTERS_MAX = 255;

/** Who looks at a stream. */
export interface Viewer {
  readonly sessionId: string;
  readonly userId: string;
  readonly isAdministrator: boolean;
}

/** A session with its user. */
export type LiveSession = Session & { user: User };

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** The session of this request's browser; undefined until it was looked for. */
    session?: LiveSession | null;
  }
}

/** The values of a session that begins. */
export interface Beginning {
  readonly user: User;
  /** `email`, or the provider's id. */
  readonly method: string;
  readonly state: SessionState;
  /** A local path. */
  readonly returnTo?: string | null;
  /** When the person signed in, if this session continues another one; else now. */
  readonly since?: Date | undefined;
  /** Left out if no provider may end it. */
  readonly atProvider?: SessionAtProvider | undefined;
}

/** The sessions of one server. */
export class Sessions {
  readonly cookies: BrowserCookies;
  readonly #database: Database;
  readonly #externalUrl: string;
  readonly #log: Shared['log'];
  readonly #known: KnownGood;

  /** `known` gets to know the sessions that are good. */
  constructor(
    { config, database, log }: Pick<Shared, 'config' | 'database' | 'log'>,
    known: KnownGood = new KnownGood(),
  ) {
    this.#known = known;
    this.cookies = new BrowserCookies(config);
    this.#database = database;
    this.#externalUrl = config.externalUrl;
    this.#log = log;
  }

  /**
   * Makes the strategies of the console's routes: `session` admits people who are signed in,
   * `ADMINISTRATORS` administrators of them, and `second factor` people who must still
   * show one. Others are redirected to sign in, and come back afterwards.
   */
  register(server: Server, outside: string): void {
    this.cookies.register(server);
    for (const [strategy, state] of STATES) {
      server.auth.scheme(strategy, () => ({
        authenticate: async (request, h) => {
          const session = await this.find(request);
          // hapi asks for scopes after it has read the body: that of anybody else is not read.
          if (
            strategy === ADMINISTRATORS &&
            session?.state === state &&
            session.user.role !== 'admin'
          )
            throw new ApiError('forbidden');
          if (session !== null && session.state === state)
            return h.authenticated({ credentials: credentialsOf(session) });
          if (request.auth.mode === 'try') return h.unauthenticated(new Error('not signed in'));
          const place = this.#placeToSignIn(request, session, state);
          return h.redirect(outside + place).takeover();
        },
      }));
      server.auth.strategy(strategy, strategy);
    }
  }

  /**
   * Where a browser is redirected that may not see a page. A session that waits for a second factor
   * goes to that page. Any other browser goes to the sign-in, which says if a session ended, and
   * comes back to the page that it asked for, or to the page with the form.
   */
  #placeToSignIn(request: Request, session: LiveSession | null, wantedState: SessionState): string {
    if (session?.state === 'second factor') return '/mfa/auth';
    if (session?.state === 'open') return '/';
    const wanted =
      wantedState !== 'open'
        ? null
        : request.method === 'get'
          ? localPath(request.path + request.url.search)
          : pageOfForm(request, this.#externalUrl);
    const query = new URLSearchParams({
      ...(wanted === null || wanted === '/' ? {} : { return_to: wanted }),
      ...(this.cookies.secretOf(request, 'session') === null ? {} : { why: 'ended' }),
    }).toString();
    return query === '' ? '/' : `/?${query}`;
  }

  /** The session of a request's browser, in any state; null if there is none or it has ended. */
  async find(request: Request): Promise<LiveSession | null> {
    if (request.app.session !== undefined) return request.app.session;
    const secret = this.cookies.secretOf(request, 'session');
    const sha256 = secret === null ? null : hashSecret(secret);
    const session = sha256 === null ? null : await this.findBySha256(sha256);
    request.app.session = session;
    if (sha256 !== null && session !== null) this.#known.add(sha256, somebodyOf(session));
    if (session?.state === 'open') this.#touch(session);
    return session;
  }

  /**
   * Begins a session in a transaction and ends the one that the browser had, so that each sign-in
   * gets a new id. Returns the secret; after the commit, `setSecret` gives it to the browser.
   */
  async begin(
    request: Request,
    { user, method, state, returnTo = null, since, atProvider }: Beginning,
    transaction: Transaction,
  ): Promise<string> {
    const { Session: sessions } = this.#database.models;
    const former = this.cookies.secretOf(request, 'session');
    if (former !== null)
      await sessions.destroy({ where: { sha256: hashSecret(former) }, transaction });
    await this.#makeRoom({ user_id: user.id, state }, transaction);
    const secret = newSecret();
    const now = new Date();
    await sessions.create(
      {
        user_id: user.id,
        sha256: hashSecret(secret),
        state,
        method,
        account_key: atProvider?.account_key ?? null,
        provider_session: atProvider?.provider_session ?? null,
        return_to: localPath(returnTo),
        address: request.app.address ?? null,
        user_agent: userAgentOf(request),
        inserted_at: since ?? now,
        seen_at: now,
      },
      { transaction },
    );
    // Nobody has the secret if the transaction is undone.
    this.#known.add(hashSecret(secret), somebodyOf({ user, state }));
    return secret;
  }

  /** Gives the browser the secret of a session that `begin` made, after the commit. */
  setSecret(h: ResponseToolkit, secret: string): void {
    this.cookies.set(h, 'session', secret);
    // Forms that were opened before the sign-in must no longer be accepted.
    this.cookies.clear(h, 'visitor');
  }

  /** Removes the secret from the browser; the caller must delete the row. */
  clearSecret(h: ResponseToolkit): void {
    this.cookies.clear(h, 'session');
  }

  /** The session of a secret that has this SHA-256; null if there is none or it has ended. */
  async findBySha256(sha256: string): Promise<LiveSession | null> {
    const found = (await this.#database.models.Session.findOne({
      where: { sha256 },
      include: [{ association: 'user', required: true }],
    })) as LiveSession | null;
    if (found === null || !isAlive(found, Date.now())) return null;
    refuseLaterRow(this.#database, found.inserted_at);
    return found;
  }

  /** Deletes the sessions of a user that are too many in a state. */
  async #makeRoom(
    where: { readonly user_id: string; readonly state: SessionState },
    transaction: Transaction,
  ): Promise<void> {
    const { Session: sessions } = this.#database.models;
    const found = await sessions.findAll({
      attributes: ['id', 'seen_at'],
      where,
      order: [
        ['seen_at', 'DESC'],
        ['id', 'DESC'],
      ],
      transaction,
    });
    const now = Date.now();
    // Those of a clock that was far ahead are over: they keep nobody's place.
    const isOver = (session: Session): boolean => countsFrom(session.seen_at, IDLE_MS) > now;
    const inOrder = found.toSorted((one, other) => Number(isOver(one)) - Number(isOver(other)));
    const max = where.state === 'open' ? SESSIONS_MAX : WAITING_MAX;
    const ids = inOrder.slice(0, max - 1).map(({ id }) => id);
    await sessions.destroy({ where: { ...where, id: { [Op.notIn]: ids } }, transaction });
  }

  /** Notes the use of a session. Nobody waits for it, and a failure is only logged. */
  #touch(session: LiveSession): void {
    touchSession(this.#database, session).catch((error: unknown) => {
      this.#log.warn({ err: describeError(error) }, 'the use of a session was not noted');
    });
  }
}

/** Whose a session is, for the pace. */
export function somebodyOf({ user, state }: Pick<LiveSession, 'user' | 'state'>): Somebody {
  const by = state === 'open' ? 'session' : 'waiting session';
  return { userId: user.id, isAdministrator: user.role === 'admin', by };
}

/** Whether a route asks for a session, also one that serves without. */
export function asksForSession({ route }: Request): boolean {
  const auth = route.settings.auth as false | undefined | { strategies: string[] };
  return typeof auth === 'object' && auth.strategies.some((strategy) => STATES.has(strategy));
}

/** Forgets sessions and used assertions that have expired, and attempts that no longer count. */
export function forgetSessions(database: Database, time: ForgettingTime): Chore {
  return {
    failure: 'old sessions were not forgotten',
    async run() {
      // They are void by themselves: a jump of the clock that is made good must not take them.
      const now = new Date((await time()).getTime() - JUMP_MAX_MS);
      await pruneSignIns(database, { seenBefore: new Date(now.getTime() - IDLE_MS), now });
      await forgetAssertions(database, now);
      await forgetUndos(database, new Date(now.getTime() - IDLE_MS));
    },
  };
}

function credentialsOf({ id: sessionId, user }: LiveSession) {
  const { id, email, role } = user;
  return { user: { id, email, role, sessionId }, scope: [role] };
}

/** The page of this gateway that sent a form; null if the browser does not say it. */
function pageOfForm({ headers, server }: Request, externalUrl: string): string | null {
  const referer: unknown = headers['referer'];
  if (typeof referer !== 'string' || !URL.canParse(referer)) return null;
  const { origin, host, pathname, search } = new URL(referer);
  const { origin: own, pathname: base } = new URL(externalUrl);
  if (origin !== own && host !== headers['host']) return null;
  const outside = base.replace(/\/$/, '');
  const isInside = pathname === outside || pathname.startsWith(`${outside}/`);
  const sentFrom = isInside ? localPath(pathname.slice(outside.length) + search) : null;
  return sentFrom === null ? null : pageAtOrAbove(server, sentFrom);
}

/** A question before a write is shown where its form was sent to, which often is no page. */
function pageAtOrAbove(server: Server, path: string): string {
  const [place = '/'] = path.split('?');
  if (place === '/' || pageAt(server, place) !== null) return path;
  return pageAtOrAbove(server, place.replace(/\/[^/]*$/, '') || '/');
}

function userAgentOf({ headers }: Request): string | null {
  const text: unknown = headers['user-agent'];
  return typeof text === 'string' ? text.slice(0, USER_AGENT_CHARACTERS_MAX) : null;
}
