// Second factors: codes of authenticators by time (RFC 6238, six digits, 30 seconds), and recovery
// codes for users who lost theirs. Each code works once: the step of the last code is kept and
// earlier steps are refused; a recovery code is deleted when it is used.

import { createHash } from 'node:crypto';
import type { TOTP } from 'otpauth';
import {
  countsFrom,
  type Database,
  isToCome,
  isUnreadable,
  noteAction,
  type SecondFactor,
  type Transaction,
} from '../../models/index.ts';

/** Loads otpauth at its first use; at most gateways nobody shows a code for days. */
const loadOtpauth = async () => import('otpauth');

/** The most authenticators of one user. */
export const FACTORS_MAX = 5;
/** The longest name of an authenticator. */
export const FACTOR_NAME_CHARACTERS_MAX = 100;
const RECOVERY_CODES = 10;
const RECOVERY_CODE_BYTES = 10;
const SECRET_BYTES = 20;
const STEP_MS = 30_000;
/** How many steps before and after are accepted, because clocks of telephones differ. */
const STEPS_ASIDE = 1;
/** How long a page on which an authenticator is set up can be sent. */
const ENROLMENT_MS = 15 * 60_000;
const ISSUER = 'Postern';

/** An authenticator that is being set up. */
export interface Enrolment {
  /** Base32. */
  readonly secret: string;
  /** A hidden field of the form: the secret, sealed for this session. */
  readonly sealed: string;
  /** What authenticators scan: `otpauth://…`. */
  readonly address: string;
}

/** Whether a user set up a second factor, which sign-in then demands. */
export async function hasSecondFactor(
  database: Database,
  userId: string,
  transaction?: Transaction,
): Promise<boolean> {
  const { SecondFactor: factors } = database.models;
  const options = transaction === undefined ? {} : { transaction };
  return (await factors.count({ where: { user_id: userId }, ...options })) > 0;
}

/** Begins to set up an authenticator: makes a secret, which the server does not keep yet. */
export async function beginEnrolment(
  database: Database,
  { sessionId, email, now = new Date() }: { sessionId: string; email: string; now?: Date },
): Promise<Enrolment> {
  const { Secret } = await loadOtpauth();
  const secret = new Secret({ size: SECRET_BYTES }).base32;
  const text = JSON.stringify({ secret, until: now.getTime() + ENROLMENT_MS });
  const sealed = database.keyring.seal(text, enrolmentOf(sessionId));
  return { secret, sealed, address: await addressOf(secret, email) };
}

