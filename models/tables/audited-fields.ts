// What the audit trail says about each table: fields by the names that the API gives them, without
// derived columns; for a secret only that it changed. docs/state.md#audit-trail.

import type { Model } from 'sequelize';
import { apiTokenFields } from '../fields/api-token.ts';
import { configurationFields } from '../fields/configuration.ts';
import { deviceFields } from '../fields/device.ts';
import type { AuditedAs, Field, Fields } from '../fields/field.ts';
import { groupFields, groupMembershipFields } from '../fields/group.ts';
import { identityFields, methodOf, type ProviderKind } from '../fields/identity.ts';
import { policyTestFields } from '../fields/policy-test.ts';
import { ruleFields } from '../fields/rule.ts';
import { trustedProviderFields } from '../fields/trusted-provider.ts';
import { userFields } from '../fields/user.ts';
import type { Configuration } from './configuration.ts';
import { portRangeOf, type Rule } from './rule.ts';
import type { AuditedTable, FieldReader, Named } from '../storage/auditing.ts';

/** Stands for a client secret. */
const HIDDEN = '(hidden)';

/** The audited tables; all that are tracked. */
export const auditedTables = {
  User: {
    kind: 'user',
    fields: { ...recordedOf(userFields), password: stored('password_hash') },
    nameOf: text('email'),
  },
  Device: {
    kind: 'device',
    fields: recordedOf(deviceFields),
    nameOf: text('name'),
    ownerOf: reference('user_id', 'users'),
  },
  Rule: {
    kind: 'rule',
    fields: {
      ...recordedOf(ruleFields),
      port_range: { read: (row) => portRange(row as Rule) },
    },
    nameOf: (row) => ruleName(row as Rule),
    ownerOf: (row) =>
      reference('user_id', 'users')(row) ?? reference('group_id', 'user_groups')(row),
  },
  Configuration: {
    kind: 'configuration',
    fields: {
      ...recordedOf(configurationFields),
      openid_connect_providers: { read: (row) => withoutSecrets(row as Configuration) },
      client_secret: { secret: (row) => clientSecrets(row as Configuration) },
    },
  },
  ApiToken: {
    kind: 'token',
    fields: recordedOf(apiTokenFields),
    nameOf: text('name'),
    ownerOf: reference('user_id', 'users'),
  },
  Secret: { kind: 'secret', fields: { value: stored('value') } },
  Identity: {
    kind: 'identity',
    fields: recordedOf(identityFields),
    nameOf: providerName,
    ownerOf: reference('user_id', 'users'),
  },
  Group: { kind: 'group', fields: recordedOf(groupFields), nameOf: text('name') },
  GroupMembership: {
    kind: 'group_membership',
    fields: recordedOf(groupMembershipFields),
    nameOf: (row) => ({ table: 'users', id: String(row.get('user_id')) }),
    ownerOf: reference('group_id', 'user_groups'),
  },
  PolicyTest: {
    kind: 'policy_test',
    fields: recordedOf(policyTestFields),
    nameOf: text('name'),
  },
  TrustedProvider: {
    kind: 'trusted_provider',
    fields: recordedOf(trustedProviderFields),
    nameOf: providerName,
  },
} as const satisfies Readonly<Record<string, AuditedTable>>;

/** What the table of a record says: values first, then secrets. */
function recordedOf(fields: Fields): Record<string, FieldReader> {
  const all = Object.entries<Field>(fields);
  const namesOf = (as: AuditedAs) =>
    all.filter(([, { audit }]) => audit === as).map(([name]) => name);
  const secrets = namesOf('secret').map((name) => [name, stored(name)] as const);
  return { ...plain(...namesOf('value')), ...Object.fromEntries(secrets) };
}

function plain(...names: string[]): Record<string, FieldReader> {
  return Object.fromEntries(
    names.map((name) => [name, { read: (row: Model): unknown => row.get(name) }]),
  );
}

/** A secret as it is kept, hashed or sealed: equal texts are equal secrets. */
function stored(column: string): FieldReader {
  return { secret: (row) => row.getDataValue(column as never) };
}

/** A column that says what a record is called. */
function text(column: string): (row: Model) => string {
  return (row) => String(row.get(column));
}

/** The record whose id is in a column. */
function reference(column: string, table: Named['table']): (row: Model) => Named | null {
  return (row) => {
    const id = row.get(column);
    return typeof id === 'string' ? { table, id } : null;
  };
}

/** What the audit trail calls a rule: `Accept TCP 443 to 10.0.0.0/8`. */
function ruleName(rule: Rule): string {
  const { action, destination, port_type: type, protocol } = rule;
  const portless = protocol?.toUpperCase() ?? 'all traffic';
  const traffic = type === null ? portless : `${type.toUpperCase()} ${portRange(rule) ?? ''}`;
  return `${action === 'accept' ? 'Accept' : 'Drop'} ${traffic} to ${destination}`;
}

/** The method of the provider, `oidc/okta`. */
function providerName(row: Model): string {
  return methodOf(row.get('kind') as ProviderKind, String(row.get('provider_id')));
}

function portRange({ port_start: start, port_end: end }: Rule): string | null {
  return portRangeOf(start, end);
}

function withoutSecrets(row: Configuration): object[] {
  return row.openid_connect_providers.map((provider) => ({ ...provider, client_secret: HIDDEN }));
}

function clientSecrets(row: Configuration): string[][] | null {
  const secrets = row.openid_connect_providers.map(({ id, client_secret }) => [id, client_secret]);
  return secrets.length === 0 ? null : secrets;
}
