// Operations that commands perform: in whose name, and what is said of what is refused.

import test from 'ava';
import { performOperation } from '../../../lib/cli/perform.ts';
import { CommandRooms } from '../../../lib/cli/rooms.ts';
import { UsageError } from '../../../lib/kit/process/usage-error.ts';
import { configOf } from '../../../lib/testing/settings.ts';
import { type Database, newId, readAuditEntries } from '../../../models/index.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { addUser } from '../../support/database/records.ts';

function givenIn(database: Database) {
  const rooms = new CommandRooms(configOf({}), database);
  return { rooms: async () => rooms, gateway: null };
}

test('an operation is performed in the name of the command line', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const body = { rule: { destination: '10.0.0.0/8' } };
  const { answer, failing } = await performOperation(givenIn(database), 'createRule', { body });
  t.like(answer, { destination: '10.0.0.0/8', action: 'drop' });
  t.is(failing, 0);
  const [entry] = await readAuditEntries(database, { limit: 1 });
  t.like(entry, { actor: 'command line', kind: 'rule', action: 'create', request_id: null });
  const params = { id: String(answer['id']) };
  t.deepEqual((await performOperation(givenIn(database), 'deleteRule', { params })).answer, {});
});

test('a refusal is a sentence, by the names and with the hints of the command', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const given = givenIn(database);
  const body = { rule: { destination: 'nowhere' } };
  await t.throwsAsync(
    performOperation(
      given,
      'createRule',
      { body },
      { hints: { destination: '--destination 10.0.0.5' } },
    ),
    { instanceOf: UsageError, message: 'destination: is invalid; give --destination 10.0.0.5' },
  );
  const { id } = await addUser(database, { email: 'ann@b.example', role: 'admin' });
  const sent = { params: { id }, body: { user: { enabled: false } } };
  await t.throwsAsync(
    performOperation(given, 'updateUser', { ...sent, called: { enabled: 'ann@b.example' } }),
    { message: 'ann@b.example: the last administrator cannot be disabled' },
  );
  await t.throwsAsync(
    performOperation(given, 'updateUser', sent, (errors) => new Error(Object.keys(errors).join())),
    { message: 'enabled' },
  );
});

test('a value that is none is wrong usage, whatever the path names', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const params = async (): Promise<never> => {
    throw new Error('nobody is there');
  };
  const asked = (limit_down: string) =>
    performOperation(givenIn(database), 'updateUser', { params, body: { user: { limit_down } } });
  await t.throwsAsync(asked('fast'), { instanceOf: UsageError, message: /^limit_down: / });
  await t.throwsAsync(asked('64000'), { message: 'nobody is there' });
});

test('what was removed since it was found is named, or said to be gone', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const given = givenIn(database);
  const sent = { params: { id: newId() }, named: 'x' };
  await t.throwsAsync(performOperation(given, 'deleteRule', sent), {
    message: /^somebody removed it meanwhile; see: /,
  });
  const absent = (named: string): Error => new Error(`no ${named}`);
  await t.throwsAsync(performOperation(given, 'deleteRule', sent, { absent }), { message: 'no x' });
});

test('where policy tests hold a write up, the way out is named, and taken with force', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const given = givenIn(database);
  const { id: user_id } = await addUser(database, { email: 'ann@b.example' });
  const policy_test = {
    name: 'wiki',
    user_id,
    destination: '10.0.0.5',
    protocol: 'tcp',
    port: 443,
    expect: 'accept',
  };
  await performOperation(given, 'createPolicyTest', { body: { policy_test } });
  const off = { rule: { destination: '10.0.0.0/8', enabled: false } };
  const { answer } = await performOperation(given, 'createRule', { body: off });
  const sent = { params: { id: String(answer['id']) }, body: { rule: { enabled: true } } };
  await t.throwsAsync(
    performOperation(given, 'updateRule', sent, { forced: 'the rule is enabled' }),
    {
      message: /^policy test "wiki" would fail: .*; with --force the rule is enabled anyway$/,
    },
  );
  t.is((await performOperation(given, 'updateRule', { ...sent, force: true })).failing, 1);
});
