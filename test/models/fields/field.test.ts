// The tables of fields beside the database: each column that they name is there, with the same
// nullability and room, and the database has no other; and what holds for every table.

import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { apiTokenFields } from '../../../models/fields/api-token.ts';
import {
  type AuditedAs,
  type Field,
  type Fields,
  fieldsOf,
  type RowOf,
  sealedColumns,
} from '../../../models/fields/field.ts';
import { identityFields } from '../../../models/fields/identity.ts';
import { policyTestFields } from '../../../models/fields/policy-test.ts';
import { trustedProviderFields } from '../../../models/fields/trusted-provider.ts';
import {
  configurationFields,
  deviceFields,
  type DeviceRow,
  type ObeyedDevice,
  ruleFields,
  userFields,
} from '../../../models/index.ts';
import { ENCRYPTED } from '../../../models/queries/key-rotation.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const TABLES: Readonly<Record<string, Fields>> = {
  api_tokens: apiTokenFields,
  identities: identityFields,
  trusted_providers: trustedProviderFields,
  configurations: configurationFields,
  devices: deviceFields,
  rules: ruleFields,
  policy_tests: policyTestFields,
  users: userFields,
};

for (const kind of databaseKinds()) {
  test(`${kind}: the tables name the columns that the database has`, async (t) => {
    const database = await openDatabase(t, kind);
    const queries = database.sequelize.getQueryInterface();
    for (const [table, fields] of Object.entries(TABLES)) {
      const present = await queries.describeTable(table);
      const named = entriesOf(fields).filter(([, { column }]) => column !== undefined);
      t.deepEqual(named.map(([name]) => name).toSorted(), Object.keys(present).toSorted(), table);
      for (const [name, { column }] of named) {
        const place = `${table}.${name}`;
        // What was never sealed reads as the default.
        const isNullable = column?.nullable ?? column?.kind === 'sealed json';
        t.is(present[name]?.allowNull, isNullable, place);
        if (column?.size !== undefined)
          t.true(present[name]?.type.includes(`(${column.size})`), `${place} holds ${column.size}`);
      }
    }
  });

  test(`${kind}: what gateways saw is in columns of its own table`, async (t) => {
    const database = await openDatabase(t, kind);
    const present = await database.sequelize.getQueryInterface().describeTable('device_statuses');
    const named = entriesOf(deviceFields).filter(([, { status }]) => status !== undefined);
    t.true(named.length > 0);
    for (const [name] of named) t.true(Object.hasOwn(present, name), name);
  });
}

test('no request may send more characters than a column holds', (t) => {
  for (const [table, fields] of Object.entries(TABLES))
    for (const [name, { column, api }] of entriesOf(fields))
      if (api?.atMost !== undefined && column?.size !== undefined)
        t.true(api.atMost <= column.size, `${table}.${name}`);
});

test('what is encrypted is never in the trail', (t) => {
  const hidden: readonly (AuditedAs | undefined)[] = ['secret', 'own'];
  for (const [table, fields] of Object.entries(TABLES))
    for (const [name, { column, audit }] of entriesOf(fields))
      if (column?.kind.startsWith('sealed')) t.true(hidden.includes(audit), `${table}.${name}`);
});

test('what people set and see is described in a sentence', (t) => {
  for (const [table, fields] of Object.entries(TABLES))
    for (const [name, { api }] of entriesOf(fields))
      if (api !== undefined) t.regex(api.description, /[.`]$/, `${table}.${name}`);
});

test('a column that says nothing of the audit trail does not compile', (t) => {
  // @ts-expect-error `audit` is missing.
  const silent = fieldsOf({ note: { column: { kind: 'text', size: 9, nullable: true } } });
  t.deepEqual(Object.keys(silent), ['note']);
});

test('a row without one of its columns does not compile', (t) => {
  const fields = fieldsOf({
    id: { column: { kind: 'id' }, audit: 'nothing' },
    note: { column: { kind: 'text', size: 9, nullable: true }, audit: 'value' },
    at: { status: { kind: 'time' } },
  });
  const whole: RowOf<typeof fields> = { id: 'a', note: null, at: new Date(0) };
  // @ts-expect-error `note` is missing.
  const partial: RowOf<typeof fields> = { id: 'a', at: null };
  // @ts-expect-error A text is no number.
  const wrong: RowOf<typeof fields> = { ...whole, note: 1 };
  t.deepEqual([whole.note, partial.at, wrong.id], [null, null, 'a']);
});

test('what is not marked as obeyed cannot be read by gateways', (t) => {
  const row: Partial<DeviceRow> = { name: 'laptop', description: 'not obeyed' };
  const device = row as ObeyedDevice;
  // @ts-expect-error The description is not obeyed.
  t.deepEqual([device.name, device.description], ['laptop', 'not obeyed']);
});

test('the encrypted columns are those that another key seals again', (t) => {
  const sealed = Object.entries(TABLES).flatMap(([table, fields]) =>
    sealedColumns(fields).map((column: string) => ({ table, key: 'id', column })),
  );
  t.deepEqual(
    sealed.map(({ table, column }) => `${table}.${column}`),
    ['configurations.openid_connect_providers', 'devices.preshared_key'],
  );
  for (const place of sealed) t.true(ENCRYPTED.some((one) => isDeepStrictEqual(one, place)));
});

function entriesOf(fields: Fields): [string, Field][] {
  return Object.entries<Field>(fields);
}
