// What the portal shows of refused packets: those that one's own devices sent, in plain words, and
// nothing of others.

import test from 'ava';
import type { RefusalQuery } from '../../../../dataplane/index.ts';
import { registerGateway } from '../../../../models/index.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addDevice } from '../../../support/database/records.ts';
import { fakeLive, refusalOf } from '../../../support/observe/fake-gateway.ts';
import { checkText, NASTY, openConsole } from '../../../support/web/console.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const RULE = '01900000-0000-7000-8000-000000000001';

for (const kind of firstKind())
  test(`${kind}: people see what was blocked of their own devices`, async (t) => {
    const asked: RefusalQuery[] = [];
    const ids = new Map<string, string>();
    const live = fakeLive(GATEWAY, {
      refusals: async (query) => {
        asked.push(query);
        return [
          refusalOf('own', { reason: 'rule_drop', rule: RULE }),
          refusalOf('own', { destination: '10.0.0.7', protocol: 1, port: null }),
          refusalOf('own', { destination: '127.0.0.1', reason: 'inner_destination_reserved' }),
          // What a device got that is somebody else's by now, and what others sent.
          refusalOf('other', { destination: '10.9.9.9' }),
          refusalOf('own', { isSent: false, source: '100.64.7.7' }),
          refusalOf('gone', { destination: '10.8.8.8' }),
        ];
      },
      deviceIdOf: (key) => ids.get(key) ?? null,
    });
    const { user, database, plainUser, adminUser } = await openConsole(t, kind, {}, { live });
    const own = await addDevice(database, plainUser.id, { name: 'laptop' });
    ids.set('own', own.id);
    ids.set('other', (await addDevice(database, adminUser.id, { name: 'server' })).id);
    await registerGateway(database, { id: 'there', name: 'berlin', startedAt: new Date() });
    const seen = { gateway_id: 'there', latest_handshake: new Date(), updated: new Date() };
    await database.models.DeviceStatus.create({ device_id: own.id, ...seen });
    t.true((await user.get('/user_devices')).text.includes('href="/user_refusals"'));
    const { status, text } = await user.get('/user_refusals');
    t.is(status, 200);
    t.deepEqual(asked, [{ device: null, scope: plainUser.id, reason: null }]);
    for (const shown of [
      'Connected to another gateway: laptop.',
      `/user_devices/${own.id}">laptop`,
      '10.0.0.6',
      'TCP 22',
      'A rule of your administrator blocks it.',
      '10.0.0.7',
      'ICMP',
      'No rule of your administrator allows it.',
      'never reached through the tunnel',
    ])
      t.true(text.includes(shown), shown);
    for (const hidden of [
      '10.9.9.9',
      '100.64.7.7',
      '10.8.8.8',
      RULE,
      'server',
      '/rules/',
      '/explain',
    ])
      t.false(text.includes(hidden), hidden);
  });

for (const kind of firstKind())
  test(`${kind}: what devices sent by themselves is one line at the end`, async (t) => {
    const ids = new Map<string, string>();
    const live = fakeLive(GATEWAY, {
      refusals: async () => [
        refusalOf('own', { destination: 'ff02::fb', port: 5_353, count: 1_200 }),
        refusalOf('own', { destination: '224.0.0.251', port: 5_353, count: 34 }),
        refusalOf('other', { destination: '239.255.255.250', count: 7_000 }),
        refusalOf('own', { destination: '10.0.0.7' }),
      ],
      deviceIdOf: (key) => ids.get(key) ?? null,
    });
    const { user, database, plainUser, adminUser } = await openConsole(t, kind, {}, { live });
    ids.set('own', (await addDevice(database, plainUser.id)).id);
    ids.set('other', (await addDevice(database, adminUser.id)).id);
    const { text } = await user.get('/user_refusals');
    const [shown = '', folded = ''] = text.split('<details class="past">');
    t.true(shown.includes('10.0.0.7'));
    for (const address of ['ff02::fb', '224.0.0.251']) {
      t.false(shown.includes(address), address);
      t.true(folded.includes(address), address);
    }
    t.true(folded.includes('1,234 packets that your devices sent by themselves'));
    t.false(text.includes('239.255.255.250'), 'a device of somebody else');
  });

for (const kind of firstKind())
  test(`${kind}: nothing, text that is no markup, and no data plane`, async (t) => {
    let id = '';
    const live = fakeLive(GATEWAY, {
      refusals: async () => (id === '' ? [] : [refusalOf('own')]),
      deviceIdOf: () => id,
    });
    const { user, database, plainUser } = await openConsole(t, kind, {}, { live });
    t.true((await user.get('/user_refusals')).text.includes('Nothing was blocked lately'));
    id = (await addDevice(database, plainUser.id, { name: NASTY })).id;
    checkText(t, await user.get('/user_refusals'), 'a name');
    const without = await openConsole(t, kind);
    t.is((await without.user.get('/user_refusals')).status, 503);
  });
