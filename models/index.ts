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
  countGroupsErrors,
  forgetGroupsOfOthers,
  type GroupsChange,
  isGroupName,
  replaceMemberships,
  type StandingProviders,
} from './queries/provider-groups.ts';
export { lockSessions, lockTokens } from './queries/actors.ts';
export { ApiToken } from './tables/api-token.ts';
export { type AuditRow, type AuditSelection, readAuditEntries } from './database/audit-search.ts';
export { pruneAuditEntries } from './database/audit-trail.ts';
export { compactFile, readFileSpace, shrinkFile } from './database/shrink.ts';
export { readBack } from './backup/read.ts';
export { restoreBackup } from './backup/restore.ts';
export { type BackedUp, writeBackup } from './backup/write.ts';
export { noteClientFile, readClientFiles } from './queries/client-file.ts';
export { readClocks } from './queries/clocks.ts';
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
  type Holds,
  holds,
  type NamesWith,
  rowColumns,
  type RowOf,
  type SentName,
  type SentOf,
} from './fields/field.ts';
export { limit } from './fields/limits.ts';
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
  type GroupsError,
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
export { type ObeyedRule, type RuleAction, ruleFields, type RuleRow } from './fields/rule.ts';
export {
  type ObeyedUser,
  PERSON_NAME_CHARACTERS_MAX,
  userFields,
  type UserRow,
} from './fields/user.ts';
export { Configuration } from './tables/configuration.ts';
export { assertRights, tryWriting } from './database/rights.ts';
export { connectDatabase } from './database/connect.ts';
export { databaseIdentity } from './database/identity.ts';
export { SchemaNewerError } from './database/later-schema.ts';
export type { FieldChange } from './storage/audited-values.ts';
export type { DatabaseTls } from './storage/mysql.ts';
export { Device } from './tables/device.ts';
export {
  describeDatabaseError,
  isDatabaseAway,
  isDatabaseReadOnly,
  isDatabaseDamaged,
  isDatabaseFull,
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
export { Group } from './tables/group.ts';
export {
  countMembers,
  countRules,
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
  hasOtherRunning,
  type GatewayEgress,
  type GatewayStart,
  forgetGateways,
  listGateways,
  readGateways,
  readLastBackup,
  recordBackup,
  recordEgress,
  recordHeartbeat,
  readOtherGateways,
  registerGateway,
  watchGateways,
} from './queries/gateways.ts';
export { Identity, identityKey, type ProviderAccount } from './tables/identity.ts';
export { IdentityTokens, type ProviderTokens } from './tables/identity-tokens.ts';
export {
  awaitsTurns,
  claimDueTokens,
  keepTokens,
  type Settlement,
  settleTokens,
  wakeTokens,
} from './queries/provider-tokens.ts';
export { readSealingKeys, resealSecrets } from './queries/key-rotation.ts';
export { type GatewayBeside, readGatewaysBeside } from './migrations/beside.ts';
export { readLatest } from './migrations/latest.ts';
export { openMemoryDatabase } from './migrations/memory.ts';
export { executedMigrations, lastStep, migrate, pendingMigrations } from './migrations/index.ts';
export {
  findFreeLinks,
  freeLinks,
  type Links,
  type LinksWanted,
  freeUntil,
  readLinks,
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
  currentRevision,
  isUnchangedSince,
  pruneChanges,
  readChanges,
} from './database/revision.ts';
export {
  type DeviceEnd,
  type DevicePlace,
  inPages,
  readConfiguration,
  readDeviceEnds,
  readDevicePlaces,
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
  portRangeOf,
  Rule,
  type RuleExtent,
  shareAPacket,
} from './tables/rule.ts';
export { findGroups, findPeople, findUsersAndGroups } from './queries/whose.ts';
export { readAttemptCounts } from './queries/sign-in-attempts.ts';
export { SecondFactor } from './tables/second-factor.ts';
export {
  countAllDevices,
  countDevices,
  countOwnedDevices,
  countFound,
  hasSeveralUsers,
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
export type { AuditEntry } from './tables/audit-entry.ts';
export {
  dropUndo,
  findUndo,
  forgetUndos,
  keepUndo,
  readEntriesOfRequest,
} from './queries/undos.ts';
export { readOrCreateSecret, readSecret, refuseOtherKey } from './queries/secrets.ts';
export { Session, type SessionAtProvider, type SessionState } from './tables/session.ts';
export { notOver, pruneSignIns, touchSession } from './queries/sessions.ts';
export { type AttemptKind } from './tables/sign-in-attempt.ts';
export { SignInRequest, type TestReport } from './tables/sign-in-request.ts';
export {
  beginSignInRequest,
  findSignInRequest,
  forgetSignInRequests,
  type NewSignInRequest,
  type SignInSource,
  takeSignInRequest,
} from './queries/sign-in-requests.ts';
export {
  type Connection,
  type ConnectionEnd,
  connectionEnds,
  endConnections,
  endLostConnections,
  readConnections,
  recordConnections,
} from './queries/connections.ts';
export {
  type HistoryKind,
  type HistoryReport,
  KEPT_S,
  readDevicesOfHistory,
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
  readQuotas,
  readQuotaUsage,
  recordQuotaUsage,
} from './queries/quota-usage.ts';
export { readArrivals, recordStatus, type StatusReport, touchToken } from './queries/status.ts';
export {
  actAs,
  auditActions,
  auditKinds,
  type FieldChanges,
  noteAction,
} from './storage/auditing.ts';
export type { Database } from './database/database.ts';
export { pauseBefore } from './storage/rerun.ts';
export { isUnreadable, keyIdOf } from './storage/encryption.ts';
export { auditActors, COMMAND_LINE, GATEWAY, type Origin } from './storage/origin.ts';
export { type FileLock, lockFile } from './storage/file-lock.ts';
export { giveToOwnerOf } from './storage/ownership.ts';
export { countsFrom, isToCome, isWithin, within } from './storage/stored-time.ts';
export { type Change, NO_REVISION, type Revision } from './storage/tracking.ts';
export { newId } from './storage/uuid.ts';
export {
  lockScopes,
  readTransaction,
  type Scopes,
  undoneTransaction,
  writeTransaction,
  type WrittenSoFar,
} from './database/transaction.ts';
export { type Authority, isTrusted, markTrusted } from './queries/trust.ts';
export {
  findLinkOf,
  findLinksOf,
  findLiveLink,
  isLive,
  isTakable,
  noteMails,
  pruneLinks,
  putLink,
  revokeLink,
  takeLink,
} from './queries/one-time-links.ts';
export { type LinkPurpose, OneTimeLink } from './tables/one-time-link.ts';
export { findLookAlikes } from './queries/look-alikes.ts';
export {
  type DeviceNaming,
  findDevicesNamed,
  findIdsEnding,
  type NamedByIdEnd,
  type NamedDevice,
} from './queries/named.ts';
export { PolicyTest } from './tables/policy-test.ts';
export { readRulesByAddress } from './queries/rules-by-address.ts';
export { forgetAssertions, useAssertion } from './queries/used-assertions.ts';
export { emailKey, emailLook, ENABLED, type Role, User } from './tables/user.ts';
