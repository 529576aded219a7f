// From an account at a provider to a user. An account that is bound to a user is that user,
// whatever e-mail it has by now. Any other is matched by e-mail, once, and bound; where much could
// be taken over by whoever may write an e-mail claim (an administrator, a user with a password or
// with another identity) the provider must vouch for the address, or an administrator for the
// provider. A link that an administrator freed is taken over by the next account of the same entry
// with the user's e-mail. docs/api.md#trusted-providers.

import {
  actAs,
  type Database,
  emailKey,
  findFreeLinks,
  identityKey,
  type Identity,
  isTrusted,
  keepTokens,
  lockScopes,
  type Origin,
  type ProviderAccount,
  type ProviderTokens,
  removeLinks,
  type Transaction,
  UniqueConstraintError,
  type User,
  writeTransaction,
} from '../../../models/index.ts';
import { EMAIL_CHARACTERS_MAX, isEmail } from '../email.ts';
import { ProviderRefusal, type RefusalReason } from './refusal.ts';

/** What a provider proved. */
export interface ProvenAccount extends ProviderAccount {
  /** As the provider says it; null where it says none. */
  readonly email: string | null;
  /** Null: the provider does not say. */
  readonly isEmailVerified: boolean | null;
  /** False for a subject that is another one the next time; it is matched by e-mail each time. */
  readonly isBindable: boolean;
}

/** How the provider's entry stands. */
export interface ProvisionRules {
  readonly autoCreateUsers: boolean;
  /** Who the entry leads to, as it is marked as trusted. */
  readonly authority: string;
}

/** What goes with a sign-in. */
export interface ProvisionContext {
  readonly origin: Origin;
  readonly now: Date;
  /** Kept for the identity; only OpenID has any. */
  readonly tokens?: { readonly kept: ProviderTokens; readonly refreshAt: Date };
}

/** Finds, binds or makes the user of a proven account; throws ProviderRefusal where none is. */
export async function provisionUser(
  database: Database,
  account: ProvenAccount,
  rules: ProvisionRules,
  context: ProvisionContext,
): Promise<{ userId: string }> {
  // Two first sign-ins of one account meet: the second finds what the first one made.
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { result } = await writeTransaction(database, (transaction) =>
        provision(database, account, rules, context, transaction),
      );
      return { userId: result };
    } catch (error) {
      if (!(error instanceof UniqueConstraintError) || attempt === 3) throw error;
    }
  }
}

async function provision(
  database: Database,
  account: ProvenAccount,
  rules: ProvisionRules,
  context: ProvisionContext,
  transaction: Transaction,
): Promise<string> {
  actAs(transaction, context.origin);
  await lockScopes(database, transaction, { configuration: true });
  const bound = account.isBindable ? await findIdentity(database, account, transaction) : null;
  const userId =
    bound?.user_id ?? (await userByEmail(database, account, rules, context.now, transaction));
  const identity =
    bound ?? (account.isBindable ? await bind(database, account, userId, transaction) : null);
  const { tokens, now } = context;
  if (identity !== null && tokens !== undefined) {
    const { kept, refreshAt } = tokens;
    await keepTokens(database, identity.id, { tokens: kept, refreshAt, now }, transaction);
  }
  return userId;
}

function findIdentity(
  { models: { Identity: identities } }: Database,
  account: ProvenAccount,
  transaction: Transaction,
): Promise<Identity | null> {
  const where = { account_key: identityKey(account) };
  return identities.findOne({ where, transaction, lock: true });
}

function bind(
  { models: { Identity: identities } }: Database,
  account: ProvenAccount,
  userId: string,
  transaction: Transaction,
): Promise<Identity> {
  const { kind, provider_id, issuer, subject } = account;
  return identities.create(
    { user_id: userId, kind, provider_id, issuer, subject, account_key: identityKey(account) },
    { transaction },
  );
}

