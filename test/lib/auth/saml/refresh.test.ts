// Metadata are fetched once a day by one gateway, sooner where a key is unknown, and what is of no
// use never takes the place of what serves. Time is the test's own.

import test, { type ExecutionContext } from 'ava';
import { metadataOf } from '../../../../lib/auth/saml/provider-metadata.ts';
import {
  dropFormerCertificates,
  endRollover,
  refreshDueMetadata,
  refreshForUnknownKey,
  refreshOnDemand,
} from '../../../../lib/auth/saml/refresh.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import {
  COMMAND_LINE,
  actAs,
  readAuditEntries,
  readFetchedMetadata,
  type SamlIdentityProvider,
  writeTransaction,
} from '../../../../models/index.ts';
import { idpKey, idpMetadata, otherIdpKey } from '../../../support/auth/bad-saml-provider.ts';
import {
  firstKind,
  openDatabase,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { derOf, openMetadataAddress, status } from '../../../support/auth/metadata-address.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const [OLD, NEW] = [derOf(idpKey), derOf(otherIdpKey)];
const oldDocument = idpMetadata(signOnService());
const newDocument = idpMetadata(signOnService(), { key: otherIdpKey });

async function open(
  t: ExecutionContext,
  kind: TestDatabaseKind,
  changes: Partial<SamlIdentityProvider> = {},
) {
  const database = await openDatabase(t, kind);
  const address = await openMetadataAddress(t, oldDocument);
  const entry = samlEntry({ metadata: oldDocument, metadata_url: address.url, ...changes });
  const counters = new Counters();
  const lines: object[] = [];
  const write = (fields: object) => void lines.push(fields);
  const log = { debug: write, info: write, warn: write, error: write };
  const clock = { ms: Date.parse('2026-11-23T10:00:00Z') };
  const limits = { timeoutMs: 20_000, bytesMax: 100_000 };
  const context = { database, counters, log, limits, now: () => new Date(clock.ms) };
  return {
    database,
    address,
    entry,
    counters,
    lines,
    clock,
    context,
    due: () => refreshDueMetadata(context, [entry]),
    served: async () => (await metadataOf(database, entry)).signingCertificates,
    awaited: async () => (await metadataOf(database, entry)).awaitedCertificates,
    row: () => readFetchedMetadata(database, entry),
  };
}

for (const kind of firstKind()) {
  test(`${kind}: once a day, by one of several gateways`, async (t) => {
    const { address, due, clock, row, counters } = await open(t, kind);
    await Promise.all([due(), due(), due()]);
    t.is(address.count(), 1);
    t.is(counters.of('metadata_refreshes', 'same'), 1);
    clock.ms += 0.85 * DAY;
    await due();
    t.is(address.count(), 1, 'too early');
    clock.ms += 0.3 * DAY;
    await due();
    t.is(address.count(), 2);
    t.deepEqual((await row())?.fetched_at, new Date(clock.ms));
    clock.ms -= 10 * DAY;
    await due();
    t.is(address.count(), 3, 'the turn that is days ahead was that of another clock');
  });

  test(`${kind}: an entry without an address is left alone, and a row of a gone one goes`, async (t) => {
    const { database, context, address, due, entry } = await open(t, kind);
    await due();
    const { metadata_url: _none, ...without } = entry;
    t.false(await refreshForUnknownKey(context, without));
    await refreshDueMetadata(context, [without]);
    t.is(await database.models.FetchedMetadata.count(), 0);
    t.is(address.count(), 1);
  });

  test(`${kind}: what is of no use is refused and named, and the last good document serves`, async (t) => {
    const { address, due, clock, row, served, counters, lines } = await open(t, kind);
    await due();
    const bad: [Parameters<typeof address.serve>[0], string, RegExp][] = [
      [status(503), 'unreachable', /status 503/],
      ['<html/>', 'unfit', /does not describe/],
      [newDocument.replace('saml-idp.example', 'evil.example'), 'other_entity', /another provider/],
      [
        newDocument.replace(' entityID', ' validUntil="2020-01-01T00:00:00Z" entityID'),
        'expired',
        /has passed/,
      ],
    ];
    clock.ms += 2 * DAY;
    for (const [document, word, problem] of bad) {
      address.serve(document);
      await due();
      t.is(counters.of('metadata_refreshes', word), 1, word);
      t.regex((await row())?.problem ?? '', problem);
      t.like(lines.at(-1), { provider: 'saml-idp', reason: word });
      t.deepEqual(await served(), [OLD]);
      clock.ms += 50 * MINUTE;
      await due();
      t.is(counters.of('metadata_refreshes', word), 1, 'not before the hour');
      clock.ms += 20 * MINUTE;
    }
    address.serve(oldDocument);
    await due();
    t.is((await row())?.problem, null);
  });

  test(`${kind}: an entry of which nothing was fetched yet is not usable, and says why`, async (t) => {
    const { address, due, entry, database, clock } = await open(t, kind, { metadata: '' });
    address.serve(status(500));
    await due();
    await t.throwsAsync(metadataOf(database, entry), { message: /fetched: its address.* 500/ });
    clock.ms += 2 * 60 * MINUTE;
    address.serve(oldDocument);
    await due();
    t.deepEqual((await metadataOf(database, entry)).signingCertificates, [OLD]);
  });

  test(`${kind}: a former certificate serves until a new one is seen in use`, async (t) => {
    const { database, context, entry, address, due, clock, served, awaited } = await open(t, kind);
    await due();
    address.serve(newDocument);
    clock.ms += 2 * DAY;
    await due();
    t.deepEqual(await served(), [NEW, OLD]);
    t.deepEqual(await awaited(), [NEW]);
    clock.ms += 2 * DAY;
    await due();
    t.deepEqual(await served(), [NEW, OLD], 'however often it is fetched');
    await endRollover(context, entry);
    t.deepEqual(await served(), [NEW]);
    t.deepEqual(await awaited(), []);
    const entries = await readAuditEntries(database, { limit: 100 });
    const changes = entries.filter((one) => one.kind === 'saml_metadata');
    t.deepEqual(
      changes.map(({ action, record_id, actor }) => [action, record_id, actor]),
      [
        ['update', 'saml-idp', 'gateway'],
        ['update', 'saml-idp', 'gateway'],
      ],
    );
  });

  test(`${kind}: an administrator makes a former certificate void at once`, async (t) => {
    const { database, entry, address, due, clock, served } = await open(t, kind);
    await due();
    address.serve(newDocument);
    clock.ms += 2 * DAY;
    await due();
    const drop = () =>
      writeTransaction(database, async (transaction) => {
        actAs(transaction, COMMAND_LINE);
        return dropFormerCertificates(database, entry, transaction);
      });
    t.is((await drop()).result, 1);
    t.deepEqual(await served(), [NEW]);
    t.is((await drop()).result, 0);
    const entries = await readAuditEntries(database, { limit: 100 });
    const last = entries.find(({ actor }) => actor === 'command line');
    t.like(last, { kind: 'saml_metadata', record_id: 'saml-idp' });
    t.is(JSON.stringify(last?.changes).match(/[0-9a-f]{64}/g)?.length, 1);
  });

  test(`${kind}: what is dropped while a fetch is under way does not come back`, async (t) => {
    const { database, context, entry, address, due, clock, served } = await open(t, kind);
    await due();
    address.serve(newDocument);
    clock.ms += 2 * DAY;
    await due();
    address.serve((response) => {
      void writeTransaction(database, (transaction) =>
        dropFormerCertificates(database, entry, transaction),
      ).then(() => response.end(newDocument));
    });
    t.deepEqual(await refreshOnDemand(context, entry), { kind: 'overtaken' });
    t.deepEqual(await served(), [NEW]);
  });

  test(`${kind}: an unknown key is a reason to fetch once in five minutes, a wish always`, async (t) => {
    const { context, entry, address, clock, counters } = await open(t, kind);
    t.false(await refreshForUnknownKey(context, entry), 'nothing new');
    for (let i = 0; i < 20; i += 1) {
      t.false(await refreshForUnknownKey(context, entry));
      clock.ms += 14_000;
    }
    t.is(address.count(), 1);
    clock.ms += 21_000;
    address.serve(newDocument);
    t.true(await refreshForUnknownKey(context, entry));
    t.is(address.count(), 2);
    t.deepEqual(await refreshOnDemand(context, entry), { kind: 'fetched', isChanged: false });
    address.serve(status(404));
    t.like(await refreshOnDemand(context, entry), { kind: 'refused' });
    t.is(address.count(), 4);
    t.is(counters.of('metadata_refreshes', 'changed'), 1);
  });
}
