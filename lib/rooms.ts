// All rooms of the domain that operations need, and all operations. Rooms are made once for a
// server, because writes that wait together are joined by the room that they are of, and because
// the room of devices remembers where its search for free addresses ended; and once for a dry run.

import { Accounts } from './auth/accounts.ts';
import { ApiTokens } from './auth/api-tokens.ts';
import { accountOperations, apiTokenOperations } from './auth/operations.ts';
import { OwnAccounts } from './auth/own-account.ts';
import { configurationOperations } from './domain/configuration/operations.ts';
import type { SamlMetadataContext } from './domain/configuration/saml-metadata.ts';
import { type DeviceContext, Devices } from './domain/devices/devices.ts';
import { deviceOperations } from './domain/devices/operations.ts';
import { type DiagnosisContext, diagnosisOperations } from './observe/diagnosis/operations.ts';
import type { DryRunContext } from './observe/dry-run/dry-run.ts';
import { DryRuns, type TriesWrites } from './observe/dry-run/dry-runs.ts';
import { dryRunOperation } from './observe/dry-run/operations.ts';
import { type EnrolmentContext, Enrolments } from './domain/enrolment/enrolment.ts';
import { enrolmentOperations } from './domain/enrolment/operations.ts';
import { type ExplainContext, explainOperation } from './observe/explain/operations.ts';
import { whoOperation } from './observe/explain/who-operations.ts';
import { WhoQuestions } from './observe/explain/who-questions.ts';
import { Groups } from './domain/groups/groups.ts';
import { Members } from './domain/groups/members.ts';
import { groupOperations } from './domain/groups/operations.ts';
import type { Operation } from './kit/operations/operation.ts';
import { policyTestOperations } from './domain/policy-tests/operations.ts';
import { PolicyTests } from './domain/policy-tests/policy-tests.ts';
import type { RecordContext } from './kit/records/collection.ts';
import type { ServesHere } from './kit/records/gateways.ts';
import { auditOperation, gatewayOperation } from './kit/records/operations.ts';
import { captureOperation } from './observe/capture/operations.ts';
import { historyOperations } from './observe/history/operations.ts';
import { type LiveContext, liveOperations } from './observe/live/operations.ts';
import { type CountersContext, RuleCounters } from './domain/rules/counters.ts';
import { ruleCountersOperation, ruleOperations } from './domain/rules/operations.ts';
import { Rules } from './domain/rules/rules.ts';
import { Undos } from './domain/undo/undo.ts';
import { userOperations } from './domain/users/operations.ts';
import { type UserContext, Users } from './domain/users/users.ts';

/** The rooms of the domain. */
export interface Rooms {
  readonly devices: Devices;
  readonly users: Users;
  readonly rules: Rules;
  readonly groups: Groups;
  readonly members: Members;
  readonly policyTests: PolicyTests;
  readonly ruleCounters: RuleCounters;
  readonly explain: ExplainContext;
  readonly whoQuestions: WhoQuestions;
  readonly diagnosis: DiagnosisContext;
  readonly dryRuns: TriesWrites<Rooms>;
  readonly live: LiveContext;
  readonly configuration: SamlMetadataContext;
  readonly enrolments: Enrolments;
  readonly apiTokens: ApiTokens;
  readonly ownAccounts: OwnAccounts;
  readonly accounts: Accounts;
  readonly undos: Undos;
  /** What is read of all rows alike. */
  readonly records: RecordContext['services'] & ServesHere;
}

/** What the rooms need of the server. */
export type RoomContext = DeviceContext &
  UserContext &
  DryRunContext &
  EnrolmentContext &
  SamlMetadataContext &
  CountersContext &
  ExplainContext &
  DiagnosisContext & { readonly services: ServesHere };

/** All operations, in the order of the OpenAPI document. */
export const allOperations: readonly Operation<Rooms>[] = [
  ...deviceOperations,
  ...userOperations,
  ...enrolmentOperations,
  ...ruleOperations,
  ruleCountersOperation,
  explainOperation,
  whoOperation,
  dryRunOperation,
  ...diagnosisOperations,
  ...policyTestOperations,
  ...configurationOperations,
  ...groupOperations,
  ...apiTokenOperations,
  auditOperation,
  gatewayOperation,
  captureOperation,
  ...liveOperations,
  ...historyOperations,
  ...accountOperations,
];

/** The operations of the API. */
export const operations = allOperations.filter(({ isPublic }) => isPublic !== false);

/** Makes the rooms. */
export function makeRooms(context: RoomContext): Rooms {
  return {
    devices: new Devices(context),
    users: new Users(context),
    rules: new Rules(context),
    groups: new Groups(context),
    members: new Members(context),
    policyTests: new PolicyTests(context),
    enrolments: new Enrolments(context),
    apiTokens: new ApiTokens(context),
    ownAccounts: new OwnAccounts(context),
    accounts: new Accounts(context),
    undos: new Undos(context),
    records: context.services,
    ruleCounters: new RuleCounters(context),
    live: context.services,
    explain: context,
    whoQuestions: new WhoQuestions(context),
    diagnosis: context,
    configuration: context,
    dryRuns: new DryRuns(context, operations, makeRooms),
  };
}
