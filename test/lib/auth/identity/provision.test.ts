// From an account at a provider to a user. A linked account keeps its user; another one is matched
// by its e-mail. Nobody becomes an administrator by writing an e-mail address into a claim.

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

/** Does what an administrator does for everybody of an entry. */
function freeEverybody(database: Database, kind: 'oidc' | 'saml' = 'oidc', now = new Date()) {
  const everybody = { kind, provider_id: 'okta', userId: null };
  return write(database, async (transaction) => {
    const links = await readLinks(database, everybody, transaction);
    return freeLinks(database, links, now, transaction);
  });
}

for (const kind of databaseKinds()) {
  test(`${kind}: who has no name gets that of the provider, which replaces none`, async (t) => {
    const database = await openDatabase(t, kind);
    const { userId } = await provision(database, { name: ' Ann  Lee ' }, open);
    const named = async () => (await database.models.User.findByPk(userId))?.name;
    t.is(await named(), 'Ann Lee');
    await provision(database, { name: 'admin@example.com' });
    t.is(await named(), 'Ann Lee', 'a provider may let people choose it');
    await write(database, async (transaction) =>
      (await database.models.User.findByPk(userId, { transaction }))!.update(
        { name: null },
        { transaction },
      ),
    );
    for (const name of [{ first: 'Ann' }, '\u200b', 'x'.repeat(256)])
      await provision(database, { name });
    t.is(await named(), null);
    await provision(database, { name: 'Ann Bo' });
    t.is(await named(), 'Ann Bo');
    const [entry] = await readAuditEntries(database, { limit: 1, recordId: userId });
    t.deepEqual(entry?.changes['name'], { from: null, to: 'Ann Bo' });
  });

  test(`${kind}: an unknown e-mail creates a user only if the entry allows it`, async (t) => {
    const database = await openDatabase(t, kind);
    t.is(await refusal(t, provision(database)), 'user_unknown');
    t.is(await database.models.User.count(), 0);
    const { userId } = await provision(database, {}, open);
    const user = await database.models.User.findByPk(userId, { rejectOnEmpty: true });
    t.is(user.email, 'Person@example.com');
    t.is(user.role, 'unprivileged');
    t.is(user.password_hash, null);
    t.is((await provision(database)).userId, userId, 'known from then on');
    const entries = await readAuditEntries(database, { limit: 10 });
    const noted = entries.map((entry) => `${entry.kind} ${entry.action}`);
    t.true(noted.includes('user create') && noted.includes('identity create'));
  });

  test(`${kind}: a linked user stays linked, even if the e-mail of the account changes`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'person@example.com' });
    const admin = await addUser(database, { email: 'admin@example.com', role: 'admin' });
    t.is((await provision(database)).userId, user.id, 'matched without regard to case');
    for (const email of [admin.email, null, 'nobody@example.com'])
      t.is((await provision(database, { email, isEmailVerified: true })).userId, user.id);
    t.is(await database.models.Identity.count(), 1);
  });

  test(`${kind}: an e-mail claim alone takes over no administrator and no user with anything of value`, async (t) => {
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

  test(`${kind}: an address between other blanks links nobody and makes nobody`, async (t) => {
    const database = await openDatabase(t, kind);
    const email = 'ann@example.com';
    await addUser(database, { email, role: 'admin' });
    for (const claimed of [`\u00a0${email}`, `${email}\ufeff`])
      for (const given of [rules, open]) {
        const claim = { email: claimed, isEmailVerified: true };
        t.is(await refusal(t, provision(database, claim, given)), 'email_missing');
      }
    t.is(await database.models.User.count(), 1);
    t.is(await database.models.Identity.count(), 0);
  });

  test(`${kind}: a verified look-alike of an address links nobody, freed or trusted or not`, async (t) => {
    const database = await openDatabase(t, kind);
    // The key for finding users folds the Kelvin sign, the Angstrom sign and letters out of A to Z.
    const pairs = [
      ['kim@example.com', '\u212aim@example.com'],
      ['\u00e5sa@example.com', '\u212bsa@example.com'],
      ['\u00e9va@example.com', '\u00c9va@example.com'],
      ['ren\u00e9@example.com', 'rene\u0301@example.com'],
    ] as const;
    for (const [i, [email, lookAlike]] of pairs.entries()) {
      const user = await addUser(database, { email, role: i === 0 ? 'admin' : 'unprivileged' });
      const claim = { email: lookAlike, isEmailVerified: true, subject: `attacker ${i}` };
      const saml = { ...claim, kind: 'saml', isEmailVerified: null } as const;
      const changing = { ...saml, isBindable: false };
      const tryAll = async (when: string) => {
        for (const one of [claim, saml, changing])
          for (const given of [rules, open])
            t.is(await refusal(t, provision(database, one, given)), 'not_linked', when);
      };
      await tryAll('fresh');
      await provision(database, { email, isEmailVerified: true, subject: `former ${i}` });
      await freeEverybody(database);
      await tryAll('freed');
      await trust(database);
      await tryAll('trusted');
      const owner = { ...claim, subject: `owner ${i}`, email: email.replace('com', 'COM') };
      t.is((await provision(database, owner)).userId, user.id, 'only the case of A to Z differs');
    }
    t.is(await database.models.User.count(), pairs.length, 'nobody was made');
  });

  test(`${kind}: a provider makes no user whose address looks like that of another`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'kim@example.com', role: 'admin' });
    const lookAlikes = ['\uff4bim@example.com', 'k\u0131m@example.com', 'kim@exam\u00adple.com'];
    for (const [i, email] of lookAlikes.entries()) {
      const claim = { email, isEmailVerified: true, subject: `attacker ${i}` };
      t.is(await refusal(t, provision(database, claim, open)), 'not_linked', email);
    }
    t.is(await database.models.User.count(), 1, 'nobody was made');
    const other = { email: 'kin@example.com', isEmailVerified: true };
    await provision(database, other, open);
    t.is(await database.models.User.count(), 2);
  });

  test(`${kind}: an administrator may declare a provider trusted, for the entry as it is now`, async (t) => {
    const database = await openDatabase(t, kind);
    const admin = await addUser(database, { email: 'person@example.com', role: 'admin' });
    await trust(database, 'https://another.example/discovery');
    t.is(await refusal(t, provision(database)), 'not_linked');
    t.is(await refusal(t, provision(database, { isEmailVerified: false })), 'email_unverified');
    await trust(database);
    t.is(await refusal(t, provision(database, { kind: 'saml' })), 'not_linked');
    t.is((await provision(database, { isEmailVerified: false })).userId, admin.id);
  });

  test(`${kind}: an unverified e-mail matters only where it would link to a user`, async (t) => {
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

  test(`${kind}: an unprivileged user who was created in advance is linked by e-mail alone, once`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'person@example.com' });
    t.is((await provision(database)).userId, user.id);
    t.is(await refusal(t, provision(database, { subject: 'somebody else' })), 'not_linked');
  });

  test(`${kind}: an entry that changes to another issuer knows no users of the first issuer`, async (t) => {
    const database = await openDatabase(t, kind);
    await provision(database, {}, open);
    const elsewhere = { issuer: 'https://evil.example', email: 'evil@example.com' };
    t.is(await refusal(t, provision(database, elsewhere)), 'user_unknown');
  });

  test(`${kind}: who comes back with another issuer or name format reads which of them changed`, async (t) => {
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

  test(`${kind}: a released link is taken over by the e-mail of the user, once`, async (t) => {
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

  test(`${kind}: a released link ends after seven days`, async (t) => {
    const database = await openDatabase(t, kind);
    await provision(database, {}, open);
    const turned = { issuer: 'https://new.example' };
    await freeEverybody(database, 'oidc', new Date(Date.now() - 7 * 86_400_000 - 1));
    t.is(await refusal(t, provision(database, turned)), 'issuer_changed');
    await freeEverybody(database, 'oidc', new Date(Date.now() - 7 * 86_400_000 + 60_000));
    await t.notThrowsAsync(provision(database, turned));
  });

  test(`${kind}: a released link makes nobody an administrator`, async (t) => {
    const database = await openDatabase(t, kind);
    const { userId } = await provision(database, {}, open);
    await freeEverybody(database);
    // The user becomes an administrator after the link was released.
    await write(database, (transaction) =>
      database.models.User.update({ role: 'admin' }, { where: { id: userId }, transaction }),
    );
    const turned = { issuer: 'https://new.example' };
    t.is(await refusal(t, provision(database, turned)), 'issuer_changed');
    const verified = { ...turned, isEmailVerified: true };
    t.is((await provision(database, verified)).userId, userId);
    t.is(await database.models.Identity.count(), 1, 'the freed link is used up');
  });

  test(`${kind}: of many accounts that claim a released link at once, one gets it`, async (t) => {
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

  test(`${kind}: a released link works with names that change at each sign-in`, async (t) => {
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

  test(`${kind}: a name that changes at each sign-in is matched by e-mail each time`, async (t) => {
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

  test(`${kind}: another provider cannot take over a user whose name changes at each sign-in`, async (t) => {
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

  test(`${kind}: many first sign-ins at the same time create one user`, async (t) => {
    const database = await openDatabase(t, kind);
    const all = await Promise.all(Array.from({ length: 6 }, () => provision(database, {}, open)));
    t.is(new Set(all.map(({ userId }) => userId)).size, 1);
    t.is(await database.models.User.count(), 1);
    t.is(await database.models.Identity.count(), 1);
  });

  test(`${kind}: the tokens of the provider are kept with the identity`, async (t) => {
    const database = await openDatabase(t, kind);
    const now = new Date();
    const tokens = { kept: { refreshToken: 'r' }, refreshAt: new Date(now.getTime() + 1_000) };
    await provisionUser(database, account(), open, { origin: GATEWAY, now, tokens });
    const row = await database.models.IdentityTokens.findOne();
    t.deepEqual(row?.tokens, { refreshToken: 'r' });
    t.deepEqual(row?.refresh_at, tokens.refreshAt);
  });

  test(`${kind}: without an e-mail only a linked account can sign in`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const email of [null, '', 'no address', 'a@b@c'])
      t.is(await refusal(t, provision(database, { email }, open)), 'email_missing');
    await provision(database, {}, open);
    await t.notThrowsAsync(provision(database, { email: null }));
  });
}

test('an e-mail is accepted if the API would accept it', (t) => {
  t.is(readEmail('  a@b '), 'a@b');
  t.is(readEmail('\r\n\ta@b\n'), 'a@b');
  t.is(readEmail(`${'ü'.repeat(253)}@b`), `${'ü'.repeat(253)}@b`);
  const bad = ['a\0@b', 'a\n@b', 'a@b\r\nBcc: c@d', '\ud800@b', `${'a'.repeat(254)}@b`, '@', 'a@'];
  for (const text of bad) t.is(readEmail(text), null, JSON.stringify(text));
  // Blanks that a person does not see, and that no trimming may take off who somebody is.
  for (const blank of ['\u00a0', '\u2003', '\u3000', '\ufeff', '\u000b'])
    for (const text of [`${blank}a@b`, `a@b${blank}`])
      t.is(readEmail(text), null, JSON.stringify(text));
});
