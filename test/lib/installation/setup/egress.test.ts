// How packets of devices leave, and why. That no upgrade opens a network is shown with the
// databases of all earlier versions.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { egressOf, isOfEarlier, whyNoSockets } from '../../../../lib/installation/setup/egress.ts';
import { connectDatabase, migrate, readOrCreateConfiguration } from '../../../../models/index.ts';
import { KEY, loadReleased } from '../../../models/migrations/released-databases.ts';
import { configOf } from '../../../support/api/server.ts';
import { databaseKinds, makePlace, openAt } from '../../../support/database/databases.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: a database is known for new before its first start and ever after`, async (t) => {
    const { url } = await makePlace(t, kind);
    const database = await connectDatabase({ url, encryptionKey: randomBytes(32) });
    t.teardown(() => database.close());
    t.false(await isOfEarlier(database));
    await migrate(database);
    t.false(await isOfEarlier(database));
    await readOrCreateConfiguration(database);
    t.false(await isOfEarlier(database));
  });

  test(`${kind}: one of an earlier version is known before its upgrade and ever after`, async (t) => {
    for (const number of ['0001', '0010', '0019', '0020']) {
      const place = { ...(await makePlace(t, kind)), encryptionKey: KEY };
      await loadReleased(place.url, number, kind);
      const database = await openAt(t, place);
      t.true(await isOfEarlier(database), number);
      await migrate(database);
      t.true(await isOfEarlier(database), number);
      await readOrCreateConfiguration(database);
      t.true(await isOfEarlier(database), number);
    }
  });
}

test('sockets are barred by an earlier version first, then by settings', (t) => {
  const config = configOf({});
  t.is(whyNoSockets(config, false), null);
  t.regex(whyNoSockets(config, true) ?? '', /only WIREGUARD_TUN=sockets opens networks$/);
  const unmasked = configOf({ WIREGUARD_IPV6_MASQUERADE: 'false' });
  t.regex(whyNoSockets(unmasked, false) ?? '', /^WIREGUARD_IPV6_MASQUERADE=false/);
  t.is(whyNoSockets(unmasked, true), whyNoSockets(config, true));
});

test('what the host said is the reason, else the setting', (t) => {
  const auto = configOf({});
  t.deepEqual(egressOf({ way: 'tun' }, auto), { way: 'tun', reason: null });
  const wayReason = 'no TUN interface wg-postern: /dev/net/tun is missing';
  for (const way of ['sockets', 'none'] as const)
    t.deepEqual(egressOf({ way, wayReason }, auto), { way, reason: wayReason });
  for (const [WIREGUARD_TUN, way] of [
    ['sockets', 'sockets'],
    ['off', 'none'],
  ] as const) {
    const reason = `WIREGUARD_TUN=${WIREGUARD_TUN}`;
    t.deepEqual(egressOf({ way }, configOf({ WIREGUARD_TUN })), { way, reason });
  }
});
