// API tokens: `pst_` and 32 random bytes, shown once and kept as a SHA-256. The database is
// searched for the hash, so the time of a search reveals nothing about a token. 256 random bits
// need no bcrypt. docs/api.md#authentication.

import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type ApiToken,
  claimBootstrapToken,
  type Database,
  emailKey,
  lockScopes,
  Op,
  readClocks,
  type Role,
  type Transaction,
  type User,
  writeTransaction,
} from '../../models/index.ts';
import { ApiError } from '../kit/http/errors.ts';
import type { Errors } from '../kit/validation/validate.ts';
import { atMostCharacters, type FieldError, messages } from '../kit/validation/messages.ts';
import { noUser } from '../kit/process/absent.ts';
import { newApiToken } from '../kit/process/api-token.ts';
import type { Caller } from '../kit/process/caller.ts';
import { refuseErrors, type RunsWrites, type Work } from '../kit/records/writes.ts';
import { findByEmail } from './named-user.ts';
import { DEFAULT_SCOPES, type Scope, scopesIn, scopeText } from '../kit/operations/scopes.ts';

const TOKEN = /^pst_[A-Za-z0-9_-]{43}$/;
/** How many days a token lives by default. */
export const DEFAULT_DAYS = 90;
/** The most days that a token lives. */
export const DAYS_MAX = 365;
const DAY_MS = 86_400_000;
/** Live tokens that one user may have. */
const LIVE_TOKENS_MAX = 25;
/** The bootstrap token of a gateway that was not seen for this time is no longer kept. */
const CLAIM_MS = 3_600_000;
const BOOTSTRAP_NAME = 'BOOTSTRAP_API_TOKEN';
/** The most characters of a token's name. */
export const NAME_CHARACTERS_MAX = 255;

/** What a new token is to be. */
export interface TokenWish {
  readonly name: string;
  readonly days?: number;
  readonly scopes?: readonly Scope[];
}

/** What making a token by a request needs. */
export interface TokenMaker {
  readonly services: { readonly database: Database };
  readonly writes: RunsWrites;
}

/** A token that was just made; `token` is not kept anywhere. */
export interface CreatedToken {
  id: string;
  token: string;
  name: string;
  scopes: Scope[];
  expires_at: Date;
}

/** A token as it is listed. */
export interface ListedToken {
  id: string;
  /** The owner's e-mail address. */
  email: string;
  name: string;
  scopes: Scope[];
  /** Null if it does not expire. */
  expires_at: Date | null;
  last_used_at: Date | null;
  inserted_at: Date;
}

/** A token as it is listed, with its owner's id for links. */
export interface OwnedToken extends ListedToken {
  user_id: string;
}

/** The owner of a token, whose rights it has until it expires. */
export interface TokenOwner {
  tokenId: string;
  sha256: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
  userId: string;
  email: string;
  role: Role;
  isDisabled: boolean;
  /** When the token was made. */
  insertedAt: Date;
}

/** True for text that has the form of a token. */
export function isTokenText(text: string): boolean {
  return TOKEN.test(text);
}

/** The hash under which a token is kept. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Makes a token for the user with an e-mail address, where no server runs writes. */
export async function createToken(
  database: Database,
  { email, ...wish }: TokenWish & { readonly email: string },
  now: Date = new Date(),
): Promise<CreatedToken> {
  const user = await findByEmail(database, email);
  if (user === null) throw noUser(email);
  const work = tokenWork(database, { userId: user.id, tokenId: null }, wish, now);
  const { result } = await writeTransaction(database, async (transaction) =>
    work.write(transaction, await work.check(transaction)),
  );
  return result;
}

/** What is wrong with the name and the days of a new token. */
export function tokenErrors({ name, days }: { name: string; days: number }): Errors {
  const errors: Errors = {};
  const isReadable = name.isWellFormed() && !name.includes('\0');
  if (name.trim() === '') errors['name'] = [messages.blank];
  else if (!isReadable) errors['name'] = [messages.invalid];
  else if (Array.from(name).length > NAME_CHARACTERS_MAX)
    errors['name'] = [atMostCharacters(NAME_CHARACTERS_MAX)];
  if (!Number.isInteger(days) || days < 1 || days > DAYS_MAX)
    errors['days'] = [{ code: 'tokenDays', values: { most: DAYS_MAX } }];
  return errors;
}

/** Makes a token that is not in the database yet. */
function newToken(
  { name, days = DEFAULT_DAYS, scopes = DEFAULT_SCOPES }: TokenWish,
  now: Date = new Date(),
): Omit<CreatedToken, 'id'> {
  const token = newApiToken();
  return {
    token,
    name: name.trim(),
    scopes: scopesIn(scopeText(scopes)),
    expires_at: new Date(now.getTime() + days * DAY_MS),
  };
}

