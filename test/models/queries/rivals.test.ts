// What rivals new rows: devices by owner, key, name and address, owners who exist; of rules,
// tables/rule.test.ts speaks.

import test from 'ava';
import {
  type Database,
  readRivalDevices,
  readRivalRules,
  readTouchingRules,
  readUserIds,
} from '../../../models/index.ts';
import type { RuleScope } from '../../../models/tables/rule.ts';
import {
  extentOf,
  isShadowedBy,
  newId,
  readRules,
  readShadowedBy,
  readShadows,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser, randomKey, write } from '../fixtures.ts';

const NOW = Date.UTC(2026, 10, 26);
const at = (hour: number): Date => new Date(NOW + hour * 3_600_000);
const always = { starts_at: null, ends_at: null };

const nothing = { user_id: [], public_key: [], ipv4_key: [], ipv6_key: [] };

for (const kind of databaseKinds()) {
  test(`${kind}: devices are found by any of what they have, each once`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob, eve] = [
      await addUser(database),
      await addUser(database),
      await addUser(database),
    ];
    const first = await addDevice(database, ann, { ipv4: '10.0.0.1', ipv6: 'fd00::1' });
    const second = await addDevice(database, ann, { ipv4: '10.0.0.2' });
    const third = await addDevice(database, bob, { ipv4: '10.0.0.3' });
    await addDevice(database, eve, { ipv4: '10.0.0.4' });
    const find = async (wish: Partial<typeof nothing>): Promise<string[]> => {
      const { devices } = await write(database, (transaction) =>
        readRivalDevices(database, { ...nothing, ...wish } as never, transaction),
      );
      return devices.map(({ id }) => id).toSorted();
    };
    const keys = [first, second, third].map(({ ipv4_key }) => String(ipv4_key));
    const cases: [wish: object, found: string[]][] = [
      [{}, []],
      [{ user_id: [ann.id] }, [first.id, second.id]],
      [{ user_id: [ann.id, bob.id, newId()] }, [first.id, second.id, third.id]],
      [{ public_key: [third.public_key, randomKey(), randomKey()] }, [third.id]],
      [{ ipv4_key: keys.slice(1) }, [second.id, third.id]],
      [{ ipv6_key: [String(first.ipv6_key)], user_id: [ann.id] }, [first.id, second.id]],
      [{ ipv4_key: ["' OR 1=1 --"] }, []],
    ];
    for (const [wish, found] of cases)
      t.deepEqual(await find(wish), found.toSorted(), JSON.stringify(wish));
    const none = await addUser(database);
    const { owners } = await write(database, (transaction) => {
      const wish = { ...nothing, user_id: [ann.id, none.id, newId()] };
      return readRivalDevices(database, wish, transaction);
    });
    t.deepEqual(owners, new Set([ann.id, none.id]), 'who exists, with devices or without');
  });

  test(`${kind}: of the users those are found who exist`, async (t) => {
    const database = await openDatabase(t, kind);
    const ids = [(await addUser(database)).id, (await addUser(database)).id];
    const find = (asked: string[], lock: boolean): Promise<ReadonlySet<string>> =>
      write(database, (transaction) => readUserIds(database, asked, { transaction, lock }));
    for (const lock of [false, true]) {
      t.deepEqual(await find([], lock), new Set());
      t.deepEqual(await find([newId()], lock), new Set());
      t.deepEqual(await find([...ids, newId()], lock), new Set(ids.toSorted()));
    }
  });

  test(`${kind}: the rules of several extents are found through the index`, async (t) => {
    const database = await openDatabase(t, kind);
    const ann = await addUser(database);
    const rules = [
      await addRule(database, { destination: '10.0.0.0/8' }),
      await addRule(database, { destination: '10.1.2.3', user_id: ann.id }),
      await addRule(database, { destination: 'fd00::/8' }),
    ];
    const wanted = (destination: string, user_id: string | null = null) =>
      extentOf(
        {
          action: 'drop',
          destination,
          protocol: null,
          port_type: null,
          port_start: null,
          port_end: null,
          user_id,
          group_id: null,
          ...always,
        },
        NOW,
      );
    const all = [wanted('10.1.2.3'), wanted('10.0.0.0/9', ann.id), wanted('fd12::/16')];
    const found = await write(database, (transaction) =>
      readRivalRules(database, all, NOW, transaction),
    );
    t.deepEqual(found.map(({ id }) => id).toSorted(), rules.map(({ id }) => id).toSorted());
    t.deepEqual(await write(database, (tx) => readRivalRules(database, [], NOW, tx)), []);
    const plan = await explain(database, ann.id);
    t.regex(plan, /rules_user_id_action_family_range_start_range_end/);
    t.notRegex(plan, /SCAN/);
  });

  test(`${kind}: rules that share packets are found, whatever they do with them`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const wide = await addRule(database, { action: 'accept', destination: '10.0.0.0/8' });
    const drop = await addRule(database, { action: 'drop', destination: '10.1.2.0/24' });
    const web = { port_type: 'tcp', port_start: 80, port_end: 443 } as const;
    const ported = await addRule(database, { ...web, destination: '10.1.2.3', user_id: ann.id });
    await addRule(database, { destination: 'fd00::/8' });
    await addRule(database, { destination: '192.0.2.0/24' });
    const touching = (changes: Partial<RuleScope>, limit = 9): Promise<string[]> => {
      const none = {
        group_id: null,
        protocol: null,
        port_type: null,
        port_start: null,
        port_end: null,
        user_id: null,
      } as const;
      const row = { action: 'drop', destination: '10.1.2.3', ...none, ...always, ...changes };
      return readTouchingRules(database, extentOf(row as RuleScope, NOW), limit);
    };
    t.deepEqual(await touching({}), [wide.id, drop.id, ported.id]);
    t.deepEqual(await touching({}, 2), [wide.id, drop.id]);
    t.deepEqual(await touching({ user_id: bob.id }), [wide.id, drop.id]);
    t.deepEqual(await touching({ user_id: ann.id }), [wide.id, drop.id, ported.id]);
    t.deepEqual(await touching({ destination: '10.1.2.4' }), [wide.id, drop.id]);
    const ports = (port: number) => ({ ...web, port_start: port, port_end: port });
    t.deepEqual(await touching(ports(443)), [wide.id, drop.id, ported.id]);
    t.deepEqual(await touching(ports(444)), [wide.id, drop.id]);
    t.deepEqual(await touching({ ...ports(443), port_type: 'udp' }), [wide.id, drop.id]);
    const timed = { action: 'accept', destination: '10.1.2.3' } as const;
    await addRule(database, { ...timed, ends_at: at(0) });
    const later = await addRule(database, { ...timed, starts_at: at(2), ends_at: at(3) });
    t.deepEqual(await touching({}), [wide.id, drop.id, ported.id, later.id]);
    t.deepEqual(await touching({ ends_at: at(2) }), [wide.id, drop.id, ported.id]);
    t.deepEqual(await touching({ starts_at: at(3) }), [wide.id, drop.id, ported.id]);
  });
}

