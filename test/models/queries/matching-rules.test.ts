// Rules that match a packet: a slow twin reads all rules and compares each.

import test from 'ava';
import {
  type Database,
  extentOf,
  newId,
  readMatchingRules,
  readRules,
  type RuledPacket,
  type RuleRow,
} from '../../../models/index.ts';
import { Chance } from '../../fuzz/mutate.ts';
import { SEED } from '../../support/dataplane/seed.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, write } from '../fixtures.ts';

const LIMIT = 10_000;
const RULES = 300;
const PACKETS = 200;

function pick<Value>(chance: Chance, values: readonly Value[]): Value {
  return values[chance.below(values.length)]!;
}

/** A network in a small part of the addresses, so that many contain one another. */
function destinationOf(chance: Chance, isWhole: boolean): string {
  if (chance.below(4) === 0) {
    const address = `fd00::${chance.below(4)}:${chance.below(4)}`;
    return isWhole ? `${address}/${pick(chance, [0, 8, 64, 112, 127, 128])}` : address;
  }
  const address = `10.${chance.below(2)}.${chance.below(2)}.${chance.below(8)}`;
  return isWhole ? `${address}/${pick(chance, [0, 7, 8, 15, 24, 29, 30, 31, 32])}` : address;
}

function matches(rule: RuleRow, { userId, destination, protocol, port }: RuledPacket): boolean {
  const [wanted, extent] = [
    extentOf({ ...rule, destination }),
    extentOf({ ...rule, destination: rule.destination }),
  ];
  const isTheirs = rule.user_id === null || rule.user_id === userId;
  const isThere =
    extent.family === wanted.family && extent.start <= wanted.start && extent.end >= wanted.end;
  if (rule.port_type === null) return isTheirs && isThere;
  const isPort = port !== null && port >= rule.port_start! && port <= rule.port_end!;
  return isTheirs && isThere && rule.port_type === protocol && isPort;
}

async function addRules(database: Database, chance: Chance, owners: readonly string[]) {
  const rows = Array.from({ length: RULES }, () => {
    const first = 1 + chance.below(6);
    const ports = { port_start: first, port_end: first + chance.below(3) };
    return {
      action: pick(chance, ['accept', 'drop'] as const),
      destination: destinationOf(chance, true),
      user_id: pick(chance, [...owners, null]),
      ...(chance.below(2) === 0
        ? { port_type: null, port_start: null, port_end: null }
        : { port_type: pick(chance, ['tcp', 'udp'] as const), ...ports }),
    };
  });
  await write(database, (transaction) =>
    database.models.Rule.bulkCreate(rows, { transaction, validate: false }),
  );
}

for (const kind of databaseKinds()) {
  test(`${kind}: the rules that match random packets, as a walk over all rules says`, async (t) => {
    const database = await openDatabase(t, kind);
    const chance = new Chance(SEED);
    const owners = [(await addUser(database)).id, (await addUser(database)).id];
    await addRules(database, chance, owners);
    const rules = await readRules(database);
    let matched = 0;
    for (let i = 0; i < PACKETS; i += 1) {
      const protocol = pick(chance, ['tcp', 'udp', 'icmp'] as const);
      const port = protocol === 'icmp' ? null : 1 + chance.below(8);
      const userId = pick(chance, [...owners, newId()]);
      const packet = { userId, destination: destinationOf(chance, false), protocol, port };
      const found = await readMatchingRules(database, packet, LIMIT);
      const expected = rules.filter((rule) => matches(rule, packet)).map(({ id }) => id);
      t.deepEqual(found.toSorted(), expected.toSorted(), JSON.stringify({ SEED, packet }));
      t.deepEqual(await readMatchingRules(database, packet, 2), found.slice(0, 2));
      matched += found.length;
    }
    t.true(matched > PACKETS, 'the packets meet rules');
  });

  test(`${kind}: what is no address is an error`, async (t) => {
    const database = await openDatabase(t, kind);
    const packet = { userId: newId(), destination: "' OR 1=1", protocol: 'icmp', port: null };
    await t.throwsAsync(readMatchingRules(database, packet as RuledPacket, LIMIT), {
      message: 'The destination is no address',
    });
  });
}
