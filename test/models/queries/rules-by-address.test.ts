// Rules are found by the addresses that they match: every one that does, of the owners who are
// asked about, and through the index.

import test from 'ava';
import fc from 'fast-check';
import {
  parseRange,
  readRulesByAddress,
  readRules,
  type RuleRow,
  writeTransaction,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const address4 = fc
  .tuple(fc.constantFrom(10, 11), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 9 }))
  .map(([a, b, c]) => `${a}.0.${b}.${c}`);
const address6 = fc
  .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 9 }))
  .map(([a, b]) => (b === 0 ? `fd00:${a}::` : `fd00:${a}::${b}`));
const address = fc.oneof(address4, address6);
const destination = fc.oneof(
  fc.tuple(address4, fc.integer({ min: 0, max: 32 })).map(([text, bits]) => `${text}/${bits}`),
  fc.tuple(address6, fc.integer({ min: 0, max: 128 })).map(([text, bits]) => `${text}/${bits}`),
  address,
);

function contains(rule: RuleRow, text: string): boolean {
  const [range, one] = [parseRange(rule.destination), parseRange(text)];
  if (range === null || one === null || range.family !== one.family) return false;
  return range.start <= one.start && one.end <= range.end;
}

for (const kind of databaseKinds())
  test(`${kind}: every rule that matches is found, whatever it does and whoever has it`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User, Rule } = database.models;
    const users: string[] = [];
    await writeTransaction(database, async (transaction) => {
      for (const name of ['a', 'b']) {
        const row = { email: `${name}@example.com`, role: 'unprivileged' as const };
        users.push((await User.create(row, { transaction })).id);
      }
    });
    const whose = fc.constantFrom(null, users[0]!, users[1]!);
    const action = fc.constantFrom('accept' as const, 'drop' as const);
    const rules = fc.array(fc.record({ destination, action, user_id: whose }), {
      minLength: 1,
      maxLength: 30,
    });
    const wanted = fc.array(
      fc.record({ userId: whose, addresses: fc.array(address, { maxLength: 4 }) }),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(rules, wanted, async (rows, asked) => {
        await writeTransaction(database, async (transaction) => {
          await Rule.destroy({ where: {}, transaction });
          for (const row of rows) await Rule.create(row, { transaction });
        });
        const found = new Set((await readRulesByAddress(database, asked)).map(({ id }) => id));
        for (const rule of await readRules(database))
          for (const { userId, addresses } of asked)
            if (rule.user_id === userId && addresses.some((one) => contains(rule, one)))
              t.true(found.has(rule.id), `${rule.destination} of ${String(userId)}`);
      }),
      { numRuns: 40 },
    );
  });

for (const kind of databaseKinds())
  test(`${kind}: a thousand addresses of one user are asked in parts`, async (t) => {
    const database = await openDatabase(t, kind);
    await writeTransaction(database, (transaction) =>
      database.models.Rule.create({ destination: '::/0', action: 'accept' }, { transaction }),
    );
    const addresses = Array.from(
      { length: 1_000 },
      (_, i) => `2001:${((i * 7_919) % 65_536).toString(16)}:${(i * 31).toString(16)}::1:${i}`,
    );
    const found = await readRulesByAddress(database, [{ userId: null, addresses }]);
    t.is(found.length, 1);
    const many = addresses.map((one) => ({ userId: null, addresses: [one] }));
    t.is((await readRulesByAddress(database, many)).length, 1);
    t.deepEqual(await readRulesByAddress(database, []), []);
    t.deepEqual(await readRulesByAddress(database, [{ userId: null, addresses: ['no'] }]), []);
  });
