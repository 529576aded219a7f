// Rules: which overlap. A table of cases first, then the index against a slow, obvious twin.

import test from 'ava';
import {
  type Database,
  extentOf,
  isShadowedBy,
  overlaps,
  parseRange,
  portRangeOf,
  readRivalRules,
  type RuleExtent,
} from '../../../models/index.ts';
import type { RuleScope } from '../../../models/tables/rule.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addRule, addUser, write } from '../fixtures.ts';

const drop: RuleScope = {
  action: 'drop',
  destination: '10.0.0.0/8',
  protocol: null,
  port_type: null,
  port_start: null,
  port_end: null,
  user_id: null,
  group_id: null,
  starts_at: null,
  ends_at: null,
};
const NOW = Date.UTC(2026, 10, 26);
const at = (hour: number): Date => new Date(NOW + hour * 3_600_000);
const tcp = (port_start: number, port_end: number) => ({
  port_type: 'tcp' as const,
  port_start,
  port_end,
});

/** A rule that overlaps the given one, as it is found in the database. */
async function find(database: Database, rule: RuleScope): Promise<{ id: string } | null> {
  const wanted = extentOf(rule, NOW);
  const rivals = await write(database, (transaction) =>
    readRivalRules(database, [wanted], NOW, transaction),
  );
  return rivals.find((rival) => overlaps(rival, wanted)) ?? null;
}

/** Whether the second rule overlaps the first, and why. */
const CASES: [string, Partial<RuleScope>, Partial<RuleScope>, boolean][] = [
  ['the same network', {}, {}, true],
  ['a network inside', {}, { destination: '10.1.2.3' }, true],
  ['a network around', { destination: '10.1.2.3/32' }, {}, true],
  ['everything', { destination: '10.1.2.3' }, { destination: '0.0.0.0/0' }, true],
  ['host bits do not count', { destination: '10.9.9.9/8' }, { destination: '10.1.1.1/8' }, true],
  ['the network beside', {}, { destination: '11.0.0.0/8' }, false],
  ['the address before', {}, { destination: '9.255.255.255' }, false],
  ['another family', { destination: '0.0.0.0/0' }, { destination: '::/0' }, false],
  ['IPv6 inside', { destination: 'fd00::/64' }, { destination: 'fd00::1' }, true],
  ['IPv6 beside', { destination: 'fd00::/64' }, { destination: 'fd00:0:0:1::1' }, false],
  ['another action', {}, { action: 'accept' }, false],
  ['ports beside none', {}, tcp(80, 80), false],
  ['the same port', tcp(80, 80), tcp(80, 80), true],
  ['ports that meet', tcp(80, 90), tcp(90, 100), true],
  ['ports inside', tcp(1, 65535), tcp(443, 443), true],
  ['ports apart', tcp(80, 90), tcp(91, 100), false],
  ['another protocol', tcp(80, 90), { ...tcp(80, 90), port_type: 'udp' }, false],
  ['ICMP twice', { protocol: 'icmp' }, { protocol: 'icmp', destination: '10.1.2.3' }, true],
  ['ICMP beside all traffic', { protocol: 'icmp' }, {}, false],
  ['ICMP beside ports', { protocol: 'icmp' }, tcp(1, 65_535), false],
  [
    'a time that begins meanwhile',
    { starts_at: at(1), ends_at: at(3) },
    { starts_at: at(2) },
    true,
  ],
  ['a time after it', { ends_at: at(2) }, { starts_at: at(2) }, false],
  ['a time before it', { starts_at: at(2) }, { starts_at: at(1), ends_at: at(2) }, false],
  ['one that is over', { ends_at: at(0) }, {}, false],
  ['over, and they met', { ends_at: at(-1) }, { starts_at: at(-2), ends_at: at(1) }, false],
  ['both began', { starts_at: at(-1) }, { starts_at: at(-2), ends_at: at(1) }, true],
];

