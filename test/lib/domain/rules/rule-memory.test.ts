// Rules that a typed rule meets, from memory: the same as the database finds, after each change.

import test from 'ava';
import { RuleMemory } from '../../../../lib/domain/rules/rule-memory.ts';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { type Database, extentOf, readTouchingRules } from '../../../../models/index.ts';
import { addRule, addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

type RuleScope = Parameters<typeof extentOf>[0];

const NOW = Date.UTC(2026, 10, 30);
const ALL = {
  action: 'accept',
  destination: '10.0.0.0/8',
  protocol: null,
  port_type: null,
  port_start: null,
  port_end: null,
  user_id: null,
  group_id: null,
  starts_at: null,
  ends_at: null,
} as const;

async function makeRules(database: Database): Promise<{ userId: string; groupId: string }> {
  const user = await addUser(database);
  const other = await addUser(database);
  const group = await write(database, async (transaction) => {
    const made = await database.models.Group.create({ name: 'staff' }, { transaction });
    const membership = { group_id: made.id, user_id: user.id };
    await database.models.GroupMembership.create(membership, { transaction });
    return made;
  });
  const tcp = { port_type: 'tcp', port_start: 80, port_end: 90 } as const;
  for (const values of [
    {},
    tcp,
    { ...tcp, port_start: 443, port_end: 443 },
    { protocol: 'icmp' as const },
    { user_id: user.id },
    { user_id: other.id },
    { group_id: group.id },
    { enforced: false, ...tcp },
    { ends_at: new Date(NOW - 1) },
    { starts_at: new Date(NOW + 1_000) },
    { destination: '10.1.2.0/24' },
    { destination: '11.0.0.0/8' },
    { destination: 'fd00::/8' },
  ])
    await addRule(database, { ...ALL, ...values });
  return { userId: user.id, groupId: group.id };
}

for (const kind of databaseKinds())
  test(`${kind}: the memory finds what the database finds, and follows changes`, async (t) => {
    const database = await openDatabase(t, kind);
    const { userId, groupId } = await makeRules(database);
    const recall = new Recall(database);
    const memory = new RuleMemory(database, recall);
    const scopes: Partial<RuleScope>[] = [
      {},
      { user_id: userId },
      { group_id: groupId },
      { protocol: 'icmp' },
      { port_type: 'tcp', port_start: 85, port_end: 500 },
      { port_type: 'udp', port_start: 85, port_end: 85 },
      { ends_at: new Date(NOW + 500) },
      { destination: '10.1.2.3' },
    ];
    const same = async (): Promise<void> => {
      await recall.refresh();
      for (const scope of scopes) {
        const extent = extentOf({ ...ALL, ...scope }, NOW);
        const found = (await memory.touching(extent, NOW, 20)).map(({ id }) => id);
        const wanted = await readTouchingRules(database, extent, 20);
        t.deepEqual(found.toSorted(), wanted.toSorted(), JSON.stringify(scope));
        t.true(found.length > 0 || scope.port_type === 'udp', JSON.stringify(scope));
      }
    };
    await same();
    const added = await addRule(database, { ...ALL, destination: '10.1.2.3/32' });
    await same();
    t.is((await memory.find(added.id))?.destination, '10.1.2.3/32');
    await write(database, (transaction) => added.destroy({ transaction }));
    await write(database, (transaction) =>
      database.models.GroupMembership.destroy({ where: { user_id: userId }, transaction }),
    );
    await same();
    t.is(await memory.find(added.id), null);
    t.is((await memory.touching(extentOf(ALL, NOW), NOW, 2)).length, 2, 'no more than asked for');
  });
