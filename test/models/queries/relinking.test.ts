// Links that an administrator frees: whose, until when, and what goes when one is replaced.

import test from 'ava';
import {
  findFreeLinks,
  freeLinks,
  freeUntil,
  keepTokens,
  type LinksWanted,
  readLinks,
  removeLinks,
} from '../../../models/index.ts';
import { RELINK_DAYS } from '../../../models/queries/relinking.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addIdentity, addUser, write } from '../fixtures.ts';

const everybody: LinksWanted = { kind: 'oidc', provider_id: 'okta', userId: null };

for (const kind of databaseKinds()) {
  test(`${kind}: links of an entry are found by user or all, without administrators`, async (t) => {
    const database = await openDatabase(t, kind);
    const [ann, bob] = [await addUser(database), await addUser(database)];
    const admin = await addUser(database, { role: 'admin' });
    const links = [await addIdentity(database, ann), await addIdentity(database, ann)];
    links.push(await addIdentity(database, bob));
    await addIdentity(database, admin);
    const read = (changes: Partial<LinksWanted>) =>
      write(database, (transaction) =>
        readLinks(database, { ...everybody, ...changes }, transaction),
      );
    const all = await read({});
    t.deepEqual(all.identityIds.toSorted(), links.map(({ id }) => id).toSorted());
    t.like(all, { users: 2, administrators: 1 });
    t.like(await read({ userId: ann.id }), { users: 1, administrators: 0 });
    t.like(await read({ userId: admin.id }), { identityIds: [], users: 0, administrators: 1 });
    t.like(await read({ kind: 'saml' }), { users: 0, administrators: 0 });
    t.like(await read({ provider_id: 'other' }), { users: 0, administrators: 0 });
  });

  test(`${kind}: a link is free for its days, and goes with its tokens`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const link = await addIdentity(database, user);
    const now = new Date('2026-05-06T07:08:09.010Z');
    const kept = { tokens: { refreshToken: 'r' }, refreshAt: now, now };
    await write(database, (transaction) => keepTokens(database, link.id, kept, transaction));
    const until = await write(database, async (transaction) => {
      const links = await readLinks(database, everybody, transaction);
      return freeLinks(database, links, now, transaction);
    });
    t.is(until.getTime() - now.getTime(), RELINK_DAYS * 86_400_000);
    const wanted = { ...everybody, userId: user.id };
    const findAt = (time: number) =>
      write(database, (transaction) =>
        findFreeLinks(database, wanted, new Date(time), transaction),
      );
    t.is((await findAt(until.getTime())).length, 0);
    t.is((await findAt(now.getTime() - 86_400_000)).length, 0, 'the clock came back');
    const [freed] = await database.models.Identity.findAll();
    t.is(freeUntil(freed!, new Date(now.getTime() - 86_400_000)), null);
    t.deepEqual(freeUntil(freed!, now), until);
    const found = await findAt(until.getTime() - 1);
    t.deepEqual(
      found.map(({ id }) => id),
      [link.id],
    );
    await write(database, (transaction) => removeLinks(database, [], transaction));
    await write(database, (transaction) => removeLinks(database, found, transaction));
    const { Identity, IdentityTokens } = database.models;
    t.deepEqual([await Identity.count(), await IdentityTokens.count()], [0, 0]);
  });
}
