// Second factors: codes of authenticators by time (RFC 6238, six digits, 30 seconds), and recovery
// codes for who lost theirs. A code serves once: the step of the last one is kept, and earlier ones
// are refused, as is a recovery code that was used.

import { createHash } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import {
  CiphertextError,
  type Database,
  EncryptionKeyError,
  noteAction,
  type SecondFactor,
  type Transaction,
} from '../../models/index.ts';

/** Authenticators of one user. */
export const FACTORS_MAX = 5;
/** Longest name of one. */
export const FACTOR_NAME_CHARACTERS_MAX = 100;
const RECOVERY_CODES = 10;
const RECOVERY_CODE_BYTES = 10;
const SECRET_BYTES = 20;
const STEP_MS = 30_000;
/** Steps before and after that are taken: clocks of telephones differ. */
const STEPS_ASIDE = 1;
/** How long a page on which an authenticator is set up serves. */
const ENROLMENT_MS = 15 * 60_000;
const ISSUER = 'Postern';

/** An authenticator that is being set up. */
export interface Enrolment {
  /** Base32. */
  readonly secret: string;
  /** What the form carries: the secret, sealed for this session. */
  readonly sealed: string;
  /** For authenticators: `otpauth://…`. */
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

/** Begins to set up an authenticator: a new secret, of which the server keeps nothing yet. */
export function beginEnrolment(
  database: Database,
  { sessionId, email, now = new Date() }: { sessionId: string; email: string; now?: Date },
): Enrolment {
  const secret = new Secret({ size: SECRET_BYTES }).base32;
  const text = JSON.stringify({ secret, until: now.getTime() + ENROLMENT_MS });
  const sealed = database.keyring.seal(text, enrolmentOf(sessionId));
  return { secret, sealed, address: addressOf(secret, email) };
}

/** The enrolment that a form carries; null where it is another session's, or too old. */
export function openEnrolment(
  database: Database,
  sealed: string,
  { sessionId, email, now = new Date() }: { sessionId: string; email: string; now?: Date },
): Enrolment | null {
  try {
    const text = database.keyring.open(sealed, enrolmentOf(sessionId));
    const { secret, until } = JSON.parse(text) as { secret: string; until: number };
    return now.getTime() < until ? { secret, sealed, address: addressOf(secret, email) } : null;
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
}

/** The step of a code of this secret, if it is later than `lastStep`; null otherwise. */
export function stepOf(
  secret: string,
  code: string,
  lastStep: number,
  now: Date = new Date(),
): number | null {
  const token = code.replaceAll(/\s/g, '');
  if (!/^[0-9]{6}$/.test(token)) return null;
  const timestamp = now.getTime();
  const delta = totpOf(secret, '').validate({ token, timestamp, window: STEPS_ASIDE });
  if (delta === null) return null;
  const step = Math.floor(timestamp / STEP_MS) + delta;
  return step > lastStep ? step : null;
}

/**
 * Keeps an authenticator whose code was shown. Returns new recovery codes where the user had none;
 * they are shown once. Null where there are too many already. Locks nothing: the caller holds the
 * user's row.
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
  noteAction(transaction, { action: 'create', kind: 'second factor', recordId: id, changes });
  if ((await RecoveryCode.count({ where, transaction })) > 0) return { recoveryCodes: [] };
  return { recoveryCodes: await renewRecoveryCodes(database, userId, transaction) };
}

/** Makes new recovery codes; those of before serve no more. */
export async function renewRecoveryCodes(
  database: Database,
  userId: string,
  transaction: Transaction,
): Promise<readonly string[]> {
  const { RecoveryCode } = database.models;
  await RecoveryCode.destroy({ where: { user_id: userId }, transaction });
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  const rows = codes.map((code) => ({ user_id: userId, sha256: hashOf(userId, code) }));
  await RecoveryCode.bulkCreate(rows, { transaction });
  noteAction(transaction, { action: 'update', kind: 'recovery codes', recordId: userId });
  return codes;
}

/** Whether this is a good code of the user, which serves no more from here on. */
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
    const step = secret === null ? null : stepOf(secret, code, factor.last_step, now);
    if (step === null) continue;
    await factor.update({ last_step: step, last_used_at: now }, { transaction });
    return true;
  }
  const spent = { user_id: userId, sha256: hashOf(userId, code) };
  if ((await RecoveryCode.destroy({ where: spent, transaction })) === 0) return false;
  noteAction(transaction, { action: 'delete', kind: 'recovery code', recordId: userId });
  return true;
}

/** Removes one authenticator; with the last one go the recovery codes. False: there is none. */
export async function removeSecondFactor(
  database: Database,
  userId: string,
  id: string,
  transaction: Transaction,
): Promise<boolean> {
  const { SecondFactor: factors, RecoveryCode } = database.models;
  const where = { user_id: userId };
  if ((await factors.destroy({ where: { ...where, id }, transaction })) === 0) return false;
  noteAction(transaction, { action: 'delete', kind: 'second factor', recordId: id });
  if ((await factors.count({ where, transaction })) === 0)
    await RecoveryCode.destroy({ where, transaction });
  return true;
}

/**
 * Takes all second factors from a user who lost them; an administrator's deed, so nobody's code is
 * asked for. Ends the user's sessions. Returns how many authenticators there were.
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

/** Null where the secret does not open, under another key say; recovery codes still serve. */
function secretOf(factor: SecondFactor): string | null {
  try {
    return factor.secret;
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  return error instanceof CiphertextError || error instanceof EncryptionKeyError;
}

function enrolmentOf(sessionId: string) {
  return { table: 'forms', column: 'enrolment', id: sessionId };
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer: ISSUER, label, secret: Secret.fromBase32(secret) });
}

function addressOf(secret: string, email: string): string {
  return totpOf(secret, email).toString();
}

/** Four groups of four, as people copy them. */
function newRecoveryCode(): string {
  const text = new Secret({ size: RECOVERY_CODE_BYTES }).base32.toLowerCase();
  return text.match(/.{4}/g)?.join('-') ?? text;
}

/** 80 random bits need neither salt nor bcrypt; the user's id keeps two equal ones apart. */
function hashOf(userId: string, code: string): string {
  const plain = code.toLowerCase().replaceAll(/[\s-]/g, '');
  return createHash('sha256').update(`${userId}\0${plain}`).digest('hex');
}