/** The user whose token is made, and the token with which the user asks; null: without a token. */
interface TokenMakers {
  readonly userId: string;
  readonly tokenId: string | null;
}

/** Makes a token for the caller. */
export function makeToken(
  { services: { database }, writes }: TokenMaker,
  caller: Caller,
  wish: TokenWish,
): Promise<CreatedToken> {
  const makers = { userId: caller.userId ?? '', tokenId: caller.letIn?.tokenId ?? null };
  return writes.run(caller, tokenWork(database, makers, wish));
}

/** Makes a token for the user of an id, who did not ask for it. */
export function makeTokenFor(
  { services: { database }, writes }: TokenMaker,
  caller: Caller,
  userId: string,
  wish: TokenWish,
): Promise<CreatedToken> {
  return writes.run(caller, tokenWork(database, { userId, tokenId: null }, wish));
}

/** Makes a token; it ends with the token by which it is asked for, if that is earlier. */
function tokenWork(
  database: Database,
  { userId, tokenId }: TokenMakers,
  wish: TokenWish,
  now: Date = new Date(),
): Work<Omit<CreatedToken, 'id'>, CreatedToken> {
  const { User, ApiToken } = database.models;
  return {
    check: async (transaction) => {
      const lock = { transaction, lock: true };
      const user = await User.findByPk(userId, lock);
      const maker = tokenId === null ? undefined : await ApiToken.findByPk(tokenId, lock);
      // They were there when the request was admitted.
      if (user === null || maker === null) throw new ApiError('invalid_token');
      if (user.disabled_at !== null) refuseErrors({ base: [ofDisabled(user)] });
      refuseErrors(await liveTokenErrors(database, userId, transaction, now));
      const token = newToken(wish, now);
      const end = maker?.expires_at ?? token.expires_at;
      return { ...token, expires_at: end < token.expires_at ? end : token.expires_at };
    },
    write: async (transaction, token) => ({
      ...token,
      id: await insertToken(database, userId, token, transaction),
    }),
  };
}

function ofDisabled({ email }: Pick<User, 'email'>): FieldError {
  return { code: 'tokenOfDisabled', values: { email } };
}

/** The errors if a user may not have one more token; the user's row must be locked. */
async function liveTokenErrors(
  database: Database,
  userId: string,
  transaction: Transaction,
  now: Date = new Date(),
): Promise<{ base?: FieldError[] }> {
  const isLive = { [Op.or]: [{ expires_at: null }, { expires_at: { [Op.gt]: now } }] };
  const where = { user_id: userId, ...isLive };
  const live = await database.models.ApiToken.count({ where, transaction });
  return live >= LIVE_TOKENS_MAX
    ? { base: [{ code: 'tooManyTokens', values: { most: LIVE_TOKENS_MAX } }] }
    : {};
}

/** Gives a user a token; returns its id. */
async function insertToken(
  database: Database,
  userId: string,
  { token, name, scopes, expires_at }: Omit<CreatedToken, 'id'>,
  transaction: Transaction,
): Promise<string> {
  const row = {
    user_id: userId,
    name,
    scopes: scopeText(scopes),
    sha256: hashToken(token),
    expires_at,
  };
  return (await database.models.ApiToken.create(row, { transaction })).id;
}

/** Lists the tokens of all users or of the user with an e-mail address; the oldest first. */
export async function listTokens(
  database: Database,
  { email }: { email?: string } = {},
): Promise<ListedToken[]> {
  const tokens = await readTokens(database, email === undefined ? {} : { email });
  return tokens.map(({ user_id: _owner, ...listed }) => listed);
}

/** Reads tokens with their owners' ids: all, those with some ids, or those of one user. */
export async function readTokens(
  database: Database,
  { email, ids }: { email?: string; ids?: readonly string[] },
): Promise<OwnedToken[]> {
  const { ApiToken, User } = database.models;
  const tokens = await ApiToken.findAll({
    ...(ids === undefined ? {} : { where: { id: [...ids] } }),
    include: [
      {
        model: User,
        as: 'user',
        attributes: ['email'],
        ...(email === undefined ? {} : { where: { email_key: emailKey(email.trim()) } }),
      },
    ],
    order: [
      ['inserted_at', 'ASC'],
      ['id', 'ASC'],
    ],
  });
  return tokens.map(ownedToken);
}

