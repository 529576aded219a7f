// What the trail tells of each table: no secret, every field of the table one way or another.

import test from 'ava';
import { auditedTables } from '../../../models/tables/audited-fields.ts';
import { type FieldChanges, readAuditEntries } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser, randomKey, write } from '../fixtures.ts';

/** Columns that other fields stand for, that move by themselves, or that never move. */
const UNAUDITED: Record<string, string[]> = {
  User: [
    'email_key',
    'email_look',
    'password_hash',
    'last_signed_in_at',
    'last_signed_in_method',
    'first_steps_dismissed_at',
  ],
  Device: ['ipv4_key', 'ipv6_key', 'client_file_sha256'],
  Rule: ['family', 'range_start', 'range_end', 'port_start', 'port_end'],
  Configuration: ['singleton', 'auto_sockets'],
  ApiToken: ['sha256', 'last_used_at'],
  Secret: ['name'],
  Identity: ['account_key'],
};
const EVERYWHERE = ['id', 'inserted_at', 'updated_at'];

for (const kind of databaseKinds()) {
  test(`${kind}: every column is audited, or stands for one that is`, async (t) => {
    const { models } = await openDatabase(t, kind);
    for (const [name, { fields }] of Object.entries(auditedTables)) {
      const columns = Object.keys(models[name as 'User'].getAttributes());
      const unaudited = [...EVERYWHERE, ...(UNAUDITED[name] ?? [])];
      for (const column of columns)
        t.not(column in fields, unaudited.includes(column), `${name}.${column}`);
    }
  });

  test(`${kind}: of secrets the trail tells only that they changed`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Configuration, Secret } = database.models;
    const secrets = [
      randomKey(),
      randomKey(),
      'hash of a password',
      'first-secret',
      'other-secret',
    ];
    const [old, fresh, hash, first, other] = secrets as [string, string, string, string, string];
    const user = await addUser(database, { password_hash: hash });
    const device = await addDevice(database, user, { preshared_key: old });
    await write(database, (transaction) =>
      device.update({ preshared_key: fresh }, { transaction }),
    );
    await write(database, (transaction) =>
      Secret.create({ name: 'wireguard_private_key', value: old }, { transaction }),
    );
    const provider = (client_secret: string, label = 'l') =>
      ({ id: 'p', label, client_secret }) as never;
    const configuration = await write(database, (transaction) =>
      Configuration.create({ openid_connect_providers: [provider(first)] }, { transaction }),
    );
    for (const changed of [provider(first, 'm'), provider(other, 'm')])
      await write(database, (transaction) =>
        configuration.update({ openid_connect_providers: [changed] }, { transaction }),
      );
    const entries = await readAuditEntries(database, { limit: 100 });
    const text = JSON.stringify(entries);
    for (const secret of secrets) t.false(text.includes(secret), secret);
    const changesOf = (recordId: string): FieldChanges[] =>
      entries.filter(({ record_id }) => record_id === recordId).map(({ changes }) => changes);
    t.deepEqual(changesOf(user.id)[0]?.['password'], { changed: true });
    t.deepEqual(changesOf(device.id)[1], { preshared_key: { changed: true } });
    t.deepEqual(changesOf('wireguard_private_key'), [{ value: { changed: true } }]);
    const shown = (label: string) => [{ id: 'p', label, client_secret: '(hidden)' }];
    t.deepEqual(changesOf(configuration.id).slice(1), [
      { openid_connect_providers: { added: shown('m'), removed: shown('l') } },
      { client_secret: { changed: true } },
    ]);
  });

  test(`${kind}: ports are audited as the API shows them`, async (t) => {
    const database = await openDatabase(t, kind);
    const rule = await addRule(database, {
      destination: '10.0.0.1',
      port_type: 'tcp',
      port_start: 80,
      port_end: 80,
    });
    await write(database, (transaction) => rule.update({ port_end: 90 }, { transaction }));
    await write(database, (transaction) =>
      rule.update({ port_type: null, port_start: null, port_end: null }, { transaction }),
    );
    const entries = await readAuditEntries(database, { limit: 3 });
    t.deepEqual(
      entries.map(({ changes }) => changes['port_range']),
      [{ to: '80' }, { from: '80', to: '80 - 90' }, { from: '80 - 90', to: null }],
    );
  });
}
