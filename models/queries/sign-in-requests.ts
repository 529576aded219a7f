// Begins, finds and takes sign-ins through a provider: each can be taken once, and only in time.

import { createHash } from 'node:crypto';
import { Op } from 'sequelize';
import type { ProviderKind } from '../fields/identity.ts';
import type { Database } from '../database/database.ts';
import { makeSignInRoom } from './sign-in-room.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { countsFrom, latestStored } from '../storage/stored-time.ts';
import type { SignInSecrets, SignInRequest } from '../tables/sign-in-request.ts';

/** From where a sign-in begins, as hashes: an IPv6 /48 or IPv4 /24, and in it a /64 or address. */
export interface SignInSource {
  readonly network: string | null;
  readonly scope: string | null;
}

/** A sign-in as it begins. */
export interface NewSignInRequest {
  /** Travels through the browser; only its hash is kept. */
  state: string;
  kind: ProviderKind;
  providerId: string;
  browserSha256: string;
  userId: string | null;
  source: SignInSource;
  secrets: SignInSecrets;
  now: Date;
  expiresAt: Date;
}

/** Keeps a sign-in that begins. */
export async function beginSignInRequest(
  database: Database,
  request: NewSignInRequest,
): Promise<void> {
  database.refuseLater();
  const { SignInRequest: table } = database.models;
  await rerunOnConflict(database, () =>
    table.create({
      id: stateKey(request.state),
      kind: request.kind,
      provider_id: request.providerId,
      browser_sha256: request.browserSha256,
      user_id: request.userId,
      network_sha256: request.source.network,
      scope_sha256: request.source.scope,
      secrets: request.secrets,
      inserted_at: request.now,
      expires_at: request.expiresAt,
    }),
  );
}

/** Takes a sign-in that is to end: whoever calls first gets it, and only in time. */
export async function takeSignInRequest(
  database: Database,
  state: string,
  now: Date,
): Promise<SignInRequest | null> {
  database.refuseLater();
  const { SignInRequest: table } = database.models;
  const id = stateKey(state);
  const row = await table.findByPk(id);
  if (row === null) return null;
  const count = await rerunOnConflict(database, () => table.destroy({ where: { id } }));
  return count > 0 && isUnderWay(row, now) ? row : null;
}

/** Reads a sign-in under way and leaves it there; null where it is not, or is late. */
export async function findSignInRequest(
  { models: { SignInRequest: table } }: Database,
  state: string,
  now: Date,
): Promise<SignInRequest | null> {
  const row = await table.findByPk(stateKey(state));
  return row !== null && isUnderWay(row, now) ? row : null;
}

/**
 * Forgets sign-ins that came to nothing, and the earliest of too many; returns how many of these.
 */
export async function forgetSignInRequests(
  database: Database,
  now: Date,
  max?: number,
): Promise<number> {
  const { SignInRequest: table } = database.models;
  await rerunOnConflict(database, () =>
    table.destroy({
      where: {
        [Op.or]: [
          { expires_at: { [Op.lte]: now } },
          { inserted_at: { [Op.gt]: latestStored(now) } },
        ],
      },
    }),
  );
  return makeSignInRoom(database, max);
}

function isUnderWay({ inserted_at: begunAt, expires_at: end }: SignInRequest, now: Date): boolean {
  return countsFrom(begunAt) <= now.getTime() && now < end;
}

function stateKey(state: string): string {
  return createHash('sha256').update(state).digest('hex');
}
