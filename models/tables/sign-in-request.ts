// The sign_in_requests table: sign-ins through a provider that began and have not ended. Any
// gateway may get the answer, so they are rows: single use, short-lived, as many as
// queries/sign-in-room.ts allows.
// The key is a hash of what travels through the browser, so reading the table does not help to end
// somebody's sign-in. Written without change rows.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { encryptedJsonColumn, nullable, type TableContext } from './columns.ts';
import type { ProviderKind } from '../fields/identity.ts';
import type { ProviderAccount } from './identity.ts';

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
  /** What the provider says about the person: its claims or attributes, by name. */
  readonly claims: readonly { readonly name: string; readonly values: readonly string[] }[];
  /** How many names `claims` has no room for. */
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
  /** SHA-256 of the IPv6 /64 or the IPv4 address from which it began. */
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