async function userByEmail(
  database: Database,
  account: ProvenAccount,
  rules: ProvisionRules,
  now: Date,
  transaction: Transaction,
): Promise<string> {
  const { User: users } = database.models;
  const email = readEmail(account.email);
  if (email === null) throw new ProviderRefusal('email_missing');
  // A bound account never comes here: a provider's doubt must not shut out who is known.
  if (
    account.isEmailVerified === false &&
    !(await isEntryTrusted(database, account, rules, transaction))
  )
    throw new ProviderRefusal('email_unverified');
  const where = { email_key: emailKey(email) };
  const user = await users.findOne({ where, transaction, lock: true });
  if (user !== null) {
    const entry = { kind: account.kind, provider_id: account.provider_id, userId: user.id };
    const free = await findFreeLinks(database, entry, now, transaction);
    // The administrator may have got the role since: an e-mail must never make anybody one.
    const isFree = free.length > 0 && user.role !== 'admin';
    if (!isFree) await judgeLink(database, account, rules, user, transaction);
    await removeLinks(database, free, transaction);
    return user.id;
  }
  if (!rules.autoCreateUsers) throw new ProviderRefusal('user_unknown');
  return (await users.create({ email, role: 'unprivileged' }, { transaction })).id;
}

/** Judges whether an e-mail is enough to become a user who is there. */
async function judgeLink(
  database: Database,
  account: ProvenAccount,
  rules: ProvisionRules,
  user: User,
  transaction: Transaction,
): Promise<void> {
  if (account.isEmailVerified === true) return;
  const identities = await database.models.Identity.count({
    where: { user_id: user.id },
    transaction,
  });
  const { provider_id } = account;
  // One whose names change leaves no identity, and is another way to be this user all the same.
  const { last_signed_in_method: method } = user;
  // The method says no kind; only SAML has such names, so an OpenID entry of that id is another.
  const isHere = account.kind === 'saml' && method === provider_id;
  const isElsewhere = method !== null && !isHere;
  const isWorthTaking =
    user.role === 'admin' || user.password_hash !== null || identities > 0 || isElsewhere;
  if (!isWorthTaking) return;
  if (!(await isEntryTrusted(database, account, rules, transaction)))
    throw new ProviderRefusal(await whyNotLinked(database, account, user, transaction));
}

/** The same entry bound this user before, by what it does not say any more: it says which. */
async function whyNotLinked(
  { models: { Identity: identities } }: Database,
  { kind, provider_id, issuer, subject }: ProvenAccount,
  user: User,
  transaction: Transaction,
): Promise<RefusalReason> {
  const where = { user_id: user.id, kind, provider_id };
  const bound = await identities.findAll({ where, transaction });
  if (bound.length === 0) return 'not_linked';
  if (!bound.some((one) => one.issuer === issuer)) return 'issuer_changed';
  // A subject of SAML begins with the form of the name.
  const formOf = (text: string): string => (text.includes(' ') ? (text.split(' ')[0] ?? '') : '');
  const isOtherForm = !bound.some((one) => formOf(one.subject) === formOf(subject));
  return kind === 'saml' && isOtherForm ? 'name_format_changed' : 'not_linked';
}

/** Whether an administrator marked the account's entry as trusted, as it leads now. */
function isEntryTrusted(
  database: Database,
  { kind, provider_id }: ProvenAccount,
  { authority }: ProvisionRules,
  transaction: Transaction,
): Promise<boolean> {
  return isTrusted(database, { kind, provider_id, authority }, transaction);
}

/** An address as the API would take it; null for what is none. */
export function readEmail(text: string | null): string | null {
  const email = text?.trim() ?? '';
  const isReadable = email.isWellFormed() && isEmail(email);
  const isShort = email.length <= 2 * EMAIL_CHARACTERS_MAX;
  return isShort && isReadable && Array.from(email).length <= EMAIL_CHARACTERS_MAX ? email : null;
}
