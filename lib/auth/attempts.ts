// How often one may try to sign in: five failures within 15 minutes for an account, 50 for an
// address, behind which there may be an office or a proxy; then it gets no further for 15 minutes.
// An attempt is counted before it is judged and given back when it was good, so that many at once
// are not more than the bound. The counts are rows, so all gateways agree; names that nobody has
// are counted like those that somebody has.

import { createHash } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import {
  actAs,
  type AttemptKind,
  type Database,
  emailKey,
  noteAction,
  Op,
  type Transaction,
  UniqueConstraintError,
  writeTransaction,
} from '../../models/index.ts';
import { addressScope } from '../http/client-address.ts';
import { originOf } from '../records/audit.ts';
import type { Shared } from '../process/shared.ts';

/** Failures of an account, or with the codes of a user, after which it is enough. */
export const ATTEMPTS_MAX = 5;
/** The same for an address, which may stand for many people. */
export const ATTEMPTS_FROM_ADDRESS_MAX = 50;
/** Within which they count, and for which it then is enough. */
export const ATTEMPTS_MS = 15 * 60_000;

/** By what one attempt is counted: an account's `emailKey`, an address, the codes of a user. */
export interface Counted {
  readonly kind: AttemptKind;
  readonly subject: string;
}

/** How an account is counted, whether or not somebody has it. */
export function accountOf(email: string): Counted {
  return { kind: 'account', subject: emailKey(email) };
}

/** What an attempt is counted by, where the address is known as `request.app.address`. */
export function fromAddress(address: string | undefined): Counted {
  return { kind: 'address', subject: addressScope(address ?? '') };
}

/** What became of an attempt: it may go on, or it was one too many of this kind. */
export interface Taken {
  readonly refusedBy: AttemptKind | null;
  /** When a refused one may be tried again. */
  readonly waitsUntil: Date | null;
  /** What has to wait from now on, unless this attempt is good. */
  readonly locks: readonly AttemptKind[];
}

/** Counts an attempt; where any count is full already, none moves and the attempt is refused. */
export async function takeAttempt(
  database: Database,
  counted: readonly Counted[],
  now: Date = new Date(),
): Promise<Taken> {
  // Whoever counts the same first at the same instant makes the other's insert fail, once.
  for (let run = 1; ; run += 1) {
    try {
      const { result } = await writeTransaction(database, (transaction) =>
        take(database, counted, now, transaction),
      );
      return result;
    } catch (error) {
      if (!(error instanceof UniqueConstraintError) || run > ATTEMPTS_MAX) throw error;
    }
  }
}

/**
 * Gives a good attempt back. An account begins anew; an address only loses this one attempt, or
 * whoever has an account of their own could try others for ever.
 */
export async function forgiveAttempt(
  database: Database,
  counted: readonly Counted[],
  transaction: Transaction,
): Promise<void> {
  const { SignInAttempt } = database.models;
  for (const one of ordered(counted)) {
    const row = await SignInAttempt.findByPk(hashOf(one), { transaction, lock: true });
    if (row === null) continue;
    if (one.kind === 'address' && row.count > 1)
      await row.update({ count: row.count - 1 }, { transaction });
    else await row.destroy({ transaction });
  }
}

/** Tells the audit trail and the log that somebody has to wait; called where an attempt failed. */
export async function noteLocks(
  { database, log }: Pick<Shared, 'database' | 'log'>,
  request: Request,
  { locks }: Taken,
  userId: string | null,
): Promise<void> {
  if (locks.length === 0) return;
  await writeTransaction(database, async (transaction) => {
    actAs(transaction, originOf(request));
    for (const kind of locks) {
      const changes = { by: { to: kind }, minutes: { to: ATTEMPTS_MS / 60_000 } };
      const recordId = userId ?? 'unknown';
      noteAction(transaction, { action: 'lock', kind: 'user', recordId, changes });
    }
  });
  const fields = { request_id: request.app.id, by: locks.join(' '), user_id: userId };
  log.warn(fields, 'too many sign-ins failed: a wait of 15 minutes began');
}

