// What was fetched from metadata addresses: one gateway claims a fetch, nothing overwrites what
// somebody else wrote meanwhile, and an entry that is changed begins anew.

import test from 'ava';
import {
  claimMetadata,
  type Database,
  forgetMetadata,
  type MetadataChanges,
  type MetadataEntry,
  migrate,
  readFetchedMetadata,
  settleMetadata,
  writeTransaction,
} from '../../../models/index.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';

const entry: MetadataEntry = { id: 'okta', metadata: '', metadata_url: 'https://idp.example/m' };
const now = new Date('2026-11-23T10:00:00.000Z');

const settle = async (
  database: Database,
  row: Parameters<typeof settleMetadata>[1],
  changes: MetadataChanges,
): Promise<boolean> =>
  (await writeTransaction(database, (t) => settleMetadata(database, row, changes, t))).result;

for (const kind of databaseKinds()) {
  test(`${kind}: of several gateways one fetches`, async (t) => {
    const place = await makePlace(t, kind);
    const gateways = [await openAt(t, place), await openAt(t, place), await openAt(t, place)];
    await migrate(gateways[0]!);
    const claim = () =>
      Promise.all(
        gateways.map((one) =>
          claimMetadata(one, entry, now, ({ asked_at: askedAt }) => askedAt === null),
        ),
      );
    const claimed = (await claim()).filter((row) => row !== null);
    t.is(claimed.length, 1);
    t.deepEqual(await claim(), [null, null, null]);
    const row = await readFetchedMetadata(gateways[1]!, entry);
    t.deepEqual(row?.asked_at, now);
    t.deepEqual(row?.refresh_at, now);
    t.is(row?.document, null);
  });

  test(`${kind}: what was fetched is kept, unless somebody else wrote meanwhile`, async (t) => {
    const database = await openDatabase(t, kind);
    const row = await claimMetadata(database, entry, now, () => true);
    const document = `<x>${'é'.repeat(100_000)}</x>`;
    const changes = {
      document,
      former_certificates: ['A'.repeat(70_000)],
      awaited_certificates: ['B'],
      fetched_at: now,
    };
    t.true(await settle(database, row!, changes));
    t.false(await settle(database, row!, { document: 'other' }), 'the claim is spent');
    const kept = await readFetchedMetadata(database, entry);
    t.is(kept?.document, document);
    t.deepEqual(kept?.former_certificates, changes.former_certificates);
    t.deepEqual(kept?.awaited_certificates, ['B']);
    t.deepEqual(kept?.fetched_at, now);
  });

  test(`${kind}: an entry with another address, or other metadata, begins anew`, async (t) => {
    const database = await openDatabase(t, kind);
    const row = await claimMetadata(database, entry, now, () => true);
    t.true(await settle(database, row!, { document: 'old' }));
    for (const changed of [
      { ...entry, metadata_url: 'https://idp.example/other' },
      { ...entry, metadata: '<x/>' },
    ]) {
      t.is(await readFetchedMetadata(database, changed), null);
      t.is((await claimMetadata(database, changed, now, () => true))?.document, null);
    }
    t.is(await readFetchedMetadata(database, entry), null);
    t.is(await database.models.FetchedMetadata.count(), 1);
    const { metadata_url: _gone, ...without } = entry;
    t.is(await readFetchedMetadata(database, without), null);
  });

  test(`${kind}: rows of entries that are gone are forgotten`, async (t) => {
    const database = await openDatabase(t, kind);
    const other = { ...entry, id: 'other' };
    for (const one of [entry, other]) await claimMetadata(database, one, now, () => true);
    await forgetMetadata(database, [entry, { id: 'other', metadata: '<x/>' }]);
    t.not(await readFetchedMetadata(database, entry), null);
    t.is(await readFetchedMetadata(database, other), null);
    await forgetMetadata(database, []);
    t.is(await database.models.FetchedMetadata.count(), 0);
  });
}

for (const kind of databaseKinds())
  test(`${kind}: what was fetched for one provider of a document is not that of another`, async (t) => {
    const database = await openDatabase(t, kind);
    t.truthy(await claimMetadata(database, entry, now, () => true));
    const named = { ...entry, entity_id: 'urn:b' };
    t.is(await readFetchedMetadata(database, named), null);
    t.truthy(await claimMetadata(database, named, now, () => true));
    t.is(await readFetchedMetadata(database, entry), null);
  });
