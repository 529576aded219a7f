// E-mail and password: who can sign in, and that no refusal shows who has an account.

import bcrypt from 'bcrypt';
import test from 'ava';
import { Accounts } from '../../../lib/auth/accounts.ts';
import { commandLineCaller } from '../../../lib/cli/perform.ts';
import { Writes } from '../../../lib/kit/records/writes.ts';
import { hashPassword } from '../../../lib/auth/passwords.ts';
import { readAuditEntries, writeTransaction } from '../../../models/index.ts';
import { databaseKinds } from '../../support/database/databases.ts';
import { openServer, type TestServer } from '../../support/api/server.ts';
import { addPerson, PASSWORD, Visitor } from '../../support/web/visitor.ts';

const REFUSED = 'Error signing in: user credentials are invalid or user does not exist';

/** The page of a refusal, without the parts that differ for each request. */
function bare(text: string): string {
  return text
    .replaceAll(/value="[^"]*"/g, '')
    .replaceAll(/content="[^"]*"/g, '')
    .replaceAll(' autofocus', '');
}

/** A visitor who claims another address; nobody believes it without a trusted proxy. */
function forging(server: TestServer, n: number): Visitor {
  const visitor = new Visitor(server);
  visitor.headers['x-forwarded-for'] = `192.0.2.${n}`;
  visitor.headers['forwarded'] = `for=192.0.2.${n}`;
  return visitor;
}

