// What the models offer: other rooms import the database from here alone.

export {
  type Model,
  type ModelStatic,
  Op,
  type Transaction,
  UniqueConstraintError,
} from 'sequelize';
export { isLastAdministrator, setRoleBy } from './queries/administrators.ts';
export {
  countGroupsProblems,
  forgetGroupsOfOthers,
  type GroupsChange,
  type GroupsProblems,
  isGroupName,
  replaceMemberships,
  type StandingProviders,
} from './queries/provider-groups.ts';
export { lockSessions, lockTokens, type UserSession } from './queries/actors.ts';
export { ApiToken } from './tables/api-token.ts';
export { type AuditRow, type AuditSelection, readAuditEntries } from './database/audit-search.ts';
export { pruneAuditEntries } from './database/audit-trail.ts';
export {
  type Compacted,
  compactFile,
  type FileSpace,
  readFileSpace,
  shrinkFile,
} from './database/shrink.ts';
export { BackupError } from './backup/format.ts';
export { type Restored, restoreBackup, type RestoreOptions } from './backup/restore.ts';
export { type BackedUp, writeBackup } from './backup/write.ts';
export { noteClientFile, readClientFiles } from './queries/client-file.ts';
export { type Clocks, readClocks } from './queries/clocks.ts';
export { readEndpoints, readRoutedDevices, type RoutedDevice } from './queries/routes.ts';
export { type AddressRange, type Family, parseAddress, parseRange } from './tables/columns.ts';
export { clientSettings, type SettingName } from './fields/client-settings.ts';
export { configurationFields, type Logo } from './fields/configuration.ts';
export {
  deviceFields,
  type DeviceRow,
  type NewDeviceColumns,
  type ObeyedDevice,
} from './fields/device.ts';
export {
  type ApiField,
  type ApiValues,
  type ColumnsOf,
  type Field,
  type Fields,
  type NamesWith,
  rowColumns,
  type RowOf,
  type SentName,
  type SentOf,
} from './fields/field.ts';
export { limit, quota } from './fields/limits.ts';
export {
  groupFields,
  groupNameOf,
  GROUPS_MAPPED_MAX,
  GROUPS_MAX,
  GROUPS_OF_USER_MAX,
  MANUAL,
  UNSEEN,
} from './fields/group.ts';
export {
  type GroupsProblem,
  type GroupsSaid,
  methodOf,
  type ProviderKind,
} from './fields/identity.ts';
export {
  type OpenidConnectProvider,
  openidProviderFields,
  type SamlIdentityProvider,
  samlProviderFields,
} from './fields/provider.ts';
export { policyTestFields, type PolicyTestRow } from './fields/policy-test.ts';
export {
  type ObeyedRule,
  type PortType,
  type RuleAction,
  ruleFields,
  type RuleRow,
} from './fields/rule.ts';
export { type ObeyedUser, userFields, type UserRow } from './fields/user.ts';
export { Configuration } from './tables/configuration.ts';
export { assertRights, MissingRightsError, tryWriting } from './database/rights.ts';
export { connectDatabase, type DatabaseOptions } from './database/connect.ts';
export { type LaterSchema, SchemaNewerError } from './database/later-schema.ts';
export type { FieldChange } from './storage/audited-values.ts';
export type { DatabaseTls } from './storage/mysql.ts';
export { Device } from './tables/device.ts';
export { DeviceStatus } from './tables/device-status.ts';
export {
  describeDatabaseError,
  isDatabaseAway,
  isDatabaseReadOnly,
  isDatabaseDamaged,
  isDatabaseFull,
  type UniqueColumn,
  uniqueColumn,
} from './database/errors.ts';
export { FetchedMetadata } from './tables/fetched-metadata.ts';
export {
  claimMetadata,
  forgetMetadata,
  type MetadataChanges,
  type MetadataEntry,
  readFetchedMetadata,
  settleMetadata,
} from './queries/metadata.ts';
export {
  type ForeignRow,
  type ForeignTables,
  readForeignTables,
  SQLITE_MARK,
} from './storage/foreign-sqlite.ts';
export { readOrCreateConfiguration } from './database/first-row.ts';
export { foldAscii } from './storage/fold.ts';
export { Gateway } from './tables/gateway.ts';
export { Group, GroupMembership } from './tables/group.ts';
export {
  countMembers,
  type GroupMember,
  type GroupPage,
  type GroupWish,
  readGroupIds,
  readGroupNames,
  readGroups,
  readGroupsOfUsers,
  readMembers,
  removeGroup,
} from './queries/groups.ts';
export {
  claimBootstrapToken,
  GATEWAY_ALIVE_MS,
  GatewayRunsError,
  type GatewayStart,
  type Heartbeat,
  listGateways,
  readGateways,
  recordHeartbeat,
  readOtherGateways,
  registerGateway,
  watchGateways,
} from './queries/gateways.ts';
export { Identity, identityKey, type ProviderAccount } from './tables/identity.ts';
export { IdentityTokens, type ProviderTokens } from './tables/identity-tokens.ts';
export {
  type Claim,
  claimDueTokens,
  keepTokens,
  type Settlement,
  settleTokens,
  wakeTokens,
} from './queries/provider-tokens.ts';
export { readSealingKeys, type Resealed, resealSecrets } from './queries/key-rotation.ts';
export { type GatewayBeside, readGatewaysBeside } from './migrations/beside.ts';
export { readLatest } from './migrations/latest.ts';
export { openMemoryDatabase } from './migrations/memory.ts';
export {
  DatabaseTooNewError,
  executedMigrations,
  lastStep,
  migrate,
  pendingMigrations,
} from './migrations/index.ts';
export {
  findFreeLinks,
  freeLinks,
  type Links,
  type LinksWanted,
  freeUntil,
  readLinks,
  RELINK_DAYS,
  removeLinks,
} from './queries/relinking.ts';
export { removeDevices, removeRules, removeUser } from './queries/removal.ts';
export { forgetRemoved } from './queries/removed-history.ts';
export {
  readAllRivalDevices,
  readRivalDevices,
  readRivalRules,
  readShadowedBy,
  readShadows,
  readTouchingRules,
  readUserIds,
  type RivalDevice,
  type Rivals,
} from './queries/rivals.ts';
export {
  type ChangesSince,
  currentRevision,
  pruneChanges,
  readChanges,
} from './database/revision.ts';
export {
  type DeviceEnd,
  readConfiguration,
  readDeviceEnds,
  readDevices,
  readPolicyTests,
  readRules,
  readSessionDuration,
  readUserEnds,
  readUsers,
  type Selection,
  type UserEnd,
} from './queries/rows.ts';
export {
  extentOf,
  isShadowedBy,
  overlaps,
  Rule,
  type RuleExtent,
  type RuleScope,
} from './tables/rule.ts';
export { RecoveryCode, SecondFactor } from './tables/second-factor.ts';
export {
  countAllDevices,
  countDevices,
  countFound,
  type FleetStatus,
  readFleetStatus,
  readLatestHandshakes,
  type Searchable,
  searchEveryId,
  searchIds,
  searchOrders,
  searchStates,
  type SearchWish,
  type ServiceRules,
  type StateFacts,
} from './queries/search.ts';
export { SamlTest, type SignedParts } from './tables/saml-test.ts';
export { findSamlTest, keepSamlTest } from './queries/saml-tests.ts';
export { Secret } from './tables/secret.ts';
export {
  checkEncryptionKey,
  readOrCreateSecret,
  readSecret,
  refuseOtherKey,
} from './queries/secrets.ts';
export { Session, type SessionAtProvider, type SessionState } from './tables/session.ts';
export { notOver, pruneSignIns, touchSession } from './queries/sessions.ts';
export { type AttemptKind, SignInAttempt } from './tables/sign-in-attempt.ts';
export { SignInRequest, type SignInSecrets, type TestReport } from './tables/sign-in-request.ts';
export {
  beginSignInRequest,
  findSignInRequest,
  forgetSignInRequests,
  type NewSignInRequest,
  type SignInSource,
  takeSignInRequest,
} from './queries/sign-in-requests.ts';
export { SIGN_IN_REQUESTS_MAX } from './queries/sign-in-room.ts';
export {
  type Connection,
  type ConnectionEnd,
  endConnections,
  endLostConnections,
  readConnections,
  recordConnections,
} from './queries/connections.ts';
export {
  type HistoryKind,
  type HistoryReport,
  KEPT_S,
  readHistory,
  readRefusals,
  recordHistory,
  type Step,
  STEPS,
} from './queries/history.ts';
export {
  beginForgettingClock,
  JUMP_MAX_MS,
  moveForgettingClock,
  readForgettingClock,
} from './queries/forgetting-clock.ts';
export { rollUpHistory } from './queries/roll-up.ts';
export {
  forgetQuotaUsage,
  type Month,
  monthOf,
  readQuotaUsage,
  recordQuotaUsage,
  type UsageReport,
} from './queries/quota-usage.ts';
export {
  type Arrival,
  readArrivals,
  recordStatus,
  type StatusReport,
  touchToken,
} from './queries/status.ts';
export {
  actAs,
  auditActions,
  auditKinds,
  type FieldChanges,
  noteAction,
} from './storage/auditing.ts';
export type { CommitListener, Database } from './database/database.ts';
export { type DatabaseLog, pauseBefore } from './storage/rerun.ts';
export { CiphertextError, EncryptionKeyError, keyIdOf } from './storage/encryption.ts';
export { type Actor, COMMAND_LINE, GATEWAY, type Origin } from './storage/origin.ts';
export { type FileLock, lockFile } from './storage/file-lock.ts';
export { giveToOwnerOf } from './storage/ownership.ts';
export { countsFrom, isToCome, isWithin, toCome, within } from './storage/stored-time.ts';
export type { DatabaseKind } from './storage/time.ts';
export {
  type Change,
  NO_REVISION,
  type Revision,
  UntrackedWriteError,
} from './storage/tracking.ts';
export { newId } from './storage/uuid.ts';
export type { Models } from './tables/tables.ts';
export {
  lockScopes,
  readTransaction,
  type Scopes,
  undoneTransaction,
  writeTransaction,
  type WrittenSoFar,
  type Written,
} from './database/transaction.ts';
export { TrustedProvider } from './tables/trusted-provider.ts';
export { type Authority, isTrusted, markTrusted } from './queries/trust.ts';
export {
  findLinkOf,
  findLiveLink,
  isLive,
  isTakable,
  noteMails,
  type NewLink,
  pruneLinks,
  putLink,
  revokeLink,
  takeLink,
} from './queries/one-time-links.ts';
export { type LinkPurpose, OneTimeLink } from './tables/one-time-link.ts';
export { findLookAlikes, type LookAlike } from './queries/look-alikes.ts';
export { PolicyTest } from './tables/policy-test.ts';
export { readRulesByAddress, type AddressesOf } from './queries/rules-by-address.ts';
export { UsedAssertion } from './tables/used-assertion.ts';
export { forgetAssertions, useAssertion } from './queries/used-assertions.ts';
export { type DisabledBy, emailKey, emailLook, ENABLED, type Role, User } from './tables/user.ts';