/** Reads a part of all tokens, or of those of one user, in the order of their ids. */
export async function readTokenPage(
  database: Database,
  { afterId, userId, limit }: { afterId: string | null; userId: string | null; limit: number },
): Promise<OwnedToken[]> {
  const { ApiToken, User } = database.models;
  const tokens = await ApiToken.findAll({
    where: {
      ...(afterId === null ? {} : { id: { [Op.gt]: afterId } }),
      ...(userId === null ? {} : { user_id: userId }),
    },
    include: [{ model: User, as: 'user', attributes: ['email'] }],
    order: [['id', 'ASC']],
    limit,
  });
  return tokens.map(ownedToken);
}

function ownedToken(token: ApiToken): OwnedToken {
  return {
    id: token.id,
    user_id: token.user_id,
    email: (token as typeof token & { user: { email: string } }).user.email,
    name: token.name,
    scopes: scopesIn(token.scopes),
    expires_at: token.expires_at,
    last_used_at: token.last_used_at,
    inserted_at: token.inserted_at,
  };
}

/**
 * Makes the given value a token of the first administrator. Each gateway claims its value at every
 * start; a token that no gateway claims any more is deleted. The clock of the database server, if
 * there is one, decides which gateways still claim a token: the clock of the host may be wrong at a
 * start.
 */
export async function ensureBootstrapToken(
  database: Database,
  gatewayId: string,
  token: string | null,
  time?: Date,
): Promise<void> {
  const sha256 = token === null ? null : hashToken(token);
  const now = time ?? (await readClocks(database)).server ?? new Date();
  await writeTransaction(database, async (transaction) => {
    await lockScopes(database, transaction, { configuration: true });
    // Only bootstrap tokens do not expire: `createToken` always sets a date. They are read before
    // the claims, because nodes of a cluster do not see each other's locks: a gateway whose token
    // is read here has made its claim before, so the claim is read too.
    const where = { expires_at: null };
    const present = await database.models.ApiToken.findAll({ where, transaction });
    const claim = { sha256, forMs: CLAIM_MS, now };
    const claimed = await claimBootstrapToken(database, gatewayId, claim, transaction);
    const owner = sha256 === null ? null : await firstAdministrator(database, transaction);
    await replaceBootstrapToken(database, present, { sha256, owner, claimed }, transaction);
  });
}

/**
 * Finds the owner of a token; null if there is none. The caller checks expiry and rights.
 */
export async function findTokenOwner(
  database: Database,
  sha256: string,
): Promise<TokenOwner | null> {
  const { ApiToken, User } = database.models;
  const found = (await ApiToken.findOne({
    attributes: ['id', 'sha256', 'scopes', 'expires_at', 'user_id', 'inserted_at'],
    where: { sha256 },
    include: [
      { model: User, as: 'user', attributes: ['email', 'role', 'disabled_at'], required: true },
    ],
  })) as (InstanceType<typeof ApiToken> & { user: InstanceType<typeof User> }) | null;
  if (found === null || !isSameHash(found.sha256, sha256)) return null;
  return {
    tokenId: found.id,
    sha256,
    scopes: scopesIn(found.scopes),
    expiresAt: found.expires_at,
    userId: found.user_id,
    email: found.user.email,
    role: found.user.role,
    isDisabled: found.user.disabled_at !== null,
    insertedAt: found.inserted_at,
  };
}

function isSameHash(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
}

async function firstAdministrator(
  database: Database,
  transaction: Transaction,
): Promise<string | null> {
  const user = await database.models.User.findOne({
    attributes: ['id'],
    where: { role: 'admin', disabled_at: null },
    order: [
      ['inserted_at', 'ASC'],
      ['id', 'ASC'],
    ],
    transaction,
  });
  return user?.id ?? null;
}

async function replaceBootstrapToken(
  database: Database,
  present: readonly ApiToken[],
  wanted: { sha256: string | null; owner: string | null; claimed: ReadonlySet<string> },
  transaction: Transaction,
): Promise<void> {
  const { sha256, owner, claimed } = wanted;
  const { ApiToken } = database.models;
  const current = present.find((row) => row.sha256 === sha256 && row.user_id === owner);
  for (const row of present) {
    const isAnothers = row.sha256 !== sha256 && claimed.has(row.sha256);
    if (row !== current && !isAnothers) await row.destroy({ transaction });
  }
  if (sha256 === null || owner === null || current !== undefined) return;
  // This value may already be a token that expires; it is replaced by one that does not.
  await ApiToken.destroy({ where: { sha256 }, transaction });
  await ApiToken.create(
    { user_id: owner, name: BOOTSTRAP_NAME, sha256, expires_at: null },
    { transaction },
  );
}