for (const kind of databaseKinds()) {
  // Runs alone, since it counts every password comparison of this process.
  test.serial(`${kind}: every refusal has the same text and does the same work`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    await addPerson(database, 'ann@example.com');
    await addPerson(database, 'none@example.com', { password_hash: null });
    const disabled_at = new Date();
    await addPerson(database, 'out@example.com', { disabled_at, disabled_by: 'administrator' });
    await addPerson(database, 'sso@example.com', {
      disabled_at,
      disabled_by: 'provider',
      disabled_provider: 'okta',
    });
    await addPerson(database, 'long@example.com', {
      password_hash: await hashPassword('x'.repeat(72), 4),
    });
    await new Visitor(server).signIn('nobody@example.com', 'warms the stand-in up');
    const compared: number[] = [];
    const { compare } = bcrypt;
    t.teardown(() => void (bcrypt.compare = compare));
    bcrypt.compare = (data, hash) => {
      compared.push(bcrypt.getRounds(hash));
      return compare(data, hash);
    };
    const rows: [email: string, password: string][] = [
      ['ann@example.com', 'wrong password x'],
      ['ann@example.com', `${PASSWORD} `],
      ['nobody@example.com', PASSWORD],
      ['none@example.com', ''],
      ['none@example.com', PASSWORD],
      ['out@example.com', `${PASSWORD} `],
      ['sso@example.com', 'wrong password x'],
      ['long@example.com', `${'x'.repeat(72)}y`],
      ['', ''],
      ['\u0000', PASSWORD],
      ['ann@example.com\u0000', PASSWORD],
      ['\ud800', PASSWORD],
      ["' OR 1=1 --", PASSWORD],
      [`${'a'.repeat(300)}@example.com`, PASSWORD],
    ];
    const texts = new Set<string>();
    for (const [i, [email, password]] of rows.entries()) {
      const visitor = new Visitor(server);
      visitor.headers['x-forwarded-for'] = `192.0.2.${i}`;
      const before = compared.length;
      const shown = await visitor.signIn(email, password);
      t.is(shown.status, 401, email);
      t.true(shown.text.includes(REFUSED), email);
      t.false(visitor.cookies.has('postern-session'), email);
      t.is(compared.length - before, 1, `${email}: one comparison`);
      texts.add(bare(shown.text));
      await writeTransaction(database, async (transaction) => {
        await database.models.SignInAttempt.destroy({ where: {}, transaction });
      });
    }
    t.is(texts.size, 1);
    t.deepEqual([...new Set(compared)], [4]);
  });

  test(`${kind}: only the right password shows that the account is disabled`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const shut = { disabled_at: new Date(), disabled_by: 'administrator' } as const;
    const email = 'out@example.com';
    const { id } = await addPerson(database, email, shut);
    const off = /Your account is disabled\. Please ask your administrator\./;
    const visitor = new Visitor(server);
    const page = await visitor.signIn(email);
    t.is(page.status, 401);
    t.regex(page.text, off);
    t.false(visitor.cookies.has('postern-session'));
    const wrong = await new Visitor(server).signIn(email, 'wrong password x');
    t.true(wrong.text.includes(REFUSED));
    // Each attempt counts, also the right password; during the wait all answers are the same.
    for (let i = 2; i < 5; i += 1) t.regex((await new Visitor(server).signIn(email)).text, off);
    const [right, other] = [
      await new Visitor(server).signIn(email),
      await new Visitor(server).signIn(email, 'wrong password x'),
    ];
    t.notRegex(right.text, off);
    t.is(bare(right.text), bare(other.text));
    const entries = await readAuditEntries(database, { limit: 20 });
    const refused = entries.filter(({ action }) => action === 'sign-in refused');
    t.is(refused.length, 7);
    t.true(refused.every(({ record_id }) => record_id === id));
    t.is(await database.models.Session.count(), 0);
  });

  // Runs alone, since it counts every password comparison of this process.
  test.serial(
    `${kind}: a password that is changed while it is compared lets nobody in`,
    async (t) => {
      const server = await openServer(t, kind);
      const ann = await addPerson(server.database, 'ann@example.com');
      const { compare } = bcrypt;
      t.teardown(() => void (bcrypt.compare = compare));
      const password_hash = await hashPassword('another horse battery', 4);
      let compared = false;
      bcrypt.compare = async (data, hash) => {
        const isSame = await compare(data, hash);
        // Ends all sessions before the one of this sign-in exists.
        await writeTransaction(server.database, (transaction) =>
          ann.update({ password_hash }, { transaction }),
        );
        compared = isSame;
        return isSame;
      };
      const visitor = new Visitor(server);
      const shown = await visitor.signIn('ann@example.com');
      t.true(compared, 'it was right a moment ago');
      t.is(shown.status, 401);
      t.true(shown.text.includes(REFUSED));
      t.is(await server.database.models.Session.count(), 0);
    },
  );

  test(`${kind}: after five failures an account has to wait, known or not, from every address`, async (t) => {
    const server = await openServer(t, kind, { TRUSTED_PROXIES: '127.0.0.1' });
    await addPerson(server.database, 'ann@example.com');
    const from = (address: string): Visitor => {
      const visitor = new Visitor(server);
      visitor.headers['x-forwarded-for'] = address;
      return visitor;
    };
    for (const email of ['ann@example.com', 'nobody@example.com'])
      for (let n = 0; n < 5; n += 1)
        t.is((await from(`192.0.2.${n}`).signIn(email, 'wrong password x')).status, 401);
    const refused = await from('198.51.100.1').signIn('ann@example.com');
    t.is(refused.status, 401);
    t.regex(refused.text, /Wait 15 minutes/);
    const unknown = await from('198.51.100.1').signIn('nobody@example.com');
    t.regex(unknown.text, /Wait 15 minutes/, 'known or not');
    t.is(server.services.counters.of('sign_ins', 'too_many_for_account'), 2);
    const soon = new Date(Date.now() + 200_000);
    const where = { kind: 'account' } as const;
    await server.database.models.SignInAttempt.update({ expires_at: soon }, { where });
    const later = await from('198.51.100.1').signIn('ann@example.com');
    t.regex(later.text, /Wait 4 minutes/, 'what is left');
    await writeTransaction(server.database, async (transaction) => {
      await server.database.models.SignInAttempt.update(
        { expires_at: new Date(0) },
        { where: {}, transaction },
      );
    });
    t.is((await from('198.51.100.1').signIn('ann@example.com')).status, 303);
  });

  test(`${kind}: five failures do not lock out others who share the address`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, 'ann@example.com');
    for (let n = 0; n < 9; n += 1)
      await forging(server, n).signIn('nobody@example.com', 'wrong password x');
    t.is((await forging(server, 9).signIn('ann@example.com')).status, 303);
  });

  test(`${kind}: the audit trail shows a lock, and when an administrator ended it`, async (t) => {
    const server = await openServer(t, kind);
    const { database, log } = server;
    const { id } = await addPerson(database, 'ann@example.com', { role: 'admin' });
    for (let n = 0; n < 7; n += 1)
      await forging(server, n).signIn('ann@example.com', 'wrong password x');
    const entries = await readAuditEntries(database, { action: 'lock', limit: 10 });
    t.deepEqual(
      entries.map((entry) => [entry.record_id, entry.changes]),
      [[id, { by: { to: 'account' }, minutes: { to: 15 } }]],
    );
    t.is(log.filter((line) => /a wait of 15 minutes began/.test(JSON.stringify(line))).length, 1);
    const again = { email: 'ann@example.com', password: 'another good password' };
    await new Accounts({
      services: { ...server.services, database },
      writes: new Writes(database),
    }).ensureAdministrator(commandLineCaller(), { values: again, errors: {} });
    t.is((await readAuditEntries(database, { action: 'unlock', limit: 10 })).length, 1);
  });

  test(`${kind}: after fifty failures an address has to wait, whichever account it tries`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, 'ann@example.com');
    for (let n = 0; n < 50; n += 1)
      await forging(server, n % 9).signIn(`user${n}@example.com`, 'wrong password x');
    const refused = await forging(server, 9).signIn('ann@example.com');
    t.is(refused.status, 401);
    t.regex(refused.text, /Wait 15 minutes/);
    t.is(server.services.counters.of('sign_ins', 'too_many_from_address'), 1);
  });

  test(`${kind}: the failures of one device keep no other device waiting`, async (t) => {
    const server = await openServer(t, kind, { TRUSTED_PROXIES: '127.0.0.1' });
    await addPerson(server.database, 'ann@example.com');
    const from = (address: string): Visitor => {
      const visitor = new Visitor(server);
      visitor.headers['x-forwarded-for'] = address;
      return visitor;
    };
    for (let n = 0; n < 50; n += 1)
      await from('fd00::2').signIn(`user${n}@example.com`, 'wrong password x');
    t.regex((await from('fd00::2').signIn('ann@example.com')).text, /Wait 15 minutes/);
    t.is((await from('fd00::3').signIn('ann@example.com')).status, 303);
  });

  test(`${kind}: twenty guesses at the same time count as five`, async (t) => {
    const server = await openServer(t, kind, { TRUSTED_PROXIES: '127.0.0.1' });
    await addPerson(server.database, 'ann@example.com');
    const shown = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const visitor = new Visitor(server);
        visitor.headers['x-forwarded-for'] = `192.0.2.${i}`;
        return visitor.signIn('ann@example.com', 'wrong password x');
      }),
    );
    t.deepEqual(new Set(shown.map(({ status }) => status)), new Set([401]));
    t.is(server.services.counters.of('sign_ins', 'refused'), 5);
    t.is(server.services.counters.of('sign_ins', 'too_many_for_account'), 15);
  });

  test(`${kind}: the audit trail shows a refusal, without what was typed`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await addPerson(server.database, 'ann@example.com');
    await new Visitor(server).signIn('ann@example.com', 'mistyped secret');
    await new Visitor(server).signIn('nobody@example.com', 'mistyped secret');
    const entries = await readAuditEntries(server.database, { limit: 2 });
    t.deepEqual(
      entries.map(({ action, record_id, address }) => [action, record_id, address]),
      [
        ['sign-in refused', ann.id, '127.0.0.1'],
        ['sign-in refused', 'unknown', '127.0.0.1'],
      ],
    );
    t.false(JSON.stringify(entries).includes('mistyped'));
    t.false(JSON.stringify(entries).includes('nobody'));
  });
}
