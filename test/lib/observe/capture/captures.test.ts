// The captures of a server: whoever began one must be allowed to have it all the time, and the audit
// trail has the begin and the end of each.

import test, { type ExecutionContext } from 'ava';
import { RunningCaptures } from '../../../../dataplane/gateway/captures.ts';
import type { CaptureOrder } from '../../../../dataplane/index.ts';
import { createToken } from '../../../../lib/auth/tokens.ts';
import { type AuditRow, readAuditEntries, writeTransaction } from '../../../../models/index.ts';
import { RunningCapture, untilHolds } from '../../../support/api/running-capture.ts';
import { ADMIN_EMAIL, openServer, type TestServer } from '../../../support/api/server.ts';
import { databaseKinds, type TestDatabaseKind } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const SECOND_EMAIL = 'second@example.com';

/** A server whose data plane captures nothing, but can be asked to. */
async function open(
  t: ExecutionContext,
  kind: TestDatabaseKind,
): Promise<TestServer & { running: RunningCaptures }> {
  const running = new RunningCaptures();
  const capturing = {
    id: GATEWAY,
    capture: async (order: CaptureOrder) => running.begin(order, 1)?.capture ?? null,
  };
  const opened = await openServer(t, `${kind} over a socket`, {}, { capturing });
  return { ...opened, running };
}

for (const kind of databaseKinds()) {
  test(`${kind}: it ends with the right of whoever began it`, async (t) => {
    const { server, database, running } = await open(t, kind);
    const user = await addUser(database, { email: SECOND_EMAIL, role: 'admin' });
    const { token } = await createToken(database, { email: SECOND_EMAIL, name: 'second' });
    const target = { url: server.info.uri, laptop: await addDevice(database, user.id) };
    const captures = [
      await RunningCapture.begin(target, '', token),
      await RunningCapture.begin(target, '', token),
    ];
    t.is([...running.all].length, 2);
    await writeTransaction(database, async (transaction) =>
      (await database.models.User.findByPk(user.id, { transaction }))!.update(
        { role: 'unprivileged' },
        { transaction },
      ),
    );
    for (const capture of captures) {
      const { counts } = await capture.end();
      t.is(counts.at(-1)!.comment, 'It ended: whoever asked for it may not any more.');
    }
    t.is([...running.all].length, 0);
    t.is((await RunningCapture.begin(target, '', token)).response.statusCode, 403);
  });

  test(`${kind}: begin and end are in the audit trail, with who and what`, async (t) => {
    const { server, database, token, adminId } = await open(t, kind);
    const device = await addDevice(database, adminId);
    const target = { url: server.info.uri, laptop: device };
    const capture = await RunningCapture.begin(target, 'duration=1&only=refused', token);
    const id = capture.response.headers['x-request-id'];
    await capture.end();
    const entries = async (): Promise<AuditRow[]> =>
      (await readAuditEntries(database, { limit: 100, recordId: device.id })).filter(({ action }) =>
        action.endsWith(' capture'),
      );
    await untilHolds(async () => (await entries()).length === 2);
    const [begin, end] = await entries();
    const shared = { email: ADMIN_EMAIL, kind: 'device', request_id: id, address: '127.0.0.1' };
    t.like(begin, { ...shared, action: 'begin capture', user_id: adminId });
    t.deepEqual(begin!.changes, {
      only: { to: 'refused' },
      payload: { to: false },
      duration: { to: 1 },
      bytes: { to: 1_073_741_824 },
      gateway_id: { to: GATEWAY },
    });
    t.like(end, { ...shared, action: 'end capture', user_id: adminId });
    t.like(end!.changes, {
      gateway_id: { to: GATEWAY },
      end: { to: 'duration' },
      packets: { to: 0 },
      lost: { to: 0 },
    });
  });

  test(`${kind}: without a line in the audit trail nothing is captured`, async (t) => {
    const { server, database, token, adminId, running } = await open(t, kind);
    const target = { url: server.info.uri, laptop: await addDevice(database, adminId) };
    await database.sequelize.query('DROP TABLE audit_entries');
    t.is((await RunningCapture.begin(target, '', token)).response.statusCode, 500);
    t.is([...running.all].length, 0);
  });

  test(`${kind}: the end is in the audit trail when the server has stopped`, async (t) => {
    const { server, database, token, adminId, running } = await open(t, kind);
    const device = await addDevice(database, adminId);
    const capture = await RunningCapture.begin({ url: server.info.uri, laptop: device }, '', token);
    await server.stop({ timeout: 1_000 });
    const trail = await readAuditEntries(database, { limit: 100, recordId: device.id });
    t.like(trail.at(-1), { action: 'end capture', email: ADMIN_EMAIL });
    t.is([...running.all].length, 0);
    t.is((await capture.end()).counts.at(-1)!.comment, 'It ended: the gateway stops.');
  });
}
