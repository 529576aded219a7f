// Finds out who asks the API: the bearer scheme of hapi. It checks in this order: there is a token
// (else unauthenticated), its user may sign in (else invalid_token), the user is an administrator
// (else forbidden), and the token has the scope (else insufficient_scope). Before the last two
// checks it looks whether the token is used too often. All of that comes before the body is read,
// and strangers were checked before it (auth/strangers.ts). A command on the gateway's host asks at
// a socket of its own and needs no token: here it can only read, and commands.ts lets it write.
// docs/api.md#the-socket-for-commands.

import type { Plugin, Request } from '@hapi/hapi';
import { isWithin, touchToken } from '../../models/index.ts';
import { ApiError } from '../kit/http/errors.ts';
import { isLocal } from '../kit/http/local-socket.ts';
import { refuseLaterRow } from '../kit/records/later-rows.ts';
import { badToken, isExpired } from '../kit/records/session-life.ts';
import type { Recall } from '../kit/records/recall.ts';
import { describeError } from '../kit/process/log.ts';
import type { Shared } from '../kit/process/shared.ts';
import { readToken } from '../auth/bearer-token.ts';
import type { KnownGood, Somebody } from '../auth/known-good.ts';
import { RateLimits } from '../auth/rate-limits.ts';
import { requireScope, scopesFor } from '../kit/operations/scopes.ts';
import type { Strangers } from '../auth/strangers.ts';
import { findTokenOwner, hashToken, isTokenText, type TokenOwner } from '../auth/tokens.ts';

/** Least time between two notes that a token was used. */
const TOUCH_EVERY_MS = 60_000;
/** Tokens whose last use is known at most. */
const NOTED_MAX = 10_000;

/** What the scheme needs. */
export interface BearerOptions {
  readonly services: Pick<Shared, 'config' | 'database' | 'log'> & {
    readonly limitsNow?: () => number;
  };
  readonly recall: Recall;
  readonly strangers: Strangers;
  readonly known: KnownGood;
}

/** Makes `administrator` the strategy of every route that names no other. */
export const bearer: Plugin<BearerOptions> = {
  name: 'bearer',
  register(server, { services, recall, strangers, known }) {
    const notes = new UseNotes(services);
    const limits = new RateLimits(services.config.apiRateLimit, services.limitsNow);
    server.auth.scheme('bearer', () => ({
      async authenticate(request, h) {
        if (isLocal(request.raw.req)) {
          requireReading(request);
          return h.authenticated({ credentials: {} });
        }
        const owner = await ownerOf(request, { services, recall, strangers, known });
        limits.checkToken(owner.tokenId);
        notes.add(owner.tokenId);
        requireAdministrator(owner);
        requireScope(request.route, owner.scopes);
        const { userId: id, email, tokenId, scopes, role } = owner;
        return h.authenticated({ credentials: { user: { id, email, tokenId, scopes, role } } });
      },
    }));
    server.auth.strategy('administrator', 'bearer');
    server.auth.default('administrator');
  },
};

/** The caller; a client that shows no good token is a stranger. */
async function ownerOf(request: Request, options: BearerOptions): Promise<TokenOwner> {
  try {
    const token = readToken(request);
    if (token === null) throw new ApiError('unauthenticated');
    if (!isTokenText(token)) throw new ApiError('invalid_token');
    const sha256 = hashToken(token);
    const found = await findOwner(sha256, options);
    const owner = goodOwner(found, options);
    // A client that has the token may know when it ended; a client that guesses learns nothing.
    if (owner === null) throw badToken(endOf(found));
    options.known.add(sha256, somebodyOf(owner));
    return owner;
  } catch (error) {
    if (error instanceof ApiError) options.strangers.disown(request.raw.req, request.app.address);
    throw error;
  }
}

/** Where owners are looked for. */
type Known = Pick<BearerOptions, 'services' | 'recall'>;

/** The owner of a token that is good now, by its SHA-256; null where it is not. */
export async function findGoodOwner(sha256: string, known: Known): Promise<TokenOwner | null> {
  return goodOwner(await findOwner(sha256, known), known);
}

/** The owner of a token, good or not, by its SHA-256; null where there is none. */
async function findOwner(
  sha256: string,
  { services: { database }, recall }: Known,
): Promise<TokenOwner | null> {
  await recall.refresh();
  return recall.read(`token ${sha256}`, async () => {
    const value = await findTokenOwner(database, sha256);
    if (value === null) return null;
    const { tokenId, userId } = value;
    return {
      value,
      sources: [
        { table: 'api_tokens', id: tokenId },
        { table: 'users', id: userId },
      ],
    };
  });
}

/** An owner whose token is good now; else null. */
function goodOwner(owner: TokenOwner | null, { services }: Known): TokenOwner | null {
  if (owner === null || owner.isDisabled || isExpired(owner.expiresAt, Date.now())) return null;
  refuseLaterRow(services.database, owner.insertedAt);
  return owner;
}

/** Whose a token is, for the pace. */
export function somebodyOf({ userId, role }: TokenOwner): Somebody {
  return { userId, isAdministrator: role === 'admin', by: 'token' };
}

/** The end of a token whose time is over. */
function endOf(owner: TokenOwner | null): Date | null {
  const end = owner?.expiresAt ?? null;
  return isExpired(end, Date.now()) ? end : null;
}

function requireAdministrator(owner: TokenOwner): void {
  if (owner.role !== 'admin') throw new ApiError('forbidden');
}

/** Commands write at an address of their own, where they first ask which program the gateway is. */
function requireReading(request: Request): void {
  if (scopesFor(request.route).length === 0)
    throw new ApiError('forbidden', { reason: 'local_write' });
}

/** Notes in the database when tokens were used, once a minute for each. */
class UseNotes {
  readonly #services: BearerOptions['services'];
  readonly #lastMs = new Map<string, number>();

  constructor(services: BearerOptions['services']) {
    this.#services = services;
  }

  /** Never fails and is not waited for: a missing note is no reason to delay a request. */
  add(tokenId: string): void {
    const nowMs = Date.now();
    if (isWithin(this.#lastMs.get(tokenId) ?? 0, TOUCH_EVERY_MS, nowMs)) return;
    if (this.#lastMs.size >= NOTED_MAX) this.#lastMs.clear();
    this.#lastMs.set(tokenId, nowMs);
    const { database, log } = this.#services;
    touchToken(database, tokenId).catch((error: unknown) => {
      log.warn({ err: describeError(error) }, 'the use of a token was not noted');
    });
  }
}
