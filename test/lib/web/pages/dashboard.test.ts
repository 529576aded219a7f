// The dashboard: made on the server with what the gateways and this process saw, as text.

import test from 'ava';
import { addDevice } from '../../../models/fixtures.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { recordStatus } from '../../../../models/index.ts';
import { fakeObserved } from '../../../support/observe/fake-gateway.ts';

for (const kind of firstKind()) {
  test(`${kind}: only administrators see the dashboard, which is where they begin`, async (t) => {
    const console = await openConsole(t, kind);
    await checkGuard(t, console, { pages: ['/dashboard'] });
    t.is((await console.user.get('/dashboard/live')).status, 403);
    t.is((await console.admin.get('/')).location, '/dashboard');
  });

  test(`${kind}: it shows devices online, handshakes, refusals and problems`, async (t) => {
    const problem = { table: 'devices', id: 'd1', message: `its key is bad ${NASTY}` } as const;
    const observed = fakeObserved({
      drops: () => ({ rule_drop: 1_200, mac1_invalid: 3 }),
      problems: () => [problem],
    });
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { observed });
    const device = await addDevice(database, plainUser, { name: NASTY });
    await addDevice(database, plainUser);
    const seen = { latestHandshake: new Date(), remoteIp: '192.0.2.9', remotePort: 4711 };
    await recordStatus(database, 'g', [{ deviceId: device.id, ...seen, rxBytes: 1, txBytes: 2 }]);
    const page = await admin.get('/dashboard');
    for (const part of [
      '<a href="/devices?state=online" data-value="online">1</a>',
      '<a href="/devices" data-value="devices">2</a>',
      '<dd><a href="/refusals" data-value="dropped">1,200</a></dd>',
      'rule drop <small>A rule drops it.</small>',
      'mac1 invalid <small>The sender does not know the gateway’s public key',
      '1,200',
      'href="/devices/d1"',
      `href="/devices/${device.id}"`,
      '192.0.2.9<wbr>:4711',
      'user@<wbr>example.com',
    ])
      t.true(page.text.includes(part), part);
    t.regex(page.text, /data-rows="drops"[^]*rule drop[^]*data-rows="others"[^]*mac1 invalid/);
    checkText(t, page, 'the dashboard');
  });

  test(`${kind}: a gateway that is not ready says so`, async (t) => {
    const readiness = () => ({ status: 'data_plane_down', tun: null, masquerade: false }) as const;
    const { admin } = await openConsole(t, kind, {}, { readiness });
    const { text } = await admin.get('/dashboard');
    t.regex(text, /part of the gateway that passes packets has stopped; no packet passes\./);
    t.regex(text, /Restart the gateway/);
    t.regex(text, /<li class="note failed"><span class="badge bad">does not work<\/span>/);
    t.true(
      text.indexOf('has stopped') < text.indexOf('Devices online'),
      'above figures and charts',
    );
    t.false(text.includes('data plane down'), 'that is a name for programs');
    t.notRegex(text, /leaves by sockets/);
  });

  test(`${kind}: a gateway that needs no TUN says so, and why`, async (t) => {
    const ready = { status: 'ready', tun: null, masquerade: true, egress: 'sockets' } as const;
    const egress_reason = 'no TUN interface wg-postern: /dev/net/tun is missing';
    const readiness = () => ({ ...ready, egress_reason });
    const { admin } = await openConsole(t, kind, {}, { readiness });
    const page = await admin.get('/dashboard');
    t.true(page.text.includes(`leaves by sockets of this gateway: ${egress_reason}.`));
    t.notRegex(page.text, /no TUN interface: devices connect/);
    checkText(t, page, 'the dashboard');
  });
}
