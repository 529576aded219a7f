// Records are found by what people call them, in the database and at the gateway alike; where more
// than one is meant, all candidates are named.

import test from 'ava';
import { searchIn } from '../../../lib/cli/finds.ts';
import { LocalGateway } from '../../../lib/cli/ask-gateway.ts';
import { emailAsTyped, findsBy, idAsTyped, isShortId, shortId } from '../../../lib/cli/naming.ts';
import { type Database, writeTransaction } from '../../../models/index.ts';
import { openLocally } from '../../support/api/local-socket.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';

/** Users, devices and groups; some have names of others. */
async function fill(database: Database) {
  const ann = await addUser(database, { email: 'ann@b.example' });
  const bob = await addUser(database, { email: 'bob/x@b.example' });
  const laptop = await addDevice(database, ann.id, { name: 'laptop', ipv4: '100.64.9.1' });
  const other = await addDevice(database, bob.id, { name: 'laptop', ipv4: '100.64.9.2' });
  const phone = await addDevice(database, ann.id, { name: 'at/home', ipv6: 'fd00::9:3' });
  await addDevice(database, bob.id, { name: shortId(phone.id) });
  // Whoever names a device like somebody else's does not get in its way.
  const liar = await addDevice(database, bob.id, { name: 'ann@b.example/laptop' });
  await addDevice(database, bob.id, { name: 'ann@b.example/tablet' });
  const { result: group } = await writeTransaction(database, (transaction) =>
    database.models.Group.create({ name: 'staff' }, { transaction }),
  );
  const rule = await addRule(database, { destination: '10.0.0.9' });
  return { ann, bob, laptop, other, phone, liar, group, rule };
}

const places = [
  ...databaseKinds().map(
    (kind) =>
      [
        kind,
        async (t: Parameters<typeof openDatabase>[0]) => {
          const database = await openDatabase(t, kind);
          return { database, finds: findsBy(searchIn(database)) };
        },
      ] as const,
  ),
  [
    'a gateway',
    async (t: Parameters<typeof openDatabase>[0]) => {
      const { database, config } = await openLocally(t);
      return { database, finds: new LocalGateway(config).finds };
    },
  ] as const,
];

for (const [place, open] of places)
  test(`${place}: what people call a record is found`, async (t) => {
    const { database, finds } = await open(t);
    const { ann, bob, laptop, other, phone, liar, group, rule } = await fill(database);
    const devices: [named: string, id: string][] = [
      ['ann@b.example/laptop', laptop.id],
      ['ANN@b.example/laptop', laptop.id],
      [`${ann.id}/laptop`, laptop.id],
      [`${shortId(ann.id)}/laptop`, laptop.id],
      ['bob/x@b.example/laptop', other.id],
      ['ann@b.example/at/home', phone.id],
      ['at/home', phone.id],
      ['FD00::9:3', phone.id],
      ['100.64.9.2', other.id],
      [laptop.id.toUpperCase(), laptop.id],
      [shortId(laptop.id), laptop.id],
      [shortId(laptop.id).toUpperCase(), laptop.id],
      ['bob/x@b.example/ann@b.example/laptop', liar.id],
    ];
    for (const [named, id] of devices) t.is((await finds.device(named)).id, id, named);
    for (const named of [' ANN@b.example', ann.id, ann.id.toUpperCase(), shortId(ann.id)])
      t.like(await finds.user(named), { id: ann.id, name: 'ann@b.example' }, named);
    t.is((await finds.user(shortId(bob.id))).id, bob.id);
    for (const named of ['staff', group.id, shortId(group.id)])
      t.like(await finds.group(named), { id: group.id, name: 'staff' }, named);
    for (const named of [rule.id, rule.id.toUpperCase(), shortId(rule.id)])
      t.is((await finds.rule(named)).id, rule.id, named);
    t.is(await finds.deviceIfAny('nothing'), null);
    await t.throwsAsync(finds.device('bob/x@b.example/at/home'), { message: /^there is no dev/ });
    await t.throwsAsync(finds.device('ann@b.example/tablet'), { message: /^there is no dev/ });
    await t.throwsAsync(finds.user('00000000'), { message: /^there is no user 00000000; see/ });
    await t.throwsAsync(finds.rule('00000000'), { message: /^there is no rule 00000000; see/ });
    await t.throwsAsync(finds.group('%'), { message: /^there is no group %/ });
    await t.throwsAsync(finds.device('%%%%%%%%'), { message: /^there is no device %/ });
  });

for (const [place, open] of places)
  test(`${place}: where more than one is meant, the candidates are named`, async (t) => {
    const { database, finds } = await open(t);
    const { phone, group } = await fill(database);
    await t.throwsAsync(finds.device('laptop'), {
      name: 'UsageError',
      message:
        'laptop could mean 2 devices, so nothing was done; name one of them: ann@b.example/laptop (100.64.9.1), bob/x@b.example/laptop (100.64.9.2)',
    });
    const end = shortId(phone.id);
    const both = new RegExp(`^${end} could mean 2 devices, .*ann@b.example/at/home `);
    await t.throwsAsync(finds.device(end), { name: 'UsageError', message: both });
    await writeTransaction(database, (transaction) =>
      database.models.Group.create({ name: shortId(group.id) }, { transaction }),
    );
    const groups = new RegExp(`^${shortId(group.id)} could mean 2 groups, .*${group.id}`);
    await t.throwsAsync(finds.group(shortId(group.id)), { name: 'UsageError', message: groups });
  });

test('a short id is the end of an id, and what was typed is said again where it is whole', (t) => {
  const id = '01900000-0000-7000-8000-00001a2b3c4d';
  t.is(shortId(id), '1a2b3c4d');
  t.true(isShortId('1A2b3c4d'));
  t.deepEqual(['1a2b3c4', '1a2b3c4d5', 'laptop12'].map(isShortId), [false, false, false]);
  t.is(idAsTyped(id.toUpperCase(), id), id.toUpperCase());
  t.is(idAsTyped('1a2b3c4d', id), id);
  t.is(emailAsTyped('Ann@B.example', 'ann@b.example'), 'Ann@B.example');
  t.is(emailAsTyped(id, 'ann@b.example'), 'ann@b.example');
});
