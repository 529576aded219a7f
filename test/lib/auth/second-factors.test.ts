// Second factors: which codes are accepted, how often, and what an administrator may do about them.

import { Secret, TOTP } from 'otpauth';
import test from 'ava';
import {
  addSecondFactor,
  beginEnrolment,
  FACTORS_MAX,
  hasSecondFactor,
  openEnrolment,
  removeSecondFactor,
  renewRecoveryCodes,
  resetSecondFactors,
  spendCode,
  stepOf,
} from '../../../lib/auth/second-factors.ts';
import {
  type Database,
  readAuditEntries,
  type User,
  writeTransaction,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addPerson } from '../../support/web/visitor.ts';

// From RFC 6238, appendix B: SHA-1, the secret is the text 12345678901234567890. The codes there
// have eight digits, and these are their last six.
const SECRET = Secret.fromUTF8('12345678901234567890').base32;
const VECTORS: [seconds: number, code: string][] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
];
const NOW = new Date('2026-11-21T08:00:10Z');

function codeAt(secret: string, ms: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: ms });
}

async function withFactor(
  database: Database,
): Promise<{ user: User; recoveryCodes: readonly string[] }> {
  const user = await addPerson(database, `${Math.random()}@example.com`);
  const factor = { userId: user.id, name: 'phone', secret: SECRET, step: 0 };
  const { result } = await writeTransaction(database, (transaction) =>
    addSecondFactor(database, factor, transaction),
  );
  return { user, recoveryCodes: result?.recoveryCodes ?? [] };
}

async function spend(database: Database, user: User, code: string, now = NOW): Promise<boolean> {
  const { result } = await writeTransaction(database, (transaction) =>
    spendCode(database, user.id, code, transaction, now),
  );
  return result;
}

test('codes are those of RFC 6238', async (t) => {
  for (const [seconds, code] of VECTORS)
    t.is(await stepOf(SECRET, code, 0, new Date(seconds * 1_000)), Math.floor(seconds / 30), code);
});

test('a code is valid half a minute before and after its time, spaces allowed; other texts are not', async (t) => {
  const code = codeAt(SECRET, NOW.getTime());
  const step = Math.floor(NOW.getTime() / 30_000);
  for (const [seconds, want] of [
    [0, step],
    [30, step],
    [-30, step],
    [60, null],
    [-60, null],
  ] as const)
    t.is(
      await stepOf(SECRET, code, 0, new Date(NOW.getTime() + seconds * 1_000)),
      want,
      String(seconds),
    );
  t.is(await stepOf(SECRET, ` ${code.slice(0, 3)} ${code.slice(3)} `, 0, NOW), step);
  for (const bad of ['', '12345', `${code}0`, `0${code}`, 'abcdef', `-${code.slice(1)}`, '٠١٢٣٤٥'])
    t.is(await stepOf(SECRET, bad, 0, NOW), null, bad);
});

test('a code of a step that was used, or of an earlier step, is refused', async (t) => {
  const step = Math.floor(NOW.getTime() / 30_000);
  const before = codeAt(SECRET, NOW.getTime() - 30_000);
  t.is(await stepOf(SECRET, before, step - 2, NOW), step - 1);
  t.is(await stepOf(SECRET, before, step - 1, NOW), null);
  t.is(await stepOf(SECRET, before, step, NOW), null);
});

test('a step that a clock took that was far ahead does not refuse the codes of the present', async (t) => {
  const step = Math.floor(NOW.getTime() / 30_000);
  const code = codeAt(SECRET, NOW.getTime());
  t.is(await stepOf(SECRET, code, step + 730 * 2_880, NOW), step);
  t.is(await stepOf(SECRET, code, step + 3, NOW), null, 'clocks of gateways differ a little');
});

