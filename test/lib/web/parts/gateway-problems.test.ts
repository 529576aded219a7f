// Problems of a gateway in words for people: on the dashboard, and at the files that they affect.

import { setTimeout } from 'node:timers/promises';
import test from 'ava';
import { fixedSettingsOf } from '../../../../lib/domain/configuration/fixed-settings.ts';
import { letInCommand } from '../../../../lib/auth/administrators.ts';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { dashboardProblems } from '../../../../lib/web/parts/gateway-problems.ts';
import type { Readiness } from '../../../../lib/observe/gateway-state.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { openServer } from '../../../support/api/server.ts';
import { addPerson } from '../../../support/web/visitor.ts';
import { openConsole } from '../../../support/web/console.ts';

const WELL: Readiness = { status: 'ready', tun: 'wg-postern', masquerade: true };
test('the dashboard shows every problem of a gateway, and a file those that affect it', async (t) => {
  const readiness = () => ({ ...WELL, masquerade: false });
  const console = await openConsole(t, 'sqlite', {}, { readiness });
  const { admin, user, database, plainUser } = console;
  const { id } = await addDevice(database, plainUser);
  const board = (await admin.get('/dashboard')).text;
  t.regex(board, /does not masquerade/);
  t.regex(board, /endpoint of devices is 127\.0\.0\.1:51820/);
  const own = (await user.get(`/user_devices/${id}/file`)).text;
  const forAdmin = (await admin.get(`/devices/${id}/file`)).text;
  for (const text of [own, forAdmin]) {
    t.regex(text, /does not masquerade/);
    t.regex(text, /endpoint of devices is 127\.0\.0\.1:51820/);
  }
  t.regex(forAdmin, /Set EXTERNAL_URL/);
  t.notRegex(own, /EXTERNAL_URL/, 'a user cannot set it');
  t.regex(own, /Tell an administrator/);
  const body = { configuration: { default_client_endpoint: 'vpn.example.com' } };
  await console.send('PATCH', '/v0/configuration', { body });
  // A reading of the dashboard is used for half a second.
  await setTimeout(600);
  t.notRegex((await admin.get('/dashboard')).text, /endpoint of devices is/);
  t.notRegex((await user.get(`/user_devices/${id}/file`)).text, /endpoint of devices is/);
});

test('the dashboard shows what the doctor finds, and what only this process knows', async (t) => {
  const finding = {
    check: 'forwarding IPv4',
    level: 'failed',
    message: 'net.ipv4.ip_forward is off',
    fix: 'sysctl -w net.ipv4.ip_forward=1',
  } as const;
  const known = { ...finding, check: 'endpoint', message: 'shown elsewhere' };
  const checkup = { findings: () => [finding, known, { ...known, check: 'administrator' }] };
  const { admin, services } = await openConsole(t, 'sqlite', {}, { checkup });
  const read = async (): Promise<string> => (await admin.get('/dashboard')).text;
  const before = await read();
  t.regex(before, /forwarding IPv4: net\.ipv4\.ip_forward is off\./);
  t.regex(before, /sysctl -w net\.ipv4\.ip_forward=1/);
  t.notRegex(before, /shown elsewhere|were forgotten/);
  services.counters.add('sign_ins', 'forgotten_for_others', 3);
  // A reading of the dashboard is used for half a second.
  await setTimeout(600);
  t.regex(await read(), /too many others were begun: 3 since this gateway started/);
});

test('the dashboard says at once that no administrator can sign in, and what lets one in', async (t) => {
  for (const [settings, first] of [
    [{}, 'Run'],
    [{ LOCAL_AUTH_ENABLED: 'false' }, 'Set LOCAL_AUTH_ENABLED=true, and then run'],
  ] as const) {
    const { services, send } = await openServer(t, 'sqlite', settings);
    await addPerson(services.database, 'boss@example.com', { role: 'admin' });
    const recall = new Recall(services.database, fixedSettingsOf(services.config));
    const found = async () =>
      (await dashboardProblems({ services, recall: recall })).filter(
        ({ text }) => text === 'No administrator can sign in.',
      );
    if (first === 'Run') {
      t.deepEqual(await found(), []);
      const body = { configuration: { local_auth_enabled: false } };
      t.is((await send('PATCH', '/v0/configuration', { body })).status, 200);
    }
    const [problem] = await found();
    t.true(problem?.fix.startsWith(`${first} ${letInCommand('admin@example.com')}`), problem?.fix);
  }
});