/** The enrolment of a form; null if it belongs to another session or is too old. */
export async function openEnrolment(
  database: Database,
  sealed: string,
  { sessionId, email, now = new Date() }: { sessionId: string; email: string; now?: Date },
): Promise<Enrolment | null> {
  try {
    const text = database.keyring.open(sealed, enrolmentOf(sessionId));
    const { secret, until } = JSON.parse(text) as { secret: string; until: number };
    return isToCome(until, ENROLMENT_MS, now)
      ? { secret, sealed, address: await addressOf(secret, email) }
      : null;
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
}

/**
 * The step of a code of this secret, if it is later than `lastStep`; null otherwise. A last step
 * that lies too far ahead was that of a wrong clock.
 */
export async function stepOf(
  secret: string,
  code: string,
  lastStep: number,
  now: Date = new Date(),
): Promise<number | null> {
  const token = code.replaceAll(/\s/g, '');
  if (!/^[0-9]{6}$/.test(token)) return null;
  const timestamp = now.getTime();
  const totp = await totpOf(secret, '');
  const delta = totp.validate({ token, timestamp, window: STEPS_ASIDE });
  if (delta === null) return null;
  const step = Math.floor(timestamp / STEP_MS) + delta;
  const isFarAhead = countsFrom((lastStep - STEPS_ASIDE) * STEP_MS) > timestamp;
  return step > lastStep || isFarAhead ? step : null;
}

/**
 * Keeps an authenticator after its code was checked. Returns new recovery codes if the user had
 * none; they are shown once. Null if the user has FACTORS_MAX already. The caller must have locked
 * the user's row.
 */
export async function addSecondFactor(
  database: Database,
  factor: { userId: string; name: string; secret: string; step: number },
  transaction: Transaction,
): Promise<{ recoveryCodes: readonly string[] } | null> {
  const { SecondFactor: factors, RecoveryCode } = database.models;
  const { userId, name, secret, step } = factor;
  const where = { user_id: userId };
  if ((await factors.count({ where, transaction })) >= FACTORS_MAX) return null;
  const row = { user_id: userId, name, secret, last_step: step, inserted_at: new Date() };
  const { id } = await factors.create(row, { transaction });
  const changes = { user_id: { to: userId }, name: { to: name } };
  const entry = entryOf('create', 'second factor', userId);
  noteAction(transaction, { ...entry, recordId: id, name, changes });
  if ((await RecoveryCode.count({ where, transaction })) > 0) return { recoveryCodes: [] };
  return { recoveryCodes: await renewRecoveryCodes(database, userId, transaction) };
}

/** Makes new recovery codes; the old ones no longer work. */
export async function renewRecoveryCodes(
  database: Database,
  userId: string,
  transaction: Transaction,
): Promise<readonly string[]> {
  const { RecoveryCode } = database.models;
  await RecoveryCode.destroy({ where: { user_id: userId }, transaction });
  const codes = await Promise.all(Array.from({ length: RECOVERY_CODES }, newRecoveryCode));
  const rows = codes.map((code) => ({ user_id: userId, sha256: hashOf(userId, code) }));
  await RecoveryCode.bulkCreate(rows, { transaction });
  noteAction(transaction, entryOf('update', 'recovery codes', userId));
  return codes;
}

/** Whether this is a good code of the user. A good code is spent: it works only once. */
export async function spendCode(
  database: Database,
  userId: string,
  code: string,
  transaction: Transaction,
  now: Date = new Date(),
): Promise<boolean> {
  const { SecondFactor: factors, RecoveryCode } = database.models;
  const where = { user_id: userId };
  for (const factor of await factors.findAll({ where, transaction, lock: true })) {
    const secret = secretOf(factor);
    const step = secret === null ? null : await stepOf(secret, code, factor.last_step, now);
    if (step === null) continue;
    await factor.update({ last_step: step, last_used_at: now }, { transaction });
    return true;
  }
  const spent = { user_id: userId, sha256: hashOf(userId, code) };
  if ((await RecoveryCode.destroy({ where: spent, transaction })) === 0) return false;
  noteAction(transaction, entryOf('delete', 'recovery code', userId));
  return true;
}

/** Removes an authenticator, and with the last one the recovery codes; false if there is none. */
export async function removeSecondFactor(
  database: Database,
  userId: string,
  id: string,
  transaction: Transaction,
): Promise<boolean> {
  const { SecondFactor: factors, RecoveryCode } = database.models;
  const where = { user_id: userId };
  if ((await factors.destroy({ where: { ...where, id }, transaction })) === 0) return false;
  noteAction(transaction, { ...entryOf('delete', 'second factor', userId), recordId: id });
  if ((await factors.count({ where, transaction })) === 0)
    await RecoveryCode.destroy({ where, transaction });
  return true;
}

/**
 * Removes all second factors of a user who lost them, and ends the user's sessions. Only an
 * administrator does this, so no code is asked for. Returns how many authenticators there were.
 */
export async function resetSecondFactors(
  database: Database,
  userId: string,
  transaction: Transaction,
): Promise<number> {
  const { SecondFactor: factors, RecoveryCode, Session } = database.models;
  const where = { user_id: userId };
  const present = await factors.findAll({ attributes: ['id'], where, transaction });
  for (const { id } of present) await removeSecondFactor(database, userId, id, transaction);
  await RecoveryCode.destroy({ where, transaction });
  await Session.destroy({ where, transaction });
  return present.length;
}

/** An entry of the audit trail about what somebody signs in with. */
function entryOf(
  action: 'create' | 'update' | 'delete',
  kind: 'second factor' | 'recovery code' | 'recovery codes',
  userId: string,
) {
  return { action, kind, recordId: userId, owner: { table: 'users', id: userId } } as const;
}

/** The secret; null if it cannot be decrypted. Recovery codes still work then. */
function secretOf(factor: SecondFactor): string | null {
  try {
    return factor.secret;
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
}

function enrolmentOf(sessionId: string) {
  return { table: 'forms', column: 'enrolment', id: sessionId };
}

async function totpOf(secret: string, label: string): Promise<TOTP> {
  const { Secret, TOTP: Totp } = await loadOtpauth();
  return new Totp({ issuer: ISSUER, label, secret: Secret.fromBase32(secret) });
}

async function addressOf(secret: string, email: string): Promise<string> {
  return (await totpOf(secret, email)).toString();
}

/** Four groups of four characters, which people can copy. */
async function newRecoveryCode(): Promise<string> {
  const { Secret } = await loadOtpauth();
  const text = new Secret({ size: RECOVERY_CODE_BYTES }).base32.toLowerCase();
  return text.match(/.{4}/g)?.join('-') ?? text;
}

/** 80 random bits need neither salt nor bcrypt. The user's id makes equal codes differ. */
function hashOf(userId: string, code: string): string {
  const plain = code.toLowerCase().replaceAll(/[\s-]/g, '');
  return createHash('sha256').update(`${userId}\0${plain}`).digest('hex');
}
