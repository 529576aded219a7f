// All tables of one database: binds them, connects them with each other, and says which are
// tracked; the same tables are audited.

import type { Model, ModelStatic } from 'sequelize';
import { configurationFields } from '../fields/configuration.ts';
import { deviceFields } from '../fields/device.ts';
import { sealedColumns } from '../fields/field.ts';
import { type ApiToken, initApiToken } from './api-token.ts';
import { type AuditEntry, initAuditEntry } from './audit-entry.ts';
import { auditedTables } from './audited-fields.ts';
import { keepUpdatedAtMoving, type TableContext } from './columns.ts';
import { type Configuration, initConfiguration } from './configuration.ts';
import { type Device, initDevice } from './device.ts';
import { type DeviceStatus, initDeviceStatus } from './device-status.ts';
import { type FetchedMetadata, initFetchedMetadata } from './fetched-metadata.ts';
import { type Gateway, initGateway } from './gateway.ts';
import { type Group, type GroupMembership, initGroup, initGroupMembership } from './group.ts';
import { type Identity, initIdentity } from './identity.ts';
import { type IdentityTokens, initIdentityTokens } from './identity-tokens.ts';
import { endLinksOfChangedUsers, initOneTimeLink, type OneTimeLink } from './one-time-link.ts';
import { initPolicyTest, type PolicyTest } from './policy-test.ts';
import { initRule, type Rule } from './rule.ts';
import { initSamlTest, type SamlTest } from './saml-test.ts';
import {
  initRecoveryCode,
  initSecondFactor,
  type RecoveryCode,
  type SecondFactor,
} from './second-factor.ts';
import { initSecret, type Secret } from './secret.ts';
import { endSessionsOfChangedUsers, initSession, type Session } from './session.ts';
import { initSignInAttempt, type SignInAttempt } from './sign-in-attempt.ts';
import { initSignInRequest, type SignInRequest } from './sign-in-request.ts';
import { type AuditedTable, auditTable } from '../storage/auditing.ts';
import { keepOutOfJson } from '../storage/secrecy.ts';
import { trackTable } from '../storage/tracking.ts';
import { initTrustedProvider, type TrustedProvider } from './trusted-provider.ts';
import { initUndo, type Undo } from './undo.ts';
import { initUsedAssertion, type UsedAssertion } from './used-assertion.ts';
import { initUser, type User } from './user.ts';

/** The tables of one database. */
export interface Models {
  readonly User: typeof User;
  readonly Device: typeof Device;
  readonly Rule: typeof Rule;
  readonly Group: typeof Group;
  readonly GroupMembership: typeof GroupMembership;
  readonly PolicyTest: typeof PolicyTest;
  readonly Configuration: typeof Configuration;
  readonly ApiToken: typeof ApiToken;
  readonly Secret: typeof Secret;
  readonly Identity: typeof Identity;
  readonly TrustedProvider: typeof TrustedProvider;
  readonly DeviceStatus: typeof DeviceStatus;
  readonly Gateway: typeof Gateway;
  readonly AuditEntry: typeof AuditEntry;
  readonly Session: typeof Session;
  readonly SecondFactor: typeof SecondFactor;
  readonly RecoveryCode: typeof RecoveryCode;
  readonly OneTimeLink: typeof OneTimeLink;
  readonly SignInAttempt: typeof SignInAttempt;
  readonly IdentityTokens: typeof IdentityTokens;
  readonly SignInRequest: typeof SignInRequest;
  readonly UsedAssertion: typeof UsedAssertion;
  readonly SamlTest: typeof SamlTest;
  readonly FetchedMetadata: typeof FetchedMetadata;
  readonly Undo: typeof Undo;
}

/** Tables that are not tracked: what is seen or was done, and what only signing in needs. */
type Untracked =
  | 'AuditEntry'
  | 'DeviceStatus'
  | 'Gateway'
  | 'Session'
  | 'SecondFactor'
  | 'RecoveryCode'
  | 'OneTimeLink'
  | 'SignInAttempt'
  | 'IdentityTokens'
  | 'SignInRequest'
  | 'UsedAssertion'
  | 'SamlTest'
  | 'FetchedMetadata'
  | 'Undo';