for (const kind of databaseKinds()) {
  test(`${kind}: an enrolment is valid for its own session, for a quarter of an hour`, async (t) => {
    const database = await openDatabase(t, kind);
    const owner = { sessionId: 's1', email: 'ann@example.com', now: NOW };
    const { sealed, secret, address } = await beginEnrolment(database, owner);
    t.regex(secret, /^[A-Z2-7]{32}$/);
    t.is(new URL(address).searchParams.get('secret'), secret);
    t.false(sealed.includes(secret));
    t.is((await openEnrolment(database, sealed, owner))?.secret, secret);
    const later = (ms: number) => ({ ...owner, now: new Date(NOW.getTime() + ms) });
    t.truthy(await openEnrolment(database, sealed, later(15 * 60_000 - 1)));
    t.is(await openEnrolment(database, sealed, later(15 * 60_000)), null);
    t.is(await openEnrolment(database, sealed, later(-86_400_000)), null, 'the clock came back');
    t.is(await openEnrolment(database, sealed, { ...owner, sessionId: 's2' }), null);
    for (const bad of ['', 'x', `x${sealed}`, sealed.slice(0, -4)])
      t.is(await openEnrolment(database, bad, owner), null, bad);
    const other = await openDatabase(t, kind);
    t.is(await openEnrolment(other, sealed, owner), null, 'another key');
  });

  test(`${kind}: a code works once, even if it is sent twice at the same time`, async (t) => {
    const database = await openDatabase(t, kind);
    const { user } = await withFactor(database);
    t.true(await hasSecondFactor(database, user.id));
    const code = codeAt(SECRET, NOW.getTime());
    const taken = await Promise.all([1, 2, 3, 4].map(() => spend(database, user, code)));
    t.is(taken.filter(Boolean).length, 1);
    t.false(await spend(database, user, code));
    t.true(await spend(database, user, codeAt(SECRET, NOW.getTime() + 30_000)));
  });

  test(`${kind}: a recovery code works once, in any spelling, and only for its owner`, async (t) => {
    const database = await openDatabase(t, kind);
    const { user, recoveryCodes } = await withFactor(database);
    const other = await withFactor(database);
    t.is(recoveryCodes.length, 10);
    t.is(new Set(recoveryCodes).size, 10);
    const [one = '', two = ''] = recoveryCodes;
    t.regex(one, /^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/);
    t.false(await spend(database, other.user, one));
    t.true(await spend(database, user, one));
    t.false(await spend(database, user, one));
    t.true(await spend(database, user, ` ${two.toUpperCase().replaceAll('-', ' ')}`));
    t.false(await spend(database, user, ''));
    const rows = await database.models.RecoveryCode.findAll({ raw: true });
    for (const code of recoveryCodes) t.false(JSON.stringify(rows).includes(code));
  });

  test(`${kind}: new recovery codes replace the earlier ones`, async (t) => {
    const database = await openDatabase(t, kind);
    const { user, recoveryCodes } = await withFactor(database);
    const { result: renewed } = await writeTransaction(database, (transaction) =>
      renewRecoveryCodes(database, user.id, transaction),
    );
    t.false(await spend(database, user, recoveryCodes[0] ?? ''));
    t.true(await spend(database, user, renewed[0] ?? ''));
  });

  test(`${kind}: a user can have at most ${FACTORS_MAX} factors, and any of them is enough`, async (t) => {
    const database = await openDatabase(t, kind);
    const { user } = await withFactor(database);
    const secrets = Array.from({ length: FACTORS_MAX }, () => new Secret({ size: 20 }).base32);
    const added = [];
    for (const secret of secrets) {
      const factor = { userId: user.id, name: 'more', secret, step: 0 };
      const { result } = await writeTransaction(database, (transaction) =>
        addSecondFactor(database, factor, transaction),
      );
      added.push(result);
    }
    t.is(added.at(-1), null);
    t.deepEqual(added[0], { recoveryCodes: [] }, 'those of before still serve');
    t.true(await spend(database, user, codeAt(secrets[2] ?? '', NOW.getTime())));
  });

  test(`${kind}: removing the last factor removes the recovery codes; nobody removes the factor of another user`, async (t) => {
    const database = await openDatabase(t, kind);
    const { SecondFactor, RecoveryCode } = database.models;
    const { user } = await withFactor(database);
    const other = await withFactor(database);
    const own = await SecondFactor.findOne({ where: { user_id: user.id }, rejectOnEmpty: true });
    const remove = async (who: User): Promise<boolean> =>
      (
        await writeTransaction(database, (transaction) =>
          removeSecondFactor(database, who.id, own.id, transaction),
        )
      ).result;
    t.false(await remove(other.user));
    t.true(await remove(user));
    t.false(await remove(user));
    t.is(await RecoveryCode.count({ where: { user_id: user.id } }), 0);
    t.is(await RecoveryCode.count({ where: { user_id: other.user.id } }), 10);
  });

  test(`${kind}: a reset removes all factors, and the audit trail keeps it without a secret`, async (t) => {
    const database = await openDatabase(t, kind);
    const { user, recoveryCodes } = await withFactor(database);
    const { result } = await writeTransaction(database, (transaction) =>
      resetSecondFactors(database, user.id, transaction),
    );
    t.is(result, 1);
    t.false(await hasSecondFactor(database, user.id));
    t.is(await database.models.RecoveryCode.count(), 0);
    const entries = await readAuditEntries(database, { limit: 10 });
    const changes = entries.map(({ kind: what, action }) => `${what} ${action}`);
    for (const one of ['second factor create', 'second factor delete', 'recovery codes update'])
      t.true(changes.includes(one), one);
    const text = JSON.stringify(entries);
    t.false(text.includes(SECRET));
    for (const code of recoveryCodes) t.false(text.includes(code));
  });

  test(`${kind}: recovery codes work even if the secret of an authenticator cannot be decrypted`, async (t) => {
    const database = await openDatabase(t, kind);
    const { user, recoveryCodes } = await withFactor(database);
    await database.sequelize.query("UPDATE second_factors SET secret = '1:00000000:AAAA'");
    t.false(await spend(database, user, codeAt(SECRET, NOW.getTime())));
    t.true(await spend(database, user, recoveryCodes[0] ?? ''));
  });
}
