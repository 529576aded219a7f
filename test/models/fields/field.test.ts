// The tables of fields beside the database: each column that they name is there, with the same
// nullability and room, and the database has no other; and what holds for every table.

import test from 'ava';
import type { AuditedAs, Field, Fields } from '../../../models/fields/field.ts';
import {
  configurationFields,
  deviceFields,
  ruleFields,
  userFields,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/databases.ts';

const TABLES: Readonly<Record<string, Fields>> = {
  configurations: configurationFields,
  devices: deviceFields,
  rules: ruleFields,
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

function entriesOf(fields: Fields): [string, Field][] {
  return Object.entries<Field>(fields);
}
