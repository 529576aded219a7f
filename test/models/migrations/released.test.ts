// Databases as every released schema left them, each made and filled by the code of its time
// (released/), are brought up to date and keep what they hold.

import { readdirSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import {
  currentRevision,
  type Database,
  executedMigrations,
  migrate,
  pendingMigrations,
  readConfiguration,
  readDevices,
  readOrCreateSecret,
  readRules,
  readUsers,
} from '../../../models/index.ts';
import { UNRELEASED, UnreleasedSchemaError } from '../../../models/migrations/before-release.ts';
import { migrations } from '../../../models/migrations/index.ts';
import { insertIfAbsent } from '../../../models/migrations/schema.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
  type TestDatabaseKind,
} from '../../support/database/databases.ts';
import { rawRows } from '../../support/database/full-database.ts';
import { addUser } from '../fixtures.ts';
import { FOLDER, KEY, loadReleased } from './released-databases.ts';
import { readSchema } from './schema-text.ts';

const id = (n: number): string => `0190a000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const key = (n: number): string => Buffer.alloc(32, n).toString('base64');

/** Schemas that versions between releases left: before the history lost its keys, and the last. */
const BETWEEN = ['0010', '0019'];
/** The numbers of the last steps that ran. */
const numbers = [...migrations.map(({ name }) => name.slice(0, 4)), ...BETWEEN].toSorted();

test('there is one of every schema', (t) => {
  const wanted = numbers.flatMap((number) =>
    ['mariadb', 'sqlite'].map((kind) => `${number}.${kind}.sql`),
  );
  t.deepEqual(readdirSync(FOLDER).toSorted(), wanted, 'run: npm run schema -- --released');
});

for (const kind of databaseKinds())
  for (const number of numbers)
    test(`${kind}: ${number} is brought up, and everything is kept`, async (t) => {
      const database = await openReleased(t, kind, number);
      const ran = await executedMigrations(database);
      t.is(ran.at(-1)?.slice(0, 4), number);
      const before = await rawRows(database);
      let backups = 0;
      const beforeUpgrade = async () => void (backups += 1);
      const steps = migrations.map(({ name }) => name).filter((name) => !ran.includes(name));
      t.deepEqual(await migrate(database, { beforeUpgrade }), steps);
      t.is(backups, steps.length === 0 ? 0 : 1);
      const after = await rawRows(database);
      for (const [table, rows] of Object.entries(before))
        for (const [i, row] of rows.entries()) t.like(after[table]?.[i], row as object, table);
      await holdsWhatItHeld(t, database);
      const [schema] = (await readSchema(database)) as unknown[];
      const [fresh] = (await readSchema(await openDatabase(t, kind))) as unknown[];
      t.deepEqual(schema, fresh);
      t.deepEqual((await executedMigrations(database)).at(-1), migrations.at(-1)?.name);
      await addUser(database);
    });

for (const kind of databaseKinds()) {
  test(`${kind}: a database with all steps of before 1.0.0 is used as it is`, async (t) => {
    const database = await openReleased(t, kind, '0001');
    await nameSteps(database, UNRELEASED);
    const before = await rawRows(database);
    const first = migrations.slice(0, 1);
    t.deepEqual(await executedMigrations(database), [first[0]?.name]);
    const beforeUpgrade = () => Promise.reject(new Error('there is nothing to upgrade'));
    t.deepEqual(await migrate(database, { beforeUpgrade, migrations: first }), []);
    t.deepEqual(await rawRows(database), before);
    await migrate(database);
    await holdsWhatItHeld(t, database);
    const later = { name: '9999-later', up: async () => undefined };
    const known = [...migrations, later];
    t.deepEqual(await migrate(database, { migrations: known }), ['9999-later']);
    t.deepEqual(await pendingMigrations(database, known), []);
  });

  test(`${kind}: a database with some steps of before 1.0.0 is refused, and how to go on is said`, async (t) => {
    const database = await openReleased(t, kind, '0001');
    await nameSteps(database, UNRELEASED.slice(0, -1));
    const before = await rawRows(database);
    const refused = {
      instanceOf: UnreleasedSchemaError,
      message: /0015-gateway-settings did not run\. Nothing was changed\. Start the last version/,
    };
    await t.throwsAsync(migrate(database), refused);
    await t.throwsAsync(pendingMigrations(database), refused);
    t.deepEqual(await rawRows(database), before);
  });
}

/** Names these steps as the ones that ran. */
async function nameSteps(database: Database, steps: readonly string[]): Promise<void> {
  await database.sequelize.query('DELETE FROM migrations');
  for (const name of steps)
    await insertIfAbsent(database, 'migrations', { name, executed_at: '2026-11-21 22:29:26.532' });
}

async function holdsWhatItHeld(t: ExecutionContext, database: Database): Promise<void> {
  const [ann, bob] = await readUsers(database);
  t.like(ann, { id: id(1), email: 'Ann@example.com', role: 'admin', disabled_at: null });
  t.like(bob, { email: 'bób@example.com', disabled_at: new Date('2026-02-03T04:05:06.007Z') });
  const [phone, laptop] = await readDevices(database);
  t.like(phone, {
    id: id(11),
    name: 'Ann\'s "phone" 😀',
    description: 'a\\b',
    preshared_key: key(12),
    ipv4: '100.64.0.11',
    ipv6: 'fd00::11',
    latest_handshake: new Date('2026-03-02T00:00:00Z'),
    rx_bytes: 5_000_000_000,
    disabled_at: null,
    expires_at: null,
  });
  t.like(laptop, { preshared_key: key(22), mtu: 1300, use_default_mtu: false });
  t.deepEqual(laptop?.dns, ['9.9.9.9']);
  const [web, drop] = await readRules(database);
  t.like(web, { destination: '10.0.0.0/8', port_start: 80, port_end: 443, user_id: id(1) });
  t.like(drop, { action: 'drop', destination: 'fd12::/16', user_id: null });
  const configuration = await readConfiguration(database);
  t.like(configuration, { vpn_session_duration: 3600, local_auth_enabled: true });
  const row = await database.models.Configuration.findOne({ rejectOnEmpty: true });
  t.is(row.openid_connect_providers[0]?.client_secret, 'hush');
  t.is(await readOrCreateSecret(database, 'wireguard_private_key', () => 'another'), key(3));
  t.is(await database.models.ApiToken.count(), 1);
  t.true(Number(await currentRevision(database)) > 1);
}

async function openReleased(
  t: ExecutionContext,
  kind: TestDatabaseKind,
  number: string,
): Promise<Database> {
  const place = { ...(await makePlace(t, kind)), encryptionKey: KEY };
  await loadReleased(place.url, number, kind);
  return openAt(t, place);
}
