// The sign_in_requests table: sign-ins through a provider that began and have not ended. Any
// gateway may get the answer, so they are rows: single use, short-lived, as many as
// queries/sign-in-room.ts allows.
// The key is a hash of what travels through the browser, so reading the table does not help to end
// somebody's sign-in. Written without change rows. design.md, section 7.

import { createHash } from 'node:crypto';
import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
  Op,
} from 'sequelize';
import { encryptedJsonColumn, nullable, type TableContext } from './columns.ts';
import type { ProviderAccount, ProviderKind } from './identity.ts';
import type { Database } from '../database/database.ts';
import { makeSignInRoom } from '../queries/sign-in-room.ts';
import { rerunOnConflict } from '../storage/rerun.ts';

/** What only the two ends of a sign-in know; each protocol has its own part. */
export interface SignInSecrets {
  /** The page that was asked for before signing in. */
  returnTo?: string;
  /** OpenID. */
  nonce?: string;
  /** OpenID, PKCE. */
  verifier?: string;
  /** SAML: the id of the request, which the answer must name. */
  samlRequestId?: string;
  /** SAML: what the assertion proved, between its arrival and the page that ends the sign-in. */
  proven?: ProviderAccount & {
    email: string | null;
    isBindable: boolean;
    sessionIndex?: string | null;
  };
  /** A test sign-in: the session of the administrator who began it. Nobody is signed in by it. */
  testBy?: string;
  /** A test sign-in: what was found, from the answer's arrival until the row expires. */
  report?: TestReport;
}

/** What a test sign-in found; only the administrator who began it reads it. */
export interface TestReport {
  readonly findings: readonly {
    readonly verdict: 'good' | 'doubtful' | 'bad';
    readonly text: string;
  }[];
  /** What the provider says of the person, by name. */
  readonly told: readonly { readonly name: string; readonly values: readonly string[] }[];
  /** How many names are left out of `told` for want of room. */
  readonly leftOut: number;
}

/** One sign-in under way. */
export class SignInRequest extends Model<
  InferAttributes<SignInRequest>,
  InferCreationAttributes<SignInRequest>
> {
  /** SHA-256 of the state, 64 hex digits. */
  declare id: string;
  declare kind: ProviderKind;
  declare provider_id: string;
  /** SHA-256 of the cookie of the browser that began. */
  declare browser_sha256: string;
  /** Who was signed in already and signs in again. */
  declare user_id: CreationOptional<string | null>;
  /** SHA-256 of the network (IPv6 /48, IPv4 /24) from which it began; null where nobody knows. */
  declare network_sha256: CreationOptional<string | null>;
  /** The same of the IPv6 /64 or the IPv4 address. */
  declare scope_sha256: CreationOptional<string | null>;
  /** Encrypted in the database. */
  declare secrets: CreationOptional<SignInSecrets>;
  declare inserted_at: Date;
  declare expires_at: Date;
}

/** Binds the table to one database. */
export function initSignInRequest({ sequelize, keyring }: TableContext): typeof SignInRequest {
  return class extends SignInRequest {}.init(
    {
      id: { type: DataTypes.CHAR(64), primaryKey: true },
      kind: { type: DataTypes.STRING(8), allowNull: false },
      provider_id: { type: DataTypes.STRING(64), allowNull: false },
      browser_sha256: { type: DataTypes.CHAR(64), allowNull: false },
      user_id: nullable(DataTypes.CHAR(36)),
      network_sha256: nullable(DataTypes.CHAR(64)),
      scope_sha256: nullable(DataTypes.CHAR(64)),
      secrets: encryptedJsonColumn(keyring, 'sign_in_requests', 'secrets', {}),
      inserted_at: { type: DataTypes.DATE(6), allowNull: false },
      expires_at: { type: DataTypes.DATE(6), allowNull: false },
    },
    { sequelize, modelName: 'sign_in_request', tableName: 'sign_in_requests', timestamps: false },
  );
}

/** From where a sign-in begins, as hashes: an IPv6 /48 or IPv4 /24, and in it a /64 or address. */
export interface SignInSource {
  readonly network: string | null;
  readonly scope: string | null;
}

/** A sign-in as it begins. */
export interface NewSignInRequest {
  /** Travels through the browser; only its hash is kept. */
  state: string;
  kind: ProviderKind;
  providerId: string;
  browserSha256: string;
  userId: string | null;
  source: SignInSource;
  secrets: SignInSecrets;
  now: Date;
  expiresAt: Date;
}

/** Keeps a sign-in that begins. */
export async function beginSignInRequest(
  database: Database,
  request: NewSignInRequest,
): Promise<void> {
  const { SignInRequest: table } = database.models;
  await rerunOnConflict(database, () =>
    table.create({
      id: stateKey(request.state),
      kind: request.kind,
      provider_id: request.providerId,
      browser_sha256: request.browserSha256,
      user_id: request.userId,
      network_sha256: request.source.network,
      scope_sha256: request.source.scope,
      secrets: request.secrets,
      inserted_at: request.now,
      expires_at: request.expiresAt,
    }),
  );
}

/** Takes a sign-in that is to end: whoever calls first gets it, and only in time. */
export async function takeSignInRequest(
  database: Database,
  state: string,
  now: Date,
): Promise<SignInRequest | null> {
  const { SignInRequest: table } = database.models;
  const id = stateKey(state);
  const row = await table.findByPk(id);
  if (row === null) return null;
  const count = await rerunOnConflict(database, () => table.destroy({ where: { id } }));
  return count > 0 && row.expires_at > now ? row : null;
}

/** Reads a sign-in under way and leaves it there; null where it is not, or is late. */
export async function findSignInRequest(
  { models: { SignInRequest: table } }: Database,
  state: string,
  now: Date,
): Promise<SignInRequest | null> {
  const row = await table.findByPk(stateKey(state));
  return row !== null && row.expires_at > now ? row : null;
}

/**
 * Forgets sign-ins that came to nothing, and the earliest of too many; returns how many of these.
 */
export async function forgetSignInRequests(
  database: Database,
  now: Date,
  max?: number,
): Promise<number> {
  const { SignInRequest: table } = database.models;
  await rerunOnConflict(database, () =>
    table.destroy({ where: { expires_at: { [Op.lte]: now } } }),
  );
  return makeSignInRoom(database, max);
}

function stateKey(state: string): string {
  return createHash('sha256').update(state).digest('hex');
}
