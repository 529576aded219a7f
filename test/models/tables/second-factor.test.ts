// Second factors as rows: the secret is sealed in its own row, and neither it nor a hash becomes JSON.

import test from 'ava';
import { resealSecrets } from '../../../models/index.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { migrate } from '../../../models/index.ts';
import { addUser } from '../fixtures.ts';

const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';

for (const kind of databaseKinds()) {
  test(`${kind}: a secret is encrypted, and opens in no other row`, async (t) => {
    const database = await openDatabase(t, kind);
    const { SecondFactor, RecoveryCode } = database.models;
    const { id: user_id } = await addUser(database);
    const values = {
      user_id,
      name: 'phone',
      secret: SECRET,
      last_step: 0,
      inserted_at: new Date(),
    };
    const [one, other] = [await SecondFactor.create(values), await SecondFactor.create(values)];
    t.is((await SecondFactor.findByPk(one.id))?.secret, SECRET);
    const rows = await database.sequelize.query<{ id: string; secret: string }>(
      'SELECT id, secret FROM second_factors',
      plainSelect(),
    );
    t.true(rows.every(({ secret }) => !secret.includes(SECRET)));
    const sealed = rows.find((row) => row.id === one.id)?.secret;
    await database.sequelize.query('UPDATE second_factors SET secret = :sealed WHERE id = :id', {
      replacements: { sealed, id: other.id },
    });
    const swapped = await SecondFactor.findByPk(other.id, { rejectOnEmpty: true });
    t.throws(() => swapped.secret, { message: /does not open/ });
    t.false(JSON.stringify(one).includes(SECRET));
    const code = await RecoveryCode.create({ user_id, sha256: 'f'.repeat(64) });
    t.false(JSON.stringify(code).includes('ffff'));
  });

  test(`${kind}: a new encryption key takes the secrets along`, async (t) => {
    const place = await makePlace(t, kind);
    const first = await openAt(t, place);
    await migrate(first);
    const { id: user_id } = await addUser(first);
    const values = {
      user_id,
      name: 'phone',
      secret: SECRET,
      last_step: 0,
      inserted_at: new Date(),
    };
    const { id } = await first.models.SecondFactor.create(values);
    const key = Buffer.alloc(32, 7);
    const older = { encryptionKey: key, olderEncryptionKeys: [place.encryptionKey] };
    const both = await openAt(t, place, older);
    t.deepEqual((await resealSecrets(both)).broken, []);
    const after = await openAt(t, { ...place, encryptionKey: key });
    t.is((await after.models.SecondFactor.findByPk(id))?.secret, SECRET);
  });
}
