// How often somebody may try to sign in: five failures within 15 minutes for an account, 50 for an
// address, because an office or a proxy may be behind it. After that they must wait 15 minutes. An
// attempt is counted before it is checked and taken back if it was good, so that many attempts at
// the same moment cannot exceed the limit. The counts are rows, so all gateways share them. Whoever
// guesses codes knows the password already, so there each wait is twice as long as the one before.

import { createHash } from 'node:crypto';
import {
  actAs,
  type AttemptKind,
  type Database,
  emailKey,
  isToCome,
  noteAction,
  notOver,
  readAttemptCounts,
  type Transaction,
  UniqueConstraintError,
  writeTransaction,
} from '../../models/index.ts';
import { TunnelAddresses, type TunnelSettings } from '../kit/http/tunnel-addresses.ts';
import type { Caller } from '../kit/process/caller.ts';
import type { Shared } from '../kit/process/shared.ts';

/** Failures of an account, or with the codes of a user, after which there is a wait. */
export const ATTEMPTS_MAX = 5;
/** Failures from an address, which many people may share, after which there is a wait. */
export const ATTEMPTS_FROM_ADDRESS_MAX = 50;
/** The time within which failures are counted, and how long the wait is. */
export const ATTEMPTS_MS = 15 * 60_000;

/** The longest wait after wrong codes. */
export const CODE_WAIT_MAX_MS = 24 * 60 * 60_000;
/** Waits in a row after wrong codes, of which the last is the longest; from then on all are. */
const CODE_WAITS = 1 + Math.ceil(Math.log2(CODE_WAIT_MAX_MS / ATTEMPTS_MS));
/** Counts at which somebody waits. Only codes go on counting over a wait, up to the last one. */
const FULL_COUNTS = Array.from({ length: CODE_WAITS }, (_, i) => ATTEMPTS_MAX * (i + 1));

/** The longest time for which a count may last. */
const WAITS_MAX = { codeMs: CODE_WAIT_MAX_MS, otherMs: ATTEMPTS_MS };

/** For what an attempt is counted: an account (`emailKey`), an address, the codes of a user. */
export interface Counted {
  readonly kind: AttemptKind;
  readonly subject: string;
}

/** The count of an account, which need not exist. */
export function accountOf(email: string): Counted {
  return { kind: 'account', subject: emailKey(email) };
}

/** The count of an address, as the origin of a caller has it. */
export function fromAddress(config: TunnelSettings, address: string | undefined): Counted {
  return { kind: 'address', subject: new TunnelAddresses(config).scopeOf(address ?? '') };
}

/** Whether an attempt may continue, or which count refused it. */
export interface Taken {
  readonly refusedBy: AttemptKind | null;
  /** When a refused attempt may be repeated. */
  readonly waitsUntil: Date | null;
  /** The counts that begin a wait, unless this attempt is good. */
  readonly locks: readonly Lock[];
}

/** A wait that begins. */
interface Lock {
  readonly by: AttemptKind;
  readonly minutes: number;
}