/** Every tracked table is audited: one that is missing there does not compile. */
const audited: Readonly<Record<Exclude<keyof Models, Untracked>, AuditedTable>> = auditedTables;

/** How each table is bound to a database. */
const binders: { readonly [Name in keyof Models]: (context: TableContext) => Models[Name] } = {
  User: initUser,
  Device: initDevice,
  Rule: initRule,
  Group: initGroup,
  GroupMembership: initGroupMembership,
  PolicyTest: initPolicyTest,
  Configuration: initConfiguration,
  ApiToken: initApiToken,
  Secret: initSecret,
  Identity: initIdentity,
  TrustedProvider: initTrustedProvider,
  DeviceStatus: initDeviceStatus,
  Gateway: initGateway,
  AuditEntry: initAuditEntry,
  Session: initSession,
  SecondFactor: initSecondFactor,
  RecoveryCode: initRecoveryCode,
  OneTimeLink: initOneTimeLink,
  SignInAttempt: initSignInAttempt,
  IdentityTokens: initIdentityTokens,
  SignInRequest: initSignInRequest,
  UsedAssertion: initUsedAssertion,
  SamlTest: initSamlTest,
  FetchedMetadata: initFetchedMetadata,
  Undo: initUndo,
};

type ColumnOf<Name extends keyof Models> = keyof InstanceType<Models[Name]> & string;

/** What no log and no answer may show because somebody forgot to pick fields. */
const secrets: { readonly [Name in keyof Models]?: readonly ColumnOf<Name>[] } = {
  User: ['password_hash'],
  Device: sealedColumns(deviceFields),
  Configuration: sealedColumns(configurationFields),
  ApiToken: ['sha256'],
  Secret: ['value'],
  Session: ['sha256'],
  SecondFactor: ['secret'],
  RecoveryCode: ['sha256'],
  OneTimeLink: ['sha256'],
  IdentityTokens: ['tokens'],
  SignInRequest: ['secrets'],
};

const ofUser = { constraints: false, foreignKey: 'user_id', as: 'user' } as const;

/**
 * Connects a table with others. Foreign keys are the migrations' business; here they only serve
 * `include`. Sequelize makes all properties of a table again with each of them, so there are none
 * that nothing asks for.
 */
const connections: Readonly<Partial<Record<keyof Models, (models: Models) => void>>> = {
  Device({ Device, User, DeviceStatus }) {
    Device.belongsTo(User, { ...ofUser });
    Device.hasOne(DeviceStatus, { constraints: false, foreignKey: 'device_id', as: 'status' });
  },
  ApiToken: ({ ApiToken, User }) => void ApiToken.belongsTo(User, { ...ofUser }),
  Session: ({ Session, User }) => void Session.belongsTo(User, { ...ofUser }),
};

/**
 * Binds the tables to one database, each when it is first asked for: to bind all takes longer than
 * all else that opening a database does, and few commands need more than some.
 */
export function bindTables(context: TableContext): Models {
  const models = {} as Models;
  for (const name of Object.keys(binders) as (keyof Models)[]) {
    const options = { enumerable: true, configurable: true };
    const get = (): Models[typeof name] => {
      const model = binders[name](context);
      // Whatever the table is connected with may ask for the table.
      Object.defineProperty(models, name, { ...options, value: model });
      complete(models, name);
      return model;
    };
    Object.defineProperty(models, name, { ...options, get });
  }
  return models;
}

/** Gives a table that is bound what it has beside its columns. */
function complete(models: Models, name: keyof Models): void {
  const model = models[name] as ModelStatic<Model>;
  connections[name]?.(models);
  const hidden = secrets[name];
  if (hidden !== undefined) keepOutOfJson(model, hidden);
  if (Object.hasOwn(audited, name)) {
    keepUpdatedAtMoving(model);
    trackTable(model, name === 'GroupMembership' ? 'user_id' : model.primaryKeyAttribute);
    auditTable(model, audited[name as keyof typeof audited]);
  }
  if (name !== 'User') return;
  endSessionsOfChangedUsers(models.User, () => models.Session);
  endLinksOfChangedUsers(models.User, () => models.OneTimeLink);
}
