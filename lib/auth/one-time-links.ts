// One-time links: an address by which a person gets in once, to add a device or to choose another
// password. The secret in it is 32 random bytes and is shown once; the database is searched for its
// hash, so the time of a search reveals nothing. docs/api.md#enrolment.

import {
  findLiveLink,
  type Database,
  isTakable,
  type LinkPurpose,
  noteAction,
  type OneTimeLink,
  pruneLinks,
  putLink,
  takeLink,
  type Transaction,
  type User,
} from '../../models/index.ts';
import { PageError } from '../kit/http/page-error.ts';
import type { ForgettingTime } from '../kit/process/forgetting.ts';
import type { Chore } from '../kit/process/hourly.ts';
import { maySignIn } from '../kit/records/session-life.ts';
import { hashSecret, isSecret, newSecret } from './browser-cookies.ts';
import { LOCAL_METHOD } from './local.ts';

/** For how many hours a link is good. */
export const LINK_HOURS = { min: 1, max: 14 * 24, default: 72 } as const;
const HOUR_MS = 3_600_000;
/** Where links lead; the secret follows. */
export const LINK_PATH = '/one_time_links';
/** The parameter that carries a link through a sign-in at a provider. */
export const LINK_FIELD = 'one_time_link';

/** What is noted of a mail until the mail server took it; docs/api.md#enrolment. */
export const MAIL_WAITS =
  'The mail was not sent yet. If this stays so, the gateway or the command ended too early: make another link.';

/** What a link is to be. */
export interface LinkWish {
  readonly purpose: LinkPurpose;
  readonly hours: number;
  /** The administrator who makes it; null: a command, or the person at the sign-in page. */
  readonly createdBy: string | null;
  /** True where a mail with it follows. */
  readonly isMailed?: boolean;
}

/** A link that was just made; the secret is not kept anywhere. */
export interface MadeLink {
  readonly secret: string;
  readonly link: OneTimeLink;
}

/**
 * Why a link is refused after it was found: somebody used it in the meantime, or it was revoked.
 */
export class LinkRefusal extends PageError {
  override name = 'LinkRefusal';

  constructor() {
    super('not_found', {
      title: 'This link is no longer good',
      text: 'It was used, replaced or revoked, or its time is over. Ask your administrator for another one; each link works once.',
    });
  }
}

/** Makes a link in place of the one of its purpose; the user must be locked. */
export async function makeLink(
  database: Database,
  user: Pick<User, 'id'>,
  { purpose, hours, createdBy, isMailed = false }: LinkWish,
  transaction: Transaction,
): Promise<MadeLink> {
  const now = new Date();
  const secret = newSecret();
  const values = {
    user_id: user.id,
    purpose,
    sha256: hashSecret(secret),
    created_by: createdBy,
    expires_at: new Date(now.getTime() + hours * HOUR_MS),
    ...(isMailed ? { mail_fault: MAIL_WAITS } : {}),
  };
  const link = await putLink(database, values, now, transaction);
  const changes = { purpose: { to: purpose }, expires_at: { to: link.expires_at.toISOString() } };
  noteAction(transaction, { action: 'make link', kind: 'user', recordId: user.id, changes });
  return { secret, link };
}

/** The address of a link; it is that of the settings, whatever a request calls this host. */
export function linkAddress(externalUrl: string, secret: string): string {
  return `${externalUrl.replace(/\/$/, '')}${LINK_PATH}/${secret}`;
}

/** The link of a secret and its user, if it can still be taken; else throws LinkRefusal. */
export async function openLink(
  database: Database,
  secret: string,
): Promise<{ link: OneTimeLink; user: User }> {
  const link = isSecret(secret)
    ? await findLiveLink(database, hashSecret(secret), new Date())
    : null;
  const user = link === null ? null : await database.models.User.findByPk(link.user_id);
  // A disabled user gets no further, whoever disabled them.
  if (link === null || user === null || !maySignIn(user, LOCAL_METHOD)) throw new LinkRefusal();
  return { link, user };
}

/** The link with an id, if it can still be taken; else throws LinkRefusal. */
export async function findOpenLink({ models }: Database, id: string): Promise<OneTimeLink> {
  const link = await models.OneTimeLink.findByPk(id);
  if (link === null || !isTakable(link, new Date())) throw new LinkRefusal();
  return link;
}

/** Takes a link in the transaction of what it is used for; throws LinkRefusal if it is too late. */
export async function useLink(
  database: Database,
  { id, purpose, user_id: recordId }: Pick<OneTimeLink, 'id' | 'purpose' | 'user_id'>,
  transaction: Transaction,
): Promise<void> {
  if (!(await takeLink(database, id, new Date(), transaction))) throw new LinkRefusal();
  const changes = { purpose: { to: purpose } };
  noteAction(transaction, { action: 'use link', kind: 'user', recordId, changes });
}

/** Forgets links that have been over for long. */
export function forgetLinks(database: Database, time: ForgettingTime): Chore {
  return {
    failure: 'old one-time links were not forgotten',
    async run() {
      await pruneLinks(database, await time());
    },
  };
}
