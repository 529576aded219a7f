// Policy tests over HTTP: docs/api.md#policy-tests, sentence by sentence. Which writes of rules they
// hold up: ../policy/guard.test.ts.

import test from 'ava';
import { sentenceOf } from '../../../../lib/kit/validation/messages.ts';
import { POLICY_TESTS_MAX } from '../../../../lib/domain/policy-tests/policy-tests.ts';

import { createToken } from '../../../../lib/auth/tokens.ts';
import { readAuditEntries, writeTransaction } from '../../../../models/index.ts';
import { newKey, openServer, refused, surfaces } from '../../../support/api/server.ts';

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const PATH = '/v0/policy_tests';
const blank = ["can't be blank"];

/** A test that anything of may be replaced. */
const wiki = {
  name: ' Alice reaches the wiki ',
  destination: '10.0.0.5',
  protocol: 'tcp',
  port: 443,
  expect: 'accept',
};

for (const kind of surfaces()) {
  test(`${kind}: a policy test is made, read, changed and deleted`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const policy_test = { ...wiki, user_id: adminId.toUpperCase() };
    const made = await send('POST', PATH, { body: { policy_test } });
    t.is(made.status, 201, made.text);
    const { id, inserted_at, updated_at } = made.body.data;
    t.is(made.headers['location'], `${PATH}/${id}`);
    t.deepEqual(made.body.data, {
      id,
      name: 'Alice reaches the wiki',
      user_id: adminId,
      device_id: null,
      destination: '10.0.0.5',
      protocol: 'tcp',
      port: 443,
      expect: 'accept',
      passes: true,
      verdict: 'accept',
      reason: null,
      rule_id: null,
      text: 'No rule matches the packet, and the default action is accept, as the test expects.',
      inserted_at,
      updated_at,
    });
    t.deepEqual((await send('GET', `${PATH}/${id.toUpperCase()}`)).body, made.body);
    t.deepEqual((await send('GET', PATH)).body, { data: [made.body.data] });
    t.deepEqual((await send('GET', `${PATH}?user_id=${adminId}`)).body.data.length, 1);
    t.deepEqual((await send('GET', `${PATH}?user_id=${UNKNOWN}`)).body.data, []);
    const same = await send('PUT', `${PATH}/${id}`, { body: { policy_test: made.body.data } });
    t.deepEqual(same.body, made.body);
    const changes = { expect: 'drop', protocol: 'icmp', port: null };
    const changed = await send('PATCH', `${PATH}/${id}`, { body: { policy_test: changes } });
    t.like(changed.body.data, { ...changes, passes: false, verdict: 'accept', inserted_at });
    t.true(changed.body.data.updated_at > updated_at);
    t.regex(changed.body.data.text, /but the test expects drop\.$/);
    t.is((await send('DELETE', `${PATH}/${id}`)).status, 204);
    t.deepEqual((await send('GET', PATH)).body.data, []);
    for (const [method, body] of [['GET'], ['PATCH', { policy_test: {} }], ['DELETE']] as const) {
      const gone = await send(method, `${PATH}/${id}`, body === undefined ? {} : { body });
      t.is(gone.status, 404, method);
    }
  });

  test(`${kind}: the result follows rules, owner and device`, async (t) => {
    const { send, adminId } = await openServer(t, kind, { DEFAULT_ACTION: 'drop' });
    const device = { user_id: adminId, public_key: newKey() };
    const { id: device_id } = (await send('POST', '/v0/devices', { body: { device } })).body.data;
    const policy_test = { ...wiki, device_id };
    const made = (await send('POST', PATH, { body: { policy_test } })).body.data;
    t.like(made, { user_id: null, device_id, passes: false, reason: 'default_drop' });
    t.is(
      made.text,
      'No rule matches the packet, and the default action is drop, but the test expects accept.',
    );
    const rule = { action: 'accept', destination: '10.0.0.0/8', user_id: adminId };
    const { id: rule_id } = (await send('POST', '/v0/rules', { body: { rule } })).body.data;
    const [shown] = (await send('GET', PATH)).body.data;
    t.like(shown, { passes: true, verdict: 'accept', reason: null, rule_id });
    t.is(shown.text, 'A rule accepts the packet, as the test expects.');
    const fails = `The rule ${rule_id} accepts the packet, but the test expects drop.`;
    const expecting = (expect: string) =>
      send('PATCH', `${PATH}/${made.id}`, { body: { policy_test: { expect } } });
    t.is((await expecting('drop')).body.data.text, fails);
    const described = { rule: { description: 'the LAN' } };
    await send('PATCH', `/v0/rules/${rule_id}`, { body: described });
    const [again] = (await send('GET', PATH)).body.data;
    t.is(again.text, fails.replace(rule_id, `${rule_id} (“the LAN”)`));
    await expecting('accept');
    const reserved = { destination: '127.0.0.1' };
    const moved = await send('PATCH', `${PATH}/${made.id}`, { body: { policy_test: reserved } });
    t.like(moved.body.data, { passes: false, reason: 'inner_destination_reserved', rule_id: null });
    t.regex(moved.body.data.text, /^The packet is dropped, but the test expects accept\. ./);
  });

  test(`${kind}: what is wrong with a policy test`, async (t) => {
    const { send, adminId } = await openServer(t, kind, { WIREGUARD_IPV6_ENABLED: 'false' });
    const device = { user_id: adminId, public_key: newKey() };
    const { id: device_id } = (await send('POST', '/v0/devices', { body: { device } })).body.data;
    const good = { ...wiki, user_id: adminId };
    const invalid = async (fields: object, errors: object): Promise<void> => {
      const answer = await send('POST', PATH, { body: { policy_test: { ...good, ...fields } } });
      t.is(answer.status, 422, JSON.stringify(fields));
      t.deepEqual(answer.body, refused(errors), JSON.stringify(fields));
    };
    t.deepEqual(
      (await send('POST', PATH, { body: { policy_test: {} } })).body,
      refused({ name: blank, destination: blank, protocol: blank, expect: blank, user_id: blank }),
    );
    await invalid({ user_id: null }, { user_id: blank });
    await invalid({ device_id }, { device_id: ['must not be present'] });
    await invalid({ user_id: UNKNOWN }, { user_id: ['does not exist'] });
    await invalid({ user_id: null, device_id: UNKNOWN }, { device_id: ['does not exist'] });
    await invalid({ user_id: null, device_id: 'x' }, { device_id: ['does not exist'] });
    await invalid({ port: null }, { port: blank });
    await invalid({ protocol: 'icmp' }, { port: ['must not be present'] });
    await invalid({ protocol: 'sctp' }, { protocol: ['should be one of tcp, udp, icmp'] });
    await invalid({ expect: 'maybe' }, { expect: ['should be one of accept, drop'] });
    await invalid({ port: 0 }, { port: ['must be greater than or equal to 1'] });
    await invalid({ port: 65_536 }, { port: ['must be less than or equal to 65535'] });
    await invalid({ destination: '10.0.0.0/8' }, { destination: ['is invalid'] });
    await invalid({ destination: 'wiki' }, { destination: ['is invalid'] });
    await invalid({ name: '  ' }, { name: blank });
    await invalid({ name: 'x'.repeat(256) }, { name: ['should be at most 255 character(s)'] });
    await invalid(
      { user_id: null, device_id, destination: 'fd00::1' },
      { destination: ['is of an address family that the device does not have'] },
    );
    const { id } = (await send('POST', PATH, { body: { policy_test: good } })).body.data;
    const move = await send('PATCH', `${PATH}/${id}`, { body: { policy_test: { device_id } } });
    t.deepEqual(move.body, refused({ device_id: ['must not be present'] }));
    const both = { device_id, user_id: null, destination: '::ffff' };
    t.deepEqual(
      (await send('PATCH', `${PATH}/${id}`, { body: { policy_test: both } })).body,
      refused({ destination: ['is of an address family that the device does not have'] }),
    );
  });

  test(`${kind}: tests go with their user or device, and the audit trail names them`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const user = { email: 'alice@example.com' };
    const { id: user_id } = (await send('POST', '/v0/users', { body: { user } })).body.data;
    const device = { user_id, public_key: newKey() };
    const { id: device_id } = (await send('POST', '/v0/devices', { body: { device } })).body.data;
    const ids: string[] = [];
    for (const sender of [{ user_id }, { device_id }, { device_id }]) {
      const policy_test = { ...wiki, ...sender };
      ids.push((await send('POST', PATH, { body: { policy_test } })).body.data.id);
    }
    await send('DELETE', `${PATH}/${ids[2]}`);
    t.is((await send('DELETE', `/v0/devices/${device_id}`)).status, 204);
    t.is((await send('GET', PATH)).body.data.length, 1);
    t.is((await send('DELETE', `/v0/users/${user_id}`)).status, 204);
    t.deepEqual((await send('GET', PATH)).body.data, []);
    const entries = await readAuditEntries(database, { limit: 100 });
    const ofTests = entries.filter((entry) => entry.kind === 'policy_test');
    const lines = ofTests.map(({ action, record_id: id }) => `${action} ${ids.indexOf(id)}`);
    t.deepEqual(lines.toSorted(), [
      'create 0',
      'create 1',
      'create 2',
      'delete 0',
      'delete 1',
      'delete 2',
    ]);
    const made = ofTests.find(({ action, record_id: id }) => action === 'create' && id === ids[0]);
    t.deepEqual(made?.changes, {
      name: { to: 'Alice reaches the wiki' },
      user_id: { to: user_id },
      destination: { to: '10.0.0.5' },
      protocol: { to: 'tcp' },
      port: { to: 443 },
      expect: { to: 'accept' },
    });
  });
}