/** Counts an attempt. If one of the counts is full, none is changed and the attempt is refused. */
export async function takeAttempt(
  database: Database,
  counted: readonly Counted[],
  now: Date = new Date(),
): Promise<Taken> {
  // If two attempts make the same row at the same moment, one insert fails and is repeated.
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
 * Takes a good attempt back. The count of an account begins again. The count of an address only
 * loses this attempt: else a person with an account of their own could guess the passwords of
 * others without end.
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

/** Writes to the audit trail and the log that a wait began; called after an attempt failed. */
export async function noteLocks(
  { database, log }: Pick<Shared, 'database' | 'log'>,
  { origin }: Caller,
  { locks }: Taken,
  userId: string | null,
): Promise<void> {
  if (locks.length === 0) return;
  await writeTransaction(database, async (transaction) => {
    actAs(transaction, origin);
    for (const { by, minutes } of locks) {
      const changes = { by: { to: by }, minutes: { to: minutes } };
      const recordId = userId ?? 'unknown';
      noteAction(transaction, { action: 'lock', kind: 'user', recordId, changes });
    }
  });
  const by = locks.map((lock) => lock.by).join(' ');
  const minutes = Math.max(...locks.map((lock) => lock.minutes));
  const fields = { request_id: origin.requestId, by, minutes, user_id: userId };
  log.warn(fields, `too many sign-ins failed: a wait of ${minutes} minutes began`);
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
  const isLocked = { ...where, count: FULL_COUNTS, ...notOver(WAITS_MAX, new Date()) };
  if ((await SignInAttempt.count({ where: isLocked, transaction })) > 0) {
    noteAction(transaction, { action: 'unlock', kind: 'user', recordId: userId });
    transaction.afterCommit(() => {
      database.log?.info({ user_id: userId }, 'the wait after failed sign-ins was lifted');
    });
  }
  await SignInAttempt.destroy({ where, transaction });
  await SignInAttempt.destroy({ where: { kind: 'address' }, transaction });
}

/** The counts of a user: attempts with the password, and attempts with codes. */
export function countedOf({ id, email }: { id: string; email: string }): Counted[] {
  return [accountOf(email), { kind: 'code', subject: id }];
}

/** Until when users must wait, by their ids; without users who need not wait. */
export async function readWaits(
  database: Database,
  users: readonly { id: string; email: string }[],
  now: Date = new Date(),
): Promise<ReadonlyMap<string, Date>> {
  const owners = new Map(
    users.flatMap((user) => countedOf(user).map((one) => [hashOf(one), user.id])),
  );
  const counts = await readAttemptCounts(database, [...owners.keys()]);
  const waits = counts.filter(({ kind, count, expires_at: end }) => {
    const longestMs = kind === 'code' ? WAITS_MAX.codeMs : WAITS_MAX.otherMs;
    return FULL_COUNTS.includes(count) && isToCome(end, longestMs, now);
  });
  // The latest one of a user is in the place of the others.
  const inOrder = waits.toSorted((a, b) => Number(a.expires_at) - Number(b.expires_at));
  return new Map(inOrder.map(({ sha256, expires_at }) => [owners.get(sha256) ?? '', expires_at]));
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
    const isRunning = row !== null && isToCome(row.expires_at, lastsMs(one, row.count), now);
    if (isRunning && isFull(one, row.count)) full.push({ kind: one.kind, until: row.expires_at });
    found.push({
      one,
      row,
      isRunning,
      count: 1 + (isRunning ? row.count : keptOf(one, row?.count ?? 0)),
    });
  }
  // The account comes first, because it says better why somebody must wait.
  const [refused] = full.toSorted((a) => (a.kind === 'address' ? 1 : -1));
  if (refused !== undefined) {
    const waitsUntil = new Date(Math.max(...full.map(({ until }) => until.getTime())));
    return { refusedBy: refused.kind, waitsUntil, locks: [] };
  }
  const locks: Lock[] = [];
  for (const { one, row, isRunning, count } of found) {
    const begins = isFull(one, count);
    const ms = lastsMs(one, count);
    if (begins) locks.push({ by: one.kind, minutes: ms / 60_000 });
    // The time is that of the first of them; the last of them begins the wait.
    const expires_at =
      row === null || !isRunning || begins ? new Date(now.getTime() + ms) : row.expires_at;
    if (row !== null) await row.update({ count, expires_at }, { transaction });
    else
      await SignInAttempt.create(
        { sha256: hashOf(one), kind: one.kind, count, expires_at },
        { transaction },
      );
  }
  return { refusedBy: null, waitsUntil: null, locks };
}

/** Whether a count is one at which somebody waits. */
function isFull({ kind }: Counted, count: number): boolean {
  if (kind === 'code') return count % ATTEMPTS_MAX === 0;
  return count >= (kind === 'address' ? ATTEMPTS_FROM_ADDRESS_MAX : ATTEMPTS_MAX);
}

/** What stays of a count whose time is over: of codes the waits in a row, which a good one ends. */
function keptOf({ kind }: Counted, count: number): number {
  const waits = kind === 'code' ? Math.floor(count / ATTEMPTS_MAX) : 0;
  return ATTEMPTS_MAX * Math.min(waits, CODE_WAITS - 1);
}

/** How long a count lasts: the time within which failures are counted, or the wait that is full. */
function lastsMs(one: Counted, count: number): number {
  const waits = one.kind === 'code' && isFull(one, count) ? count / ATTEMPTS_MAX : 1;
  return Math.min(ATTEMPTS_MS * 2 ** (waits - 1), CODE_WAIT_MAX_MS);
}

/** The order in which all transactions lock, so that none waits for another in a circle. */
function ordered(counted: readonly Counted[]): Counted[] {
  return counted.toSorted((a, b) => (hashOf(a) < hashOf(b) ? -1 : 1));
}

function hashOf({ kind, subject }: Counted): string {
  return createHash('sha256').update(`${kind}\0${subject}`).digest('hex');
}
