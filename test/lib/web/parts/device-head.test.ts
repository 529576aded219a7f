// What all pages of a device begin with: the rate of the last seconds, and the button that switches
// it.

import test from 'ava';
import { newId, writeTransaction } from '../../../../models/index.ts';
import { RecentTraffic } from '../../../../lib/observe/history/recent-traffic.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { fakeLive } from '../../../support/observe/fake-gateway.ts';

for (const kind of firstKind()) {
  test(`${kind}: the head says what the device carries now, and switches it on again`, async (t) => {
    let wallMs = Date.now() - 20_000;
    const recent = new RecentTraffic({ deviceIdOf: (key) => key, wallMs: () => wallMs });
    const live = fakeLive(newId());
    const { admin, database, plainUser } = await openConsole(t, kind, {}, { recent, live });
    const device = await addDevice(database, plainUser);
    const here = `/devices/${device.id}`;
    t.regex((await admin.get(here)).text, /<li data-rate>↓ 0\u00a0B\/s ↑ 0\u00a0B\/s<\/li>/);
    const observe = (rx: number, tx: number): void => {
      const bytes = { rxBytes: rx, txBytes: tx, rxInnerBytes: rx, txInnerBytes: tx };
      const peer = { publicKey: device.id, latestHandshakeMs: null, endpoint: null, ...bytes };
      recent.observe({ peers: [peer], rules: [], drops: {}, forgotten: {} });
    };
    observe(0, 0);
    wallMs += 5_000;
    observe(5_000, 10_000_000);
    const { text } = await admin.get(`${here}/network`);
    t.regex(text, /<li data-rate>↓ [1-9][\d.]*\u00a0MB\/s ↑ [1-9][\d.]*\u00a0k?B\/s<\/li>/);
    await writeTransaction(database, (transaction) =>
      device.update({ disabled_at: new Date() }, { transaction }),
    );
    const off = await admin.get(`${here}/edit`);
    t.true(off.text.includes('name="do" value="on">Switch on</button>'));
    t.is((await admin.post(`${here}/switches`, { do: 'on' })).location, here);
    t.is((await device.reload()).disabled_at, null);
  });

  test(`${kind}: where no gateway runs, the head says no rate`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const { id } = await addDevice(database, plainUser);
    const { status, text } = await admin.get(`/devices/${id}`);
    t.is(status, 200);
    t.false(text.includes('data-rate'));
  });
}
