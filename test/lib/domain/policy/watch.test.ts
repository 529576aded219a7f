// The audit trail names policy tests that fail because of what is never held up: another default
// action, by the API and at the command line, and an import.

import test from 'ava';
import { importFirezone } from '../../../../lib/installation/imports/firezone.ts';
import { type Database, readAuditEntries } from '../../../../models/index.ts';
import { configOf, openServer, surfaces, type TestServer } from '../../../support/api/server.ts';
import { runTyped } from '../../../support/gateway/typed-command.ts';

const fields = { protocol: 'tcp', port: 443, expect: 'accept' };

async function expectAccept({ send, adminId }: TestServer, destination: string): Promise<string> {
  const policy_test = { name: destination, user_id: adminId, destination, ...fields };
  return (await send('POST', '/v0/policy_tests', { body: { policy_test } })).body.data.id;
}

async function failures(database: Database): Promise<[string, object][]> {
  const entries = await readAuditEntries(database, { limit: 1_000, action: 'fail' });
  return entries.map(({ record_id: id, changes }) => [id, changes]);
}

for (const kind of surfaces()) {
  test(`${kind}: another default action is never held up`, async (t) => {
    const opened = await openServer(t, kind);
    const { send, database } = opened;
    const id = await expectAccept(opened, '10.0.0.5');
    const covered = await expectAccept(opened, '10.1.0.5');
    const rule = { action: 'accept', destination: '10.1.0.0/16' };
    await send('POST', '/v0/rules', { body: { rule } });
    const set = (default_action: string) =>
      send('PATCH', '/v0/configuration', { body: { configuration: { default_action } } });
    t.is((await set('drop')).status, 200);
    t.deepEqual(await failures(database), [[id, { forced: { to: false } }]]);
    const shown = async (one: string) => (await send('GET', `/v0/policy_tests/${one}`)).body.data;
    t.like(await shown(id), { passes: false, reason: 'default_drop' });
    t.like(await shown(covered), { passes: true });
    t.is((await set('drop')).status, 200);
    t.is((await set('accept')).status, 200);
    t.is((await failures(database)).length, 1);
    await runTyped(database, 'configuration set default_action=drop');
    t.is((await failures(database)).length, 2);
  });

  test(`${kind}: an import is never held up`, async (t) => {
    const opened = await openServer(t, kind);
    const { database } = opened;
    const id = await expectAccept(opened, '10.0.0.5');
    const dump = { rules: [{ action: 'drop', destination: '10.0.0.0/8', user_id: null }] };
    const services = { config: configOf({}), database, serverPublicKey: '' };
    await importFirezone(services, JSON.stringify(dump), true);
    t.deepEqual(await failures(database), []);
    await importFirezone(services, JSON.stringify(dump), false);
    t.deepEqual(await failures(database), [[id, { forced: { to: false } }]]);
  });
}
