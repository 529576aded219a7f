// Pools of addresses, held against a slow and obviously right one.

import test from 'ava';
import fc from 'fast-check';
import { AddressPool } from '../../../../lib/domain/devices/addresses.ts';
import {
  type Database,
  newId,
  parseAddress,
  removeDevices,
  type Transaction,
  writeTransaction,
} from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { newKey } from '../../../support/api/server.ts';

const NETWORK = { family: 4, network: '10.9.0.0/27', gateway: '10.9.0.5' } as const;

async function addUser(database: Database): Promise<string> {
  const { result } = await writeTransaction(database, (transaction) =>
    database.models.User.create({ email: 'a@b.c' }, { transaction }),
  );
  return result.id;
}

function addDevice(
  database: Database,
  user_id: string,
  ipv4: string,
  transaction: Transaction,
): Promise<{ id: string }> {
  const row = {
    id: newId(),
    user_id,
    name: ipv4,
    public_key: newKey(),
    preshared_key: newKey(),
    ipv4,
  };
  return database.models.Device.create(row, { transaction });
}

test('an address is outside, reserved, or fit', (t) => {
  const pool = new AddressPool(NETWORK);
  const check = (text: string): string | null => pool.check(parseAddress(text)!.key);
  t.is(check('10.8.255.255'), 'outside');
  t.is(check('10.9.0.32'), 'outside');
  for (const text of ['10.9.0.0', '10.9.0.31', '10.9.0.5']) t.is(check(text), 'reserved');
  for (const text of ['10.9.0.1', '10.9.0.30']) t.is(check(text), null);
  t.is(pool.textOf('0a090007'), '10.9.0.7');
  const wide = new AddressPool({ family: 6, network: 'fd00::/64', gateway: 'fd00::1' });
  t.is(wide.check(parseAddress('fd00::ffff:ffff:ffff:ffff')!.key), 'reserved');
  t.is(wide.check(parseAddress('fd00::3ff:ffff:ffff:ffff')!.key), null);
  t.is(wide.textOf(parseAddress('fd00::1:0:0:9')!.key), 'fd00::1:0:0:9');
  t.throws(() => new AddressPool({ family: 6, network: '10.0.0.0/8', gateway: '10.0.0.1' }));
});

for (const kind of databaseKinds()) {
  test(`${kind}: whatever is taken and freed, a free address is found while there is one`, async (t) => {
    const database = await openDatabase(t, kind);
    const userId = await addUser(database);
    const usable = Array.from({ length: 30 }, (_, i) => `10.9.0.${i + 1}`).filter(
      (ip) => ip !== NETWORK.gateway,
    );
    const taken = new Map<string, string>();
    let pool = new AddressPool(NETWORK);
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.constant({ act: 'allocate' as const, n: 0 }) },
      { weight: 2, arbitrary: fc.record({ act: fc.constant('take' as const), n: fc.nat(28) }) },
      { weight: 3, arbitrary: fc.record({ act: fc.constant('free' as const), n: fc.nat(100) }) },
      { weight: 1, arbitrary: fc.constant({ act: 'restart' as const, n: 0 }) },
    );
    for (const { act, n } of fc.sample(step, { numRuns: 150, seed: 7 }))
      await writeTransaction(database, async (transaction) => {
        const ip = usable[n] ?? '';
        if (act === 'restart') pool = new AddressPool(NETWORK);
        else if (act === 'take' && !taken.has(ip))
          taken.set(ip, (await addDevice(database, userId, ip, transaction)).id);
        else if (act === 'free' && taken.size > 0) {
          const [freed, id] = [...taken][n % taken.size]!;
          await removeDevices(database, [id], transaction);
          taken.delete(freed);
        } else if (act === 'allocate') {
          const key = await pool.find(database, transaction);
          t.is(key === null, taken.size === usable.length);
          if (key === null) return;
          const found = pool.textOf(key);
          t.true(usable.includes(found) && !taken.has(found), found);
          taken.set(found, (await addDevice(database, userId, found, transaction)).id);
          pool.advance(key);
          const next = pool.candidates(3).map((candidate) => pool.textOf(candidate));
          t.is(next.length, 3);
          t.true(next.every((address) => usable.includes(address)));
        }
      });
  });

  test(`${kind}: a gap behind hundreds of neighbours is found`, async (t) => {
    const database = await openDatabase(t, kind);
    const userId = await addUser(database);
    const pool = new AddressPool({ family: 4, network: '10.9.0.0/22', gateway: '10.9.0.1' });
    await writeTransaction(database, async (transaction) => {
      const rows = Array.from({ length: 1021 }, (_, i) => `10.9.${(i + 2) >> 8}.${(i + 2) & 255}`)
        .filter((ipv4) => ipv4 !== '10.9.2.9')
        .map((ipv4) => ({
          id: newId(),
          user_id: userId,
          name: ipv4,
          public_key: newKey(),
          preshared_key: newKey(),
          ipv4,
        }));
      await database.models.Device.bulkCreate(rows, { transaction });
      t.is(pool.textOf((await pool.find(database, transaction)) ?? ''), '10.9.2.9');
      await addDevice(database, userId, '10.9.2.9', transaction);
      t.is(await pool.find(database, transaction), null);
    });
  });
}
