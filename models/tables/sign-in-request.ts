// The sign_in_requests table: sign-ins through a provider that began and have not ended. Any
// gateway may get the answer, so they are rows: each is used once, lives for a short time, and
// queries/sign-in-room.ts limits how many there are. The key is the hash of a secret that travels
// through the browser, so reading the table does not help to end the sign-in of somebody else.
// Writes make no revision.

import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  Model,
} from 'sequelize';
import { encryptedJsonColumn, nullable, type TableContext } from './columns.ts';
import type { GroupsSaid, ProviderKind } from '../fields/identity.ts';
import type { ProviderAccount } from './identity.ts';

/** What only this gateway and the provider know of a sign-in; each protocol has its own part. */
export interface SignInSecrets {
  /** The page that was asked for before signing in. */
  returnTo?: string;
  /** The one-time link that led to the provider; it admits its own user alone. */
  linkId?: string;
  /** OpenID. */
  nonce?: string;
  /** OpenID, PKCE. */
  verifier?: string;
  /** SAML: the id of the request, which the answer must name. */
  samlRequestId?: string;
  /** SAML: what the assertion proved, kept from its arrival to the page that ends the sign-in. */
  proven?: ProviderAccount & {
    email: string | null;
    isBindable: boolean;
    sessionIndex?: string | null;
    /** What the provider calls the person; left out where it does not say it. */
    name?: string;
    /** What the provider says of groups; left out where the entry does not ask. */
    groups?: GroupsSaid;
  };
  /** SAML: when the person signed in at the provider, where that was before the answer came. */
  since?: string;
  /** For a test sign-in: the session of the administrator who began it. It signs nobody in. */
  testBy?: string;
  /**
   * For a test sign-in: what was found, kept from the arrival of the answer until the row expires.
   */
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

/** One sign-in that has not ended. */
export class SignInRequest extends Model<
  InferAttributes<SignInRequest>,
  InferCreationAttributes<SignInRequest>
> {
  /** SHA-256 of the state, 64 hex digits. */
  declare id: string;
  declare kind: ProviderKind;
  declare provider_id: string;
  /** SHA-256 of the cookie of the browser in which it began. */
  declare browser_sha256: string;
  /** The user who was signed in already and signs in again. */
  declare user_id: CreationOptional<string | null>;
  /**
   * SHA-256 of the network (IPv6 /48, IPv4 /24) from which it began; null where it is not known.
   */
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