/** How the database looks for rivals of two rules. */
async function explain(database: Database, userId: string): Promise<string> {
  const texts: string[] = [];
  const watched = Object.create(database) as Database;
  Object.assign(watched, {
    sequelize: {
      query: async (sql: string, options: object) => {
        const explained = database.kind === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
        texts.push(JSON.stringify(await database.sequelize.query(`${explained} ${sql}`, options)));
        return [];
      },
    },
  });
  const none = {
    group_id: null,
    protocol: null,
    port_type: null,
    port_start: null,
    port_end: null,
    ...always,
  } as const;
  const rule = { action: 'drop', ...none } as const;
  await write(database, (transaction) =>
    readRivalRules(
      watched,
      [
        extentOf({ ...rule, destination: '10.1.0.0/16', user_id: userId }, NOW),
        extentOf({ ...rule, destination: 'fd00::/64', user_id: null }, NOW),
      ],
      NOW,
      transaction,
    ),
  );
  return texts.join(' ');
}

for (const kind of databaseKinds())
  test(`${kind}: the database finds the rules that never decide, as the comparison does`, async (t) => {
    const database = await openDatabase(t, kind);
    const ann = await addUser(database);
    const web = { port_type: 'tcp', port_start: 80, port_end: 90 } as const;
    // Each time of a rule beside each time of one that may shadow it, far from the others.
    const spans = [
      [null, null],
      [-1, null],
      [1, null],
      [null, 0],
      [null, 2],
      [-1, 2],
      [1, 2],
      [0, 1],
    ].map(([from, to]) => ({
      starts_at: from == null ? null : at(from),
      ends_at: to == null ? null : at(to),
    }));
    const times = spans.flatMap((one, i) =>
      spans.flatMap((other, j) => [
        ['drop', `172.16.${i}.${j}`, one] as const,
        ['accept', `172.16.${i}.${j}`, other] as const,
      ]),
    );
    for (const user_id of [null, ann.id])
      for (const [action, destination, ports] of [
        ['accept', '10.0.0.0/8', {}],
        ['accept', '192.0.2.0/24', web],
        ['drop', '10.1.0.0/16', {}],
        ['drop', '192.0.2.9', { ...web, port_end: 85 }],
        ['drop', '192.0.2.8', { ...web, port_end: 91 }],
        ['drop', '192.0.2.8', { ...web, port_type: 'udp' }],
        ['accept', '198.51.100.0/24', { protocol: 'icmp' }],
        ['drop', '198.51.100.1', { protocol: 'icmp' }],
        ['drop', '198.51.100.2', {}],
        ['drop', '10.2.0.0/16', { protocol: 'icmp' }],
        ['accept', '0.0.0.0/0', { enforced: false }],
        ['drop', '0.0.0.0/0', {}],
        ['drop', 'fd00::/8', {}],
        ...times,
      ] as const)
        await addRule(database, { action, destination, user_id, ...ports });
    const rules = await readRules(database);
    const enforced = rules.filter((rule) => rule.enforced);
    const expected = enforced.filter((rule) =>
      enforced.some((other) => isShadowedBy(extentOf(rule, NOW), extentOf(other, NOW))),
    );
    const shadows = await readShadows(
      database,
      rules.map(({ id }) => id),
      NOW,
    );
    t.is(expected.length, 6 + 2 * 26);
    t.deepEqual([...shadows.keys()].toSorted(), expected.map(({ id }) => id).toSorted());
    for (const [id, by] of shadows) {
      const [rule, other] = [id, by].map((one) => rules.find((row) => row.id === one));
      t.true(rule !== undefined && other !== undefined);
      if (rule !== undefined && other !== undefined)
        t.true(isShadowedBy(extentOf(rule, NOW), extentOf(other, NOW)));
    }
    t.is((await readShadows(database, [], NOW)).size, 0);
    for (const rule of rules) {
      const because = await readShadowedBy(database, rule.id, NOW);
      const wanted = enforced.filter(
        (one) => rule.enforced && isShadowedBy(extentOf(one, NOW), extentOf(rule, NOW)),
      );
      t.deepEqual(because.toSorted(), wanted.map(({ id }) => id).toSorted());
    }
  });