test('there is room for a thousand tests', async (t) => {
  const { send, database, adminId } = await openServer(t, 'sqlite');
  const row = { name: 'x', destination: '10.0.0.5', protocol: 'icmp', expect: 'accept' } as const;
  const rows = Array.from({ length: POLICY_TESTS_MAX - 1 }, () => ({ ...row, user_id: adminId }));
  await writeTransaction(database, (transaction) =>
    database.models.PolicyTest.bulkCreate(rows, { transaction }),
  );
  const policy_test = { ...wiki, user_id: adminId };
  const answers = await Promise.all(
    [1, 2].map(() => send('POST', PATH, { body: { policy_test } })),
  );
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201, 422]));
  t.deepEqual(
    answers.find(({ status }) => status === 422)?.body,
    refused({
      base: [sentenceOf({ code: 'tooManyPolicyTests', values: { most: POLICY_TESTS_MAX } })],
    }),
  );
  t.is((await send('GET', PATH)).body.data.length, POLICY_TESTS_MAX);
});

test('only administrators see and write policy tests', async (t) => {
  const { send, database } = await openServer(t, 'sqlite');
  const user = { email: 'bob@example.com' };
  const { id: user_id } = (await send('POST', '/v0/users', { body: { user } })).body.data;
  const { token } = await createToken(database, { email: user.email, name: 'x' });
  const policy_test = { ...wiki, user_id };
  const { id } = (await send('POST', PATH, { body: { policy_test } })).body.data;
  for (const [method, path, body] of [
    ['GET', PATH],
    ['POST', PATH, { policy_test }],
    ['GET', `${PATH}/${id}`],
    ['PATCH', `${PATH}/${id}`, { policy_test: { expect: 'drop' } }],
    ['PUT', `${PATH}/${id}`, { policy_test: { expect: 'drop' } }],
    ['DELETE', `${PATH}/${id}`],
  ] as const) {
    const sent = body === undefined ? {} : { body };
    t.is((await send(method, path, { ...sent, token })).status, 403, method);
    t.is((await send(method, path, { ...sent, token: null })).status, 401, method);
  }
  t.like((await send('GET', `${PATH}/${id}`)).body.data, { expect: 'accept' });
});
