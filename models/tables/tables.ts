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

/** Binds all tables to one database. */
export function bindTables(context: TableContext): Models {
  const models: Models = {
    User: initUser(context),
    Device: initDevice(context),
    Rule: initRule(context),
    Group: initGroup(context),
    GroupMembership: initGroupMembership(context),
    PolicyTest: initPolicyTest(context),
    Configuration: initConfiguration(context),
    ApiToken: initApiToken(context),
    Secret: initSecret(context),
    Identity: initIdentity(context),
    TrustedProvider: initTrustedProvider(context),
    DeviceStatus: initDeviceStatus(context),
    Gateway: initGateway(context),
    AuditEntry: initAuditEntry(context),
    Session: initSession(context),
    SecondFactor: initSecondFactor(context),
    RecoveryCode: initRecoveryCode(context),
    OneTimeLink: initOneTimeLink(context),
    SignInAttempt: initSignInAttempt(context),
    IdentityTokens: initIdentityTokens(context),
    SignInRequest: initSignInRequest(context),
    UsedAssertion: initUsedAssertion(context),
    SamlTest: initSamlTest(context),
    FetchedMetadata: initFetchedMetadata(context),
    Undo: initUndo(context),
  };
  associate(models);
  hideSecrets(models);
  for (const [name, table] of Object.entries(audited)) {
    const model = models[name as keyof typeof audited] as ModelStatic<Model>;
    keepUpdatedAtMoving(model);
    trackTable(model, name === 'GroupMembership' ? 'user_id' : model.primaryKeyAttribute);
    auditTable(model, table);
  }
  endSessionsOfChangedUsers(models.User, models.Session);
  endLinksOfChangedUsers(models.User, models.OneTimeLink);
  return models;
}

/** What no log and no answer may show because somebody forgot to pick fields. */
function hideSecrets(models: Models): void {
  const { User, Device, Configuration, ApiToken, Secret, Session, SecondFactor, RecoveryCode } =
    models;
  keepOutOfJson(User, ['password_hash']);
  keepOutOfJson(Device, sealedColumns(deviceFields));
  keepOutOfJson(Configuration, sealedColumns(configurationFields));
  keepOutOfJson(ApiToken, ['sha256']);
  keepOutOfJson(Secret, ['value']);
  keepOutOfJson(Session, ['sha256']);
  keepOutOfJson(SecondFactor, ['secret']);
  keepOutOfJson(RecoveryCode, ['sha256']);
  keepOutOfJson(models.OneTimeLink, ['sha256']);
  keepOutOfJson(models.IdentityTokens, ['tokens']);
  keepOutOfJson(models.SignInRequest, ['secrets']);
}

/**
 * Foreign keys are the migrations' business; here they only serve `include`. Sequelize makes all
 * properties of a table again with each of them, so there are none that nothing asks for.
 */
function associate({ User, Device, ApiToken, DeviceStatus, Session }: Models): void {
  const silent = { constraints: false };
  Device.belongsTo(User, { ...silent, foreignKey: 'user_id', as: 'user' });
  Device.hasOne(DeviceStatus, { ...silent, foreignKey: 'device_id', as: 'status' });
  ApiToken.belongsTo(User, { ...silent, foreignKey: 'user_id', as: 'user' });
  Session.belongsTo(User, { ...silent, foreignKey: 'user_id', as: 'user' });
}
