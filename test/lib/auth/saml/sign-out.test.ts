// What a provider ends: the sessions that it names, by account and by its own session.

import test from 'ava';
import { endSessionsAtProvider, sessionAtProvider } from '../../../../lib/auth/saml/sign-out.ts';
import {
  GATEWAY,
  identityKey,
  type SessionAtProvider,
  writeTransaction,
} from '../../../../models/index.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { addPerson } from '../../../support/web/visitor.ts';

const account = { kind: 'saml', provider_id: 'idp', issuer: 'urn:idp', subject: 'one' } as const;
const other = { ...account, subject: 'two' };
const NOBODY = { account_key: null, provider_session: null };

for (const kind of firstKind())
  test(`${kind}: sessions end by account, and by the provider's session where it names one`, async (t) => {
    const database = await openDatabase(t, kind);
    const { Session, Identity, User } = database.models;
    await addPerson(database, 'person@example.com');
    const { id: user_id } = await User.findOne({ rejectOnEmpty: true });
    let count = 0;
    const begin = (known: SessionAtProvider, method = 'saml/idp') =>
      Session.create({
        user_id,
        sha256: `${(count += 1)}`.padStart(64, '0'),
        state: 'open',
        method,
        ...known,
        inserted_at: new Date(),
        seen_at: new Date(),
      });
    const left = async () => (await Session.findAll({ order: ['sha256'] })).map(({ id }) => id);
    const first = await begin(sessionAtProvider(account, 's1'));
    const second = await begin(sessionAtProvider(account, 's2'));
    const unnamed = await begin(sessionAtProvider(account, null));
    const others = await begin(sessionAtProvider(other, 's1'));
    const older = await begin(NOBODY);
    const local = await begin(NOBODY, 'email');
    const end = (sessionIndexes: string[], secondsFromNow = 60) => {
      const meansBefore = new Date(Date.now() + secondsFromNow * 1_000);
      return endSessionsAtProvider(database, account, { sessionIndexes, meansBefore }, GATEWAY);
    };
    const all = await left();
    await end([], -60);
    t.deepEqual(await left(), all, 'they began after it');
    await end(['s3']);
    t.deepEqual(
      await left(),
      [first, second, others, older, local].map(({ id }) => id),
    );
    t.false((await left()).includes(unnamed.id), 'it may be any of them');
    await end(['s1', 's3']);
    t.deepEqual(
      await left(),
      [second, others, older, local].map(({ id }) => id),
    );
    const bound = { user_id, ...account, account_key: identityKey(account) };
    await writeTransaction(database, (transaction) => Identity.create(bound, { transaction }));
    await end([]);
    t.deepEqual(
      await left(),
      [others, local].map(({ id }) => id),
    );
  });
