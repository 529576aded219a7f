// The page that captures the packets of a device: who may, what the form asks for, and the file that
// is its answer.

import test from 'ava';
import { RunningCaptures } from '../../../../dataplane/gateway/captures.ts';
import type { CaptureOrder } from '../../../../dataplane/index.ts';
import { readAuditEntries, registerGateway } from '../../../../models/index.ts';
import { untilHolds } from '../../../support/api/running-capture.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addDevice } from '../../../support/database/records.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';

/** A data plane that captures nothing, but can be asked to. */
function fakeCapturing(): {
  capturing: { id: string; capture: (order: CaptureOrder) => Promise<never> };
  running: RunningCaptures;
  orders: CaptureOrder[];
} {
  const running = new RunningCaptures();
  const orders: CaptureOrder[] = [];
  const capture = async (order: CaptureOrder): Promise<never> => {
    const begun = running.begin(order, 1);
    if (begun !== null) orders.push(order);
    return (begun?.capture ?? null) as never;
  };
  return { capturing: { id: GATEWAY, capture }, running, orders };
}

for (const kind of firstKind()) {
  test(`${kind}: only administrators capture, by a form of this site`, async (t) => {
    const { capturing, orders } = fakeCapturing();
    const console = await openConsole(t, kind, {}, { capturing });
    const device = await addDevice(console.database, console.plainUser.id);
    const path = `/devices/${device.id}/capture`;
    await checkGuard(t, console, { pages: [path], forms: [path] });
    t.deepEqual(orders, []);
    t.true((await console.admin.get(`/devices/${device.id}`)).text.includes(`"${path}"`));
    t.is((await console.admin.get(`/devices/${GATEWAY}/capture`)).status, 404);
  });

  test(`${kind}: the answer is a file, and the audit log says who began it`, async (t) => {
    const { capturing, orders, running } = fakeCapturing();
    const { admin, adminUser, database, plainUser } = await openConsole(t, kind, {}, { capturing });
    const device = await addDevice(database, plainUser.id, { name: 'Ann’s laptop' });
    const path = `/devices/${device.id}/capture`;
    const form = await admin.get(path);
    t.true(form.text.includes('What Ann’s laptop really sends'));
    t.false(form.text.includes('Capture them there.'));
    await registerGateway(database, { id: 'there', name: 'berlin', startedAt: new Date() });
    const seen = { gateway_id: 'there', latest_handshake: new Date(), updated: new Date() };
    await database.models.DeviceStatus.create({ device_id: device.id, ...seen });
    t.regex((await admin.get(path)).text, /connected to the gateway berlin, .* Capture them there/);
    const typed = { duration: '1', only: 'refused', destination: '10.0.0.0/8', protocol: 'udp' };
    const { status, headers } = await admin.post(path, { ...typed, port: '53', payload: 'true' });
    t.is(status, 200);
    t.is(headers['content-type'], 'application/x-pcapng');
    t.is(headers['content-disposition'], 'attachment; filename="Ann-s-laptop.pcapng"');
    t.is(headers['cache-control'], 'no-store');
    t.is(headers['x-accel-buffering'], 'no');
    t.like(orders, {
      length: 1,
      0: { publicKey: device.public_key, snaplen: 65_535, onlyRefused: true, port: 53 },
    });
    t.is((await admin.post(path, { duration: '1', only: '', protocol: '' })).status, 200);
    t.like(orders[1], { snaplen: 128, onlyRefused: false, protocol: null, destination: null });
    const entries = async (): ReturnType<typeof readAuditEntries> =>
      readAuditEntries(database, { limit: 100, recordId: device.id, who: adminUser.email });
    await untilHolds(async () => (await entries()).length === 4);
    t.deepEqual((await entries()).map(({ action }) => action).toSorted(), [
      'begin capture',
      'begin capture',
      'end capture',
      'end capture',
    ]);
    t.is([...running.all].length, 0);
    t.true((await admin.get('/audit')).text.includes('begin capture'));
  });

  test(`${kind}: what is wrong is said at its field, and text is never markup`, async (t) => {
    const { capturing, orders, running } = fakeCapturing();
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { capturing });
    const device = await addDevice(database, plainUser.id, { name: NASTY });
    const path = `/devices/${device.id}/capture`;
    for (const [name, value] of [
      ['duration', '3601'],
      ['port', NASTY],
      ['destination', NASTY],
      ['protocol', 'sctp'],
    ] as const) {
      const shown = await admin.post(path, { duration: '1', [name]: value });
      t.is(shown.status, 422, name);
      t.true(shown.text.includes(`field-${name}-error`), name);
      checkText(t, shown, name);
    }
    t.deepEqual(orders, []);
    running.begin({} as CaptureOrder, 1);
    running.begin({} as CaptureOrder, 1);
    const full = await admin.post(path, { duration: '1' });
    t.is(full.status, 429);
    t.true(full.text.includes('Two captures run already'));
  });

  test(`${kind}: a capture ends with the session of its browser`, async (t) => {
    const { capturing, running } = fakeCapturing();
    const { admin, adminUser, database, plainUser } = await openConsole(t, kind, {}, { capturing });
    const device = await addDevice(database, plainUser.id);
    const path = `/devices/${device.id}/capture`;
    await admin.get(path);
    const answer = admin.post(path, { duration: '60' });
    await untilHolds(() => [...running.all].length === 1);
    await database.models.Session.destroy({ where: { user_id: adminUser.id } });
    t.true((await answer).text.includes('It ended: whoever asked for it may not any more.'));
  });
}