/** Lets an account try again at once, and with it every address. */
export async function forgetAttempts(
  database: Database,
  counted: readonly Counted[],
  userId: string,
  transaction: Transaction,
): Promise<void> {
  const { SignInAttempt } = database.models;
  const where = { sha256: counted.map(hashOf) };
  const isLocked = { ...where, count: ATTEMPTS_MAX, expires_at: { [Op.gt]: new Date() } };
  if ((await SignInAttempt.count({ where: isLocked, transaction })) > 0) {
    noteAction(transaction, { action: 'unlock', kind: 'user', recordId: userId });
    transaction.afterCommit(() => {
      database.log?.info({ user_id: userId }, 'the wait after failed sign-ins was lifted');
    });
  }
  await SignInAttempt.destroy({ where, transaction });
  await SignInAttempt.destroy({ where: { kind: 'address' }, transaction });
}

/** By what the attempts of a user are counted: those with the password, and those with codes. */
export function countedOf({ id, email }: { id: string; email: string }): Counted[] {
  return [accountOf(email), { kind: 'code', subject: id }];
}

/** Until when users have to wait, by their ids; nobody else is in it. */
export async function readWaits(
  { models }: Database,
  users: readonly { id: string; email: string }[],
  now: Date = new Date(),
): Promise<ReadonlyMap<string, Date>> {
  const owners = new Map(
    users.flatMap((user) => countedOf(user).map((one) => [hashOf(one), user.id])),
  );
  const rows = await models.SignInAttempt.findAll({
    where: { sha256: [...owners.keys()], count: ATTEMPTS_MAX, expires_at: { [Op.gt]: now } },
    order: [['expires_at', 'ASC']],
  });
  return new Map(rows.map(({ sha256, expires_at }) => [owners.get(sha256) ?? '', expires_at]));
}

async function take(
  database: Database,
  counted: readonly Counted[],
  now: Date,
  transaction: Transaction,
): Promise<Taken> {
  const { SignInAttempt } = database.models;
  const found = [];
  const full: { kind: AttemptKind; until: Date }[] = [];
  for (const one of ordered(counted)) {
    const row = await SignInAttempt.findByPk(hashOf(one), { transaction, lock: true });
    const isRunning = row !== null && row.expires_at > now;
    if (isRunning && row.count >= maxOf(one)) full.push({ kind: one.kind, until: row.expires_at });
    found.push({ one, row, count: isRunning ? row.count + 1 : 1 });
  }
  // The account comes first: it says more of why somebody has to wait.
  const [refused] = full.toSorted((a) => (a.kind === 'address' ? 1 : -1));
  if (refused !== undefined) {
    const waitsUntil = new Date(Math.max(...full.map(({ until }) => until.getTime())));
    return { refusedBy: refused.kind, waitsUntil, locks: [] };
  }
  const later = new Date(now.getTime() + ATTEMPTS_MS);
  for (const { one, row, count } of found) {
    // The last of them begins the wait.
    const expires_at = count === 1 || count === maxOf(one) ? later : (row?.expires_at ?? later);
    if (row !== null) await row.update({ count, expires_at }, { transaction });
    else
      await SignInAttempt.create(
        { sha256: hashOf(one), kind: one.kind, count, expires_at },
        { transaction },
      );
  }
  const locks = found.filter(({ one, count }) => count === maxOf(one)).map(({ one }) => one.kind);
  return { refusedBy: null, waitsUntil: null, locks };
}

function maxOf({ kind }: Counted): number {
  return kind === 'address' ? ATTEMPTS_FROM_ADDRESS_MAX : ATTEMPTS_MAX;
}

/** Everybody locks in one order. */
function ordered(counted: readonly Counted[]): Counted[] {
  return counted.toSorted((a, b) => (hashOf(a) < hashOf(b) ? -1 : 1));
}

function hashOf({ kind, subject }: Counted): string {
  return createHash('sha256').update(`${kind}\0${subject}`).digest('hex');
}
