// From an account at a provider to a user: who is bound stays bound, who is not is matched by
// e-mail, and nobody becomes an administrator by writing an e-mail address into a claim.

import test, { type ExecutionContext } from 'ava';
import {
  type ProvenAccount,
  provisionUser,
  readEmail,
} from '../../../../lib/auth/identity/provision.ts';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import {
  type Database,
  freeLinks,
  GATEWAY,
  markTrusted,
  readAuditEntries,
  readLinks,
  type User,
} from '../../../../models/index.ts';
import { addIdentity, addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const ISSUER = 'https://id.example';
const rules = { autoCreateUsers: false, authority: `${ISSUER}/discovery` };
const open = { ...rules, autoCreateUsers: true };

function account(changes: Partial<ProvenAccount> = {}): ProvenAccount {
  return {
    kind: 'oidc',
    provider_id: 'okta',
    issuer: ISSUER,
    subject: 'subject-1',
    email: 'Person@example.com',
    isEmailVerified: null,
    isBindable: true,
    ...changes,
  };
}

function provision(database: Database, changes: Partial<ProvenAccount> = {}, given = rules) {
  return provisionUser(database, account(changes), given, { origin: GATEWAY, now: new Date() });
}

async function refusal(t: ExecutionContext, work: Promise<unknown>): Promise<string> {
  const error = await t.throwsAsync(work, { instanceOf: ProviderRefusal });
  return error?.reason ?? '';
}

function trust(database: Database, authority = rules.authority): Promise<void> {
  const entry = { kind: 'oidc', provider_id: 'okta', authority } as const;
  return write(database, (transaction) => markTrusted(database, entry, true, transaction));
}

/** As an administrator does it for everybody of an entry. */
function freeEverybody(database: Database, kind: 'oidc' | 'saml' = 'oidc', now = new Date()) {
  const everybody = { kind, provider_id: 'okta', userId: null };
  return write(database, async (transaction) => {
    const links = await readLinks(database, everybody, transaction);
    return freeLinks(database, links, now, transaction);
  });
}

for (const kind of databaseKinds()) {
  test(`${kind}: an unknown e-mail makes a user only where the entry says so`, async (t) => {
    const database = await openDatabase(t, kind);
    t.is(await refusal(t, provision(database)), 'user_unknown');
    t.is(await database.models.User.count(), 0);
    const { userId } = await provision(database, {}, open);
    const user = await database.models.User.findByPk(userId, { rejectOnEmpty: true });
    t.is(user.email, 'Person@example.com');
    t.is(user.role, 'unprivileged');
    t.is(user.password_hash, null);
    t.deepEqual(await provision(database), { userId }, 'known from then on');
    const entries = await readAuditEntries(database, { limit: 10 });
    const told = entries.map((entry) => `${entry.kind} ${entry.action}`);
    t.true(told.includes('user create') && told.includes('identity create'));
  });

  test(`${kind}: who is bound stays bound, whatever e-mail they have today`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'person@example.com' });
    const admin = await addUser(database, { email: 'admin@example.com', role: 'admin' });
    t.is((await provision(database)).userId, user.id, 'matched without regard to case');
    for (const email of [admin.email, null, 'nobody@example.com'])
      t.is((await provision(database, { email, isEmailVerified: true })).userId, user.id);
    t.is(await database.models.Identity.count(), 1);
  });

  test(`${kind}: an e-mail claim alone takes over nobody who is worth it`, async (t) => {
    const database = await openDatabase(t, kind);
    const worth: Partial<User>[] = [{ role: 'admin' }, { password_hash: 'a hash' }, {}];
    for (const [i, values] of worth.entries()) {
      const user = await addUser(database, values);
      if (i === 2) await addIdentity(database, user);
      const claim = { email: user.email, subject: `attacker ${i}` };
      t.is(await refusal(t, provision(database, claim)), 'not_linked', String(i));
      t.is(await refusal(t, provision(database, claim, open)), 'not_linked', 'no second user');
      t.is(
        await refusal(t, provision(database, { ...claim, isEmailVerified: false })),
        'email_unverified',
      );
      const verified = { ...claim, isEmailVerified: true, subject: `owner ${i}` };
      t.is((await provision(database, verified)).userId, user.id);
    }
  });

  test(`${kind}: an administrator may vouch for a provider, as its entry stands`, async (t) => {
    const database = await openDatabase(t, kind);
    const admin = await addUser(database, { email: 'person@example.com', role: 'admin' });
    await trust(database, 'https://another.example/discovery');
    t.is(await refusal(t, provision(database)), 'not_linked');
    t.is(await refusal(t, provision(database, { isEmailVerified: false })), 'email_unverified');
    await trust(database);
    t.is(await refusal(t, provision(database, { kind: 'saml' })), 'not_linked');
    t.is((await provision(database, { isEmailVerified: false })).userId, admin.id);
  });

  test(`${kind}: an e-mail that is not verified matters only where it links`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'person@example.com' });
    const unverified = { isEmailVerified: false };
    t.is(await refusal(t, provision(database, unverified)), 'email_unverified');
    const stranger = { ...unverified, email: 'stranger@example.com' };
    t.is(await refusal(t, provision(database, stranger, open)), 'email_unverified');
    t.is(await database.models.User.count(), 1);
    t.is((await provision(database)).userId, user.id);
    t.is((await provision(database, unverified)).userId, user.id, 'bound');
    const other = { ...stranger, subject: 'subject-2' };
    t.is(await refusal(t, provision(database, other, open)), 'email_unverified');
    await trust(database);
    t.is(await refusal(t, provision(database, other)), 'user_unknown');
    const { userId } = await provision(database, other, open);
    t.not(userId, user.id, 'a trusted entry makes users as it says');
  });

  test(`${kind}: a plain user made beforehand gets in by e-mail alone, once`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'person@example.com' });
    t.is((await provision(database)).userId, user.id);
    t.is(await refusal(t, provision(database, { subject: 'somebody else' })), 'not_linked');
  });

  test(`${kind}: an entry that leads to another issuer knows nobody of the first`, async (t) => {
    const database = await openDatabase(t, kind);
    await provision(database, {}, open);
    const elsewhere = { issuer: 'https://evil.example', email: 'evil@example.com' };
    t.is(await refusal(t, provision(database, elsewhere)), 'user_unknown');
  });

  test(`${kind}: the same person with another issuer or form of name is told which changed`, async (t) => {
    const database = await openDatabase(t, kind);
    const named = (format: string, changes = {}) =>
      ({ kind: 'saml', subject: `${format} one`, ...changes }) as const;
    await provision(database, named('urn:persistent'), open);
    const turned = named('urn:persistent', { issuer: 'urn:other' });
    t.is(await refusal(t, provision(database, turned)), 'issuer_changed');
    const formed = named('urn:emailAddress');
    t.is(await refusal(t, provision(database, formed)), 'name_format_changed');
    const other = named('urn:persistent', { subject: 'urn:persistent two' });
    t.is(await refusal(t, provision(database, other)), 'not_linked');
  });

  test(`${kind}: a freed link is taken over by the user's e-mail, once`, async (t) => {
    const database = await openDatabase(t, kind);
    const refreshAt = new Date();
    const tokens = { kept: { refreshToken: 'old' }, refreshAt };
    const context = { origin: GATEWAY, now: new Date(), tokens };
    const { userId } = await provisionUser(database, account(), open, context);
    await write(database, (transaction) =>
      database.models.User.update(
        { password_hash: 'a hash' },
        { where: { id: userId }, transaction },
      ),
    );
    const turned = { issuer: 'https://new.example' };
    t.is(await refusal(t, provision(database, turned)), 'issuer_changed');
    await freeEverybody(database);
    const elsewhere = { ...turned, provider_id: 'other' };
    t.is(await refusal(t, provision(database, elsewhere)), 'not_linked', 'of that entry alone');
    const sameId = { ...turned, kind: 'saml' } as const;
    t.is(await refusal(t, provision(database, sameId)), 'not_linked', 'of that kind alone');
    const doubted = { ...turned, isEmailVerified: false };
    t.is(await refusal(t, provision(database, doubted)), 'email_unverified');
    t.is((await provision(database)).userId, userId, 'the former account is still good');
    t.is((await provision(database, turned)).userId, userId);
    t.is(await database.models.IdentityTokens.count(), 0, 'those of the former account are gone');
    const thief = { ...turned, subject: 'subject-2' };
    t.is(await refusal(t, provision(database, thief)), 'not_linked', 'only once');
    t.is(await refusal(t, provision(database)), 'issuer_changed', 'the former account is gone');
    t.is((await provision(database, { ...turned, email: null })).userId, userId, 'bound');
  });

  test(`${kind}: a freed link ends after seven days`, async (t) => {
    const database = await openDatabase(t, kind);
    await provision(database, {}, open);
    const turned = { issuer: 'https://new.example' };
    await freeEverybody(database, 'oidc', new Date(Date.now() - 7 * 86_400_000 - 1));
    t.is(await refusal(t, provision(database, turned)), 'issuer_changed');
    await freeEverybody(database, 'oidc', new Date(Date.now() - 7 * 86_400_000 + 60_000));
    await t.notThrowsAsync(provision(database, turned));
  });

  test(`${kind}: a freed link makes nobody an administrator`, async (t) => {
    const database = await openDatabase(t, kind);
    const { userId } = await provision(database, {}, open);
    await freeEverybody(database);
    // Promoted after the link was freed.
    await write(database, (transaction) =>
      database.models.User.update({ role: 'admin' }, { where: { id: userId }, transaction }),
    );
    const turned = { issuer: 'https://new.example' };
    t.is(await refusal(t, provision(database, turned)), 'issuer_changed');
    const verified = { ...turned, isEmailVerified: true };
    t.is((await provision(database, verified)).userId, userId);
    t.is(await database.models.Identity.count(), 1, 'the freed link is used up');
  });

  test(`${kind}: of many who come to a freed link at once, one takes it`, async (t) => {
    const database = await openDatabase(t, kind);
    await provision(database, {}, open);
    await freeEverybody(database);
    const all = await Promise.allSettled(
      [1, 2, 3, 4].map((n) =>
        provision(database, { issuer: 'https://new.example', subject: `${n}` }),
      ),
    );
    t.is(all.filter(({ status }) => status === 'fulfilled').length, 1);
    t.is(await database.models.Identity.count(), 1);
  });

  test(`${kind}: a freed link gives way to names that change each time`, async (t) => {
    const database = await openDatabase(t, kind);
    const named = { kind: 'saml', subject: 'urn:persistent one' } as const;
    const { userId } = await provision(database, named, open);
    const transient = { kind: 'saml', subject: 'urn:transient _1', isBindable: false } as const;
    t.is(await refusal(t, provision(database, transient)), 'name_format_changed');
    await freeEverybody(database, 'saml');
    t.is((await provision(database, transient)).userId, userId);
    t.is(await database.models.Identity.count(), 0);
    const next = { ...transient, subject: 'urn:transient _2' };
    t.is((await provision(database, next)).userId, userId);
  });

  test(`${kind}: a name that changes each time is matched by e-mail each time`, async (t) => {
    const database = await openDatabase(t, kind);
    const transient = (subject: string) => ({ subject, isBindable: false });
    const { userId } = await provision(database, transient('_1'), open);
    t.is((await provision(database, transient('_2'))).userId, userId);
    t.is(await database.models.Identity.count(), 0);
    await write(database, (transaction) =>
      database.models.User.update({ role: 'admin' }, { where: { id: userId }, transaction }),
    );
    t.is(await refusal(t, provision(database, transient('_3'))), 'not_linked');
  });

  test(`${kind}: who signed in with names that change is no prey of another provider`, async (t) => {
    const database = await openDatabase(t, kind);
    const signedIn = { last_signed_in_at: new Date(), last_signed_in_method: 'adfs' };
    const user = await addUser(database, { email: 'person@example.com', ...signedIn });
    t.is(await refusal(t, provision(database)), 'not_linked');
    const sameId = { kind: 'oidc', provider_id: 'adfs', subject: '_1' } as const;
    t.is(await refusal(t, provision(database, sameId)), 'not_linked', 'the kind counts');
    const again = { kind: 'saml', provider_id: 'adfs', subject: '_2', isBindable: false } as const;
    t.is((await provision(database, again)).userId, user.id, 'their own provider knows them');
    t.is((await provision(database, { isEmailVerified: true })).userId, user.id);
  });

  test(`${kind}: many first sign-ins at once make one user`, async (t) => {
    const database = await openDatabase(t, kind);
    const all = await Promise.all(Array.from({ length: 6 }, () => provision(database, {}, open)));
    t.is(new Set(all.map(({ userId }) => userId)).size, 1);
    t.is(await database.models.User.count(), 1);
    t.is(await database.models.Identity.count(), 1);
  });

  test(`${kind}: what the provider gave is kept with the identity`, async (t) => {
    const database = await openDatabase(t, kind);
    const now = new Date();
    const tokens = { kept: { refreshToken: 'r' }, refreshAt: new Date(now.getTime() + 1_000) };
    await provisionUser(database, account(), open, { origin: GATEWAY, now, tokens });
    const row = await database.models.IdentityTokens.findOne();
    t.deepEqual(row?.tokens, { refreshToken: 'r' });
    t.deepEqual(row?.refresh_at, tokens.refreshAt);
  });

  test(`${kind}: without an e-mail only who is bound gets in`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const email of [null, '', 'no address', 'a@b@c'])
      t.is(await refusal(t, provision(database, { email }, open)), 'email_missing');
    await provision(database, {}, open);
    await t.notThrowsAsync(provision(database, { email: null }));
  });
}

test('an e-mail is one that the API would take', (t) => {
  t.is(readEmail('  a@b '), 'a@b');
  t.is(readEmail(`${'ü'.repeat(253)}@b`), `${'ü'.repeat(253)}@b`);
  const bad = ['a\0@b', 'a\n@b', 'a@b\r\nBcc: c@d', '\ud800@b', `${'a'.repeat(254)}@b`, '@', 'a@'];
  for (const text of bad) t.is(readEmail(text), null, JSON.stringify(text));
});
