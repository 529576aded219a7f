// Makes, finds, takes and forgets one-time links: each can be taken once, and only in time.

import { Op, type Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import { rerunOnConflict } from '../storage/rerun.ts';
import { countsFrom, latestStored } from '../storage/stored-time.ts';
import type { LinkPurpose, OneTimeLink } from '../tables/one-time-link.ts';

/** A link as it is made. */
export type NewLink = Pick<
  OneTimeLink,
  'user_id' | 'purpose' | 'sha256' | 'created_by' | 'expires_at'
> &
  Partial<Pick<OneTimeLink, 'mail_fault'>>;

/** How long a link is remembered that is over. */
const KEPT_MS = 30 * 86_400_000;

/** Makes a link in place of the one of its purpose; the caller has locked the user. */
export async function putLink(
  { models: { OneTimeLink: links } }: Database,
  link: NewLink,
  now: Date,
  transaction: Transaction,
): Promise<OneTimeLink> {
  const { user_id, purpose } = link;
  await links.destroy({ where: { user_id, purpose }, transaction });
  return links.create({ ...link, inserted_at: now }, { transaction });
}

/** The link of a user for a purpose, whatever its state. */
export function findLinkOf(
  { models: { OneTimeLink: links } }: Database,
  userId: string,
  purpose: LinkPurpose,
  transaction?: Transaction,
): Promise<OneTimeLink | null> {
  const where = { user_id: userId, purpose };
  return links.findOne({ where, ...(transaction === undefined ? {} : { transaction }) });
}

/** The links of some users for a purpose, by user. */
export async function findLinksOf(
  { models: { OneTimeLink: links } }: Database,
  userIds: readonly string[],
  purpose: LinkPurpose,
): Promise<ReadonlyMap<string, OneTimeLink>> {
  const found = await links.findAll({ where: { user_id: [...userIds], purpose } });
  return new Map(found.map((link) => [link.user_id, link]));
}

/** The link with the hash of a secret, if it can still be taken. */
export function findLiveLink(
  { models: { OneTimeLink: links } }: Database,
  sha256: string,
  now: Date,
): Promise<OneTimeLink | null> {
  return links.findOne({ where: { sha256, ...live(now) } });
}

/** Takes a link; true for the first caller that takes it, and only in time. */
export async function takeLink(
  { models: { OneTimeLink: links } }: Database,
  id: string,
  now: Date,
  transaction: Transaction,
): Promise<boolean> {
  const [count] = await links.update(
    { used_at: now },
    { where: { id, ...live(now) }, transaction },
  );
  return count === 1;
}

/** Revokes the link of a user for a purpose; false where none is left to be taken. */
export async function revokeLink(
  { models: { OneTimeLink: links } }: Database,
  { userId, purpose }: { userId: string; purpose: LinkPurpose },
  now: Date,
  transaction: Transaction,
): Promise<boolean> {
  const where = { user_id: userId, purpose, ...live(now) };
  return (await links.destroy({ where, transaction })) > 0;
}

/** True for a link that can still be taken, as it was read. */
export function isTakable(
  link: Pick<OneTimeLink, 'used_at' | 'inserted_at' | 'expires_at'>,
  now: Date,
): boolean {
  const { used_at: usedAt, inserted_at: madeAt, expires_at: end } = link;
  return usedAt === null && countsFrom(madeAt) <= now.getTime() && now < end;
}

/** True for a link that can still be taken. */
export async function isLive(
  { models: { OneTimeLink: links } }: Database,
  id: string,
  now: Date,
): Promise<boolean> {
  return (await links.count({ where: { id, ...live(now) } })) > 0;
}

/** Notes what became of the mails with some links; of links that are gone, nothing. */
export async function noteMails(
  database: Database,
  ids: readonly string[],
  outcome: Pick<OneTimeLink, 'mailed_at' | 'mail_fault'>,
): Promise<void> {
  const { OneTimeLink: links } = database.models;
  await rerunOnConflict(database, () => links.update(outcome, { where: { id: [...ids] } }));
}

/** Forgets links that have been over for long. */
export async function pruneLinks(database: Database, now: Date): Promise<number> {
  const { OneTimeLink: links } = database.models;
  const before = new Date(now.getTime() - KEPT_MS);
  return rerunOnConflict(database, () =>
    links.destroy({ where: { expires_at: { [Op.lt]: before } } }),
  );
}

function live(now: Date) {
  return {
    used_at: null,
    expires_at: { [Op.gt]: now },
    inserted_at: { [Op.lte]: latestStored(now) },
  };
}
