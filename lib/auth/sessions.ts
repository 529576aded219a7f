// Sessions of browsers: a row of the database and a cookie whose secret is kept as a hash only.
// Each request reads its row and its user, so a session that was revoked, or whose user was shut
// out, by any process, ends at the next request. docs/api.md#sign-in.

import type { Request, ResponseToolkit, Server } from '@hapi/hapi';
import {
  type Database,
  Op,
  pruneSignIns,
  type Session,
  type SessionAtProvider,
  type SessionState,
  touchSession,
  type Transaction,
  type User,
} from '../../models/index.ts';
import type { Chore } from '../process/hourly.ts';
import { describeError } from '../process/log.ts';
import type { Shared } from '../process/shared.ts';
import { BrowserCookies, hashSecret, newSecret } from './browser-cookies.ts';
import { localPath } from './local-path.ts';
import { IDLE_MS, isAlive } from '../records/session-life.ts';

/** Sessions of one user; the one that was used least recently makes room. */
export const SESSIONS_MAX = 20;
/** Of those that wait for a second factor: whoever knows only a password ends no open session. */
export const WAITING_MAX = 5;
const USER_AGENT_CHARACTERS_MAX = 255;

/** A session with its user. */
export type LiveSession = Session & { user: User };

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** The session of this request's browser, once it was looked for. */
    session?: LiveSession | null;
  }
}

/** What a session begins with. */
export interface Beginning {
  readonly user: User;
  /** `email`, or the provider's id. */
  readonly method: string;
  readonly state: SessionState;
  /** A local path. */
  readonly returnTo?: string | null;
  /** When the person signed in, where this session continues another; now otherwise. */
  readonly since?: Date | undefined;
  /** Left out where no provider may end it. */
  readonly atProvider?: SessionAtProvider | undefined;
}

/** The sessions of one server. */
export class Sessions {
  readonly cookies: BrowserCookies;
  readonly #database: Database;
  readonly #externalUrl: string;
  readonly #log: Shared['log'];

  constructor({ config, database, log }: Pick<Shared, 'config' | 'database' | 'log'>) {
    this.cookies = new BrowserCookies(config);
    this.#database = database;
    this.#externalUrl = config.externalUrl;
    this.#log = log;
  }

  /**
   * Makes the strategies of the web's routes: `session` lets in who is signed in, `second factor`
   * who still has to show one. Whoever is not is sent to sign in, and comes back afterwards.
   */
  register(server: Server, outside: string): void {
    this.cookies.register(server);
    for (const [strategy, state] of [
      ['session', 'open'],
      ['second factor', 'second factor'],
    ] as const) {
      server.auth.scheme(strategy, () => ({
        authenticate: async (request, h) => {
          const session = await this.find(request);
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
   * A session that waits for a second factor goes there. Another browser signs in, is told if it
   * was signed in before, and comes back to the page that it asked for, or that had the form.
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

  /** The session of a request's browser, whatever its state; null when there is none that lives. */
  async find(request: Request): Promise<LiveSession | null> {
    if (request.app.session !== undefined) return request.app.session;
    const secret = this.cookies.secretOf(request, 'session');
    const session = secret === null ? null : await this.#findBySecret(secret);
    request.app.session = session;
    if (session?.state === 'open') this.#touch(session);
    return session;
  }

  /**
   * Begins a session in a transaction; ends the one that the browser had, so that its id is never
   * kept over a sign-in. Returns the secret: `setSecret` gives it to the browser after the commit.
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
    return secret;
  }

  /** Gives the browser the secret of a session that `begin` made and a commit made true. */
  setSecret(h: ResponseToolkit, secret: string): void {
    this.cookies.set(h, 'session', secret);
    // The forms of before belong to nobody who is signed in.
    this.cookies.clear(h, 'visitor');
  }

  /** Takes the secret from the browser; the row is the caller's business. */
  clearSecret(h: ResponseToolkit): void {
    this.cookies.clear(h, 'session');
  }

  async #findBySecret(secret: string): Promise<LiveSession | null> {
    const found = (await this.#database.models.Session.findOne({
      where: { sha256: hashSecret(secret) },
      include: [{ association: 'user', required: true }],
    })) as LiveSession | null;
    return found !== null && isAlive(found, Date.now()) ? found : null;
  }

  /** Sessions of both states have room of their own. */
  async #makeRoom(
    where: { readonly user_id: string; readonly state: SessionState },
    transaction: Transaction,
  ): Promise<void> {
    const { Session: sessions } = this.#database.models;
    const kept = await sessions.findAll({
      attributes: ['id'],
      where,
      order: [
        ['seen_at', 'DESC'],
        ['id', 'DESC'],
      ],
      limit: (where.state === 'open' ? SESSIONS_MAX : WAITING_MAX) - 1,
      transaction,
    });
    const ids = kept.map(({ id }) => id);
    await sessions.destroy({ where: { ...where, id: { [Op.notIn]: ids } }, transaction });
  }

  /** Never fails and is not waited for, as the use of a token is noted. */
  #touch(session: LiveSession): void {
    touchSession(this.#database, session).catch((error: unknown) => {
      this.#log.warn({ err: describeError(error) }, 'the use of a session was not noted');
    });
  }
}

/** Forgets sessions that ended by themselves, and attempts that count no more. */
export function forgetSessions(database: Database): Chore {
  return {
    failure: 'old sessions were not forgotten',
    async run() {
      await pruneSignIns(database, { seenBefore: new Date(Date.now() - IDLE_MS) });
    },
  };
}

function credentialsOf({ id: sessionId, user }: LiveSession) {
  const { id, email, role } = user;
  return { user: { id, email, role, sessionId }, scope: [role] };
}

/** The page of this gateway that sent a form; null where the browser does not say. */
function pageOfForm({ headers }: Request, externalUrl: string): string | null {
  const referer: unknown = headers['referer'];
  if (typeof referer !== 'string' || !URL.canParse(referer)) return null;
  const { origin, host, pathname, search } = new URL(referer);
  const { origin: own, pathname: base } = new URL(externalUrl);
  if (origin !== own && host !== headers['host']) return null;
  const outside = base.replace(/\/$/, '');
  const isInside = pathname === outside || pathname.startsWith(`${outside}/`);
  return isInside ? localPath(pathname.slice(outside.length) + search) : null;
}

function userAgentOf({ headers }: Request): string | null {
  const text: unknown = headers['user-agent'];
  return typeof text === 'string' ? text.slice(0, USER_AGENT_CHARACTERS_MAX) : null;
}
