// Links people again after their provider changed how it names them. An administrator frees a link;
// within the time that is given, the next account of the same entry with the user's e-mail replaces
// the linked account. The decision is lib/auth/decisions/2026-11-23-relinking.md.

import type { Transaction } from 'sequelize';
import type { Identity, ProviderAccount } from '../tables/identity.ts';
import type { Database } from '../database/database.ts';
import { isToCome, toCome } from '../storage/stored-time.ts';

/** How long a link stays free. */
export const RELINK_DAYS = 7;
const RELINK_MS = RELINK_DAYS * 86_400_000;
/** Links that are freed by one statement. */
const TOGETHER_MAX = 1_000;

/** Whose links are meant: those of one entry, of one user or of everybody. */
export interface LinksWanted extends Pick<ProviderAccount, 'kind' | 'provider_id'> {
  readonly userId: string | null;
}

/** The links that may be freed. */
export interface Links {
  readonly identityIds: readonly string[];
  /** People whose links these are. */
  readonly users: number;
  /** Administrators who are linked too; an e-mail alone must never make anybody one of them. */
  readonly administrators: number;
}

/** Reads the links that may be freed. */
export async function readLinks(
  { models }: Database,
  { kind, provider_id, userId }: LinksWanted,
  transaction: Transaction,
): Promise<Links> {
  const where = { kind, provider_id, ...(userId === null ? {} : { user_id: userId }) };
  const links = await models.Identity.findAll({
    attributes: ['id', 'user_id'],
    where,
    transaction,
  });
  const isAdmin = { role: 'admin' };
  const admins = await models.User.findAll({ attributes: ['id'], where: isAdmin, transaction });
  const adminIds = new Set(admins.map(({ id }) => id));
  const userIds = new Set(links.map(({ user_id }) => user_id));
  const administrators = [...userIds].filter((id) => adminIds.has(id)).length;
  return {
    identityIds: links.filter(({ user_id }) => !adminIds.has(user_id)).map(({ id }) => id),
    users: userIds.size - administrators,
    administrators,
  };
}

/** Frees links from now on; returns until when. */
export async function freeLinks(
  { models }: Database,
  { identityIds }: Links,
  now: Date,
  transaction: Transaction,
): Promise<Date> {
  const until = new Date(now.getTime() + RELINK_MS);
  for (let at = 0; at < identityIds.length; at += TOGETHER_MAX) {
    const where = { id: identityIds.slice(at, at + TOGETHER_MAX) };
    await models.Identity.update({ relink_until: until }, { where, transaction });
  }
  return until;
}

/** Until when a link is free; null where it is not. */
export function freeUntil(
  { relink_until: until }: Pick<Identity, 'relink_until'>,
  now: Date,
): Date | null {
  return until !== null && isToCome(until, RELINK_MS, now) ? until : null;
}

/** The links of a user through an entry that are free now. */
export function findFreeLinks(
  { models }: Database,
  { kind, provider_id, userId }: LinksWanted & { userId: string },
  now: Date,
  transaction: Transaction,
): Promise<Identity[]> {
  const where = { user_id: userId, kind, provider_id, relink_until: toCome(RELINK_MS, now) };
  return models.Identity.findAll({ where, transaction, lock: true });
}

/** Removes links that another account replaces, with the tokens of the old account. */
export async function removeLinks(
  { models }: Database,
  links: readonly Identity[],
  transaction: Transaction,
): Promise<void> {
  const ids = links.map(({ id }) => id);
  if (ids.length === 0) return;
  await models.IdentityTokens.destroy({ where: { identity_id: ids }, transaction });
  await models.Identity.destroy({ where: { id: ids }, transaction });
}
