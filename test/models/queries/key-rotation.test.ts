// Moving to another encryption key: everything opens under the new one alone, nothing else moves.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import {
  currentRevision,
  migrate,
  readDevices,
  readOrCreateConfiguration,
  readOrCreateSecret,
  readSealingKeys,
  resealSecrets,
} from '../../../models/index.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';
import { addDevice, addUser, write } from '../fixtures.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: after a rotation the new key opens everything, and nothing has moved`, async (t) => {
    const place = await makePlace(t, kind);
    const before = await openAt(t, place);
    await migrate(before);
    const user = await addUser(before);
    const devices = [await addDevice(before, user), await addDevice(before, user)];
    const configuration = await readOrCreateConfiguration(before);
    await write(before, (transaction) =>
      configuration.update({ openid_connect_providers: [{ id: 'p' } as never] }, { transaction }),
    );
    await readOrCreateSecret(before, 'server key', () => 'the key');

    const encryptionKey = randomBytes(32);
    const both = await openAt(
      t,
      { ...place, encryptionKey },
      {
        olderEncryptionKeys: [place.encryptionKey],
      },
    );
    const bothIds = [before.keyring.keyId, both.keyring.keyId].toSorted();
    t.deepEqual(await readSealingKeys(both), [before.keyring.keyId]);
    await readOrCreateSecret(both, 'another', () => 'under the new key');
    t.deepEqual(await readSealingKeys(both), bothIds);
    const revision = await currentRevision(both);
    // Two preshared keys, the providers, the server key, the key check.
    t.deepEqual(await resealSecrets(both), { resealed: 5, broken: [] });
    t.deepEqual(await resealSecrets(both), { resealed: 0, broken: [] });
    t.deepEqual(await readSealingKeys(both), [both.keyring.keyId]);

    const after = await openAt(t, { ...place, encryptionKey });
    await migrate(after);
    t.is(await currentRevision(after), revision);
    t.is(await readOrCreateSecret(after, 'server key', () => 'another'), 'the key');
    const rows = await readDevices(after);
    t.deepEqual(
      rows.map(({ preshared_key, updated_at }) => ({ preshared_key, updated_at })),
      devices.map(({ preshared_key, updated_at }) => ({ preshared_key, updated_at })),
    );
    const read = await readOrCreateConfiguration(after);
    t.is(read.openid_connect_providers[0]?.id, 'p');
  });

  test(`${kind}: a value that opens under no key is named, and the rest goes on`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place);
    await migrate(database);
    const device = await addDevice(database, await addUser(database));
    await database.sequelize.query("UPDATE devices SET preshared_key = '1:x:y'");
    const both = await openAt(
      t,
      { ...place, encryptionKey: randomBytes(32) },
      {
        olderEncryptionKeys: [place.encryptionKey],
      },
    );
    // Under a key that is not known; then the key check follows the new key. And no value at all.
    const broken = [`devices.preshared_key of ${device.id}`];
    t.deepEqual(await resealSecrets(both), { resealed: 1, broken });
    await database.sequelize.query("UPDATE devices SET preshared_key = 'nonsense'");
    t.deepEqual(await resealSecrets(both), { resealed: 0, broken });
  });
}