for (const kind of databaseKinds()) {
  test(`${kind}: rules overlap exactly where they mean the same packets`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const [why, present, added, expected] of CASES) {
      const rule = await addRule(database, { ...drop, ...present });
      const found = await find(database, { ...drop, ...added });
      t.is(found?.id ?? null, expected ? rule.id : null, why);
      const [one, other] = [present, added].map((rule) => extentOf({ ...drop, ...rule }, NOW)) as [
        RuleExtent,
        RuleExtent,
      ];
      t.is(overlaps(other, one), expected, `${why}: the other way round`);
      await write(database, (transaction) => rule.destroy({ transaction }));
    }
  });

  test(`${kind}: rules of another owner, or of everyone, are another scope`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    await addRule(database, { ...drop, user_id: ann.id });
    t.truthy(await find(database, { ...drop, user_id: ann.id }));
    t.is(await find(database, { ...drop, user_id: bob.id }), null);
    t.is(await find(database, drop), null);
  });

  test(`${kind}: the index finds what a slow look at every rule finds`, async (t) => {
    const database = await openDatabase(t, kind);
    const random = (n: number): number => Math.floor(Math.random() * n);
    const destination = (): string => {
      const prefix = random(33);
      return `${random(2) * 128}.${random(2) * 128}.${random(4) * 64}.${random(256)}/${prefix}`;
    };
    const present = Array.from({ length: 40 }, destination);
    const rules = await Promise.all(
      present.map((text) => addRule(database, { ...drop, destination: text })),
    );
    for (let i = 0; i < 150; i += 1) {
      const added = destination();
      const range = parseRange(added)!;
      const expected = rules.filter(
        (rule) => rule.range_start <= range.end && rule.range_end >= range.start,
      );
      const found = await find(database, { ...drop, destination: added });
      t.is(found === null, expected.length === 0, `${added} in ${present.join(' ')}`);
      if (found !== null) t.true(expected.some(({ id }) => id === found.id));
    }
  });

  test(`${kind}: a destination keeps its text, and an update moves its range`, async (t) => {
    const database = await openDatabase(t, kind);
    const rule = await addRule(database, { destination: '10.1.2.3/8' });
    t.is(rule.action, 'drop');
    await write(database, (transaction) =>
      rule.update({ destination: '2001:db8::5/32' }, { transaction }),
    );
    await rule.reload();
    t.is(rule.destination, '2001:db8::5/32');
    t.is(rule.family, 6);
    t.is(rule.range_start, `20010db8${'0'.repeat(24)}`);
    t.is(rule.range_end, `20010db8${'f'.repeat(24)}`);
  });
}

test('what is no destination is refused by the column and by the look-up', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  for (const destination of ['', '10.0.0', '10.0.0.0/33', 'example.com']) {
    t.throws(() => database.models.Rule.build({ destination }), { instanceOf: TypeError });
    await t.throwsAsync(find(database, { ...drop, destination }), { instanceOf: TypeError });
  }
});

test('only a rule that drops is shadowed, by one that accepts all of its packets', (t) => {
  const extent = (action: 'accept' | 'drop', destination: string, further: object = {}) =>
    extentOf(
      {
        action,
        destination,
        protocol: null,
        port_type: null,
        port_start: null,
        port_end: null,
        user_id: null,
        group_id: null,
        starts_at: null,
        ends_at: null,
        ...further,
      },
      NOW,
    );
  const ports = (port_type: 'tcp' | 'udp', port_start: number, port_end: number) => ({
    port_type,
    port_start,
    port_end,
  });
  const rows: [string, string, object, object, boolean][] = [
    ['10.1.0.0/16', '10.0.0.0/8', {}, {}, true],
    ['10.0.0.0/8', '10.0.0.0/8', {}, {}, true],
    ['10.0.0.0/8', '10.1.0.0/16', {}, {}, false],
    ['10.1.0.0/16', '10.0.0.0/8', {}, { user_id: 'a' }, false],
    ['10.1.0.0/16', '10.0.0.0/8', { user_id: 'a' }, {}, false],
    ['10.1.0.0/16', '10.0.0.0/8', { user_id: 'a' }, { user_id: 'a' }, true],
    ['::/0', '0.0.0.0/0', {}, {}, false],
    ['10.1.0.0/16', '10.0.0.0/8', ports('tcp', 80, 90), {}, false],
    ['10.1.0.0/16', '10.0.0.0/8', ports('tcp', 80, 90), ports('tcp', 80, 90), true],
    ['10.1.0.0/16', '10.0.0.0/8', ports('tcp', 80, 90), ports('tcp', 81, 90), false],
    ['10.1.0.0/16', '10.0.0.0/8', ports('tcp', 80, 90), ports('udp', 1, 65_535), false],
    ['10.1.0.0/16', '10.0.0.0/8', {}, ports('tcp', 1, 65_535), false],
    ['10.1.0.0/16', '10.0.0.0/8', {}, { ends_at: at(9) }, false],
    ['10.1.0.0/16', '10.0.0.0/8', { ends_at: at(9) }, { ends_at: at(9) }, true],
    ['10.1.0.0/16', '10.0.0.0/8', { ends_at: at(9) }, { ends_at: at(8) }, false],
    ['10.1.0.0/16', '10.0.0.0/8', {}, { starts_at: at(-1) }, true],
    ['10.1.0.0/16', '10.0.0.0/8', {}, { starts_at: at(1) }, false],
    ['10.1.0.0/16', '10.0.0.0/8', { starts_at: at(1) }, { starts_at: at(1) }, true],
    ['10.1.0.0/16', '10.0.0.0/8', { starts_at: at(1) }, { starts_at: at(2) }, false],
    ['10.1.0.0/16', '10.0.0.0/8', { ends_at: at(0) }, {}, false],
  ];
  for (const [dropped, accepted, own, others, isShadowed] of rows) {
    const [rule, other] = [extent('drop', dropped, own), extent('accept', accepted, others)];
    t.is(isShadowedBy(rule, other), isShadowed, `${dropped} ${accepted}`);
    t.false(isShadowedBy(other, rule), 'what accepts is asked first');
    t.false(isShadowedBy(rule, { ...other, action: 'drop' }));
  }
});

test('ports are one number, or two with a hyphen', (t) => {
  t.is(portRangeOf(443, 443), '443');
  t.is(portRangeOf(8_000, 8_100), '8000 - 8100');
  t.is(portRangeOf(null, null), null);
});
