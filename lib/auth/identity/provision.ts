// Finds the user of an account at a provider. An account that is linked to a user means that user,
// whatever e-mail address it has now. Any other account is matched once, by its e-mail address
// (only the case of A to Z may differ), and then linked. Some users are worth an attack by forged
// addresses: administrators, users with a password, users with another identity. For them the
// provider must have verified the address, or an administrator must trust the provider. A link that
// an administrator freed goes to the next account of the same entry with the user's address.
// docs/api.md#trusted-providers.

import {
  actAs,
  type Database,
  emailKey,
  findFreeLinks,
  type GroupsError,
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
import { withoutBlanks } from '../blanks.ts';
import { type GroupsOfAnswer, type HearsGroups, takeGroups } from './groups.ts';
import { EMAIL_CHARACTERS_MAX, isEmail, isSameAddress } from '../email.ts';
import { looksTaken } from '../named-user.ts';
import { readPersonName } from './person-name.ts';
import { ProviderRefusal, type RefusalReason } from './refusal.ts';

/** For the log: the key is the user's, the address is not. */
const OTHER_ADDRESS = 'the e-mail address only looks like that of the user';

/** What a provider proved. */
export interface ProvenAccount extends ProviderAccount {
  /** The e-mail address that the provider sent; null if it sent none. */
  readonly email: string | null;
  /** Null if the provider does not say it. */
  readonly isEmailVerified: boolean | null;
  /** The name that the provider says, as it sent it. */
  readonly name?: unknown;
  /** False if the subject changes each time; then the account is matched by e-mail each time. */
  readonly isBindable: boolean;
}

/** What the provider's entry allows. */
export interface ProvisionRules {
  readonly autoCreateUsers: boolean;
  /** The provider to which the entry leads; a mark of trust names it. */
  readonly authority: string;
  /** The only user who may come out of it: whose one-time link it is. */
  readonly onlyUserId?: string | undefined;
}

/** The circumstances of a sign-in. */
export interface ProvisionContext {
  readonly origin: Origin;
  readonly now: Date;
  /** Tokens to keep for the identity; only OpenID has some. */
  readonly tokens?: { readonly kept: ProviderTokens; readonly refreshAt: Date };
  /** What the provider says of groups; left out where the entry does not ask. */
  readonly groups?: GroupsOfAnswer & { readonly hearGroups: HearsGroups };
}

/** Who a proven account is. */
export interface Provisioned {
  readonly userId: string;
  /** Why their groups are not those that the provider means; null where they are. */
  readonly groupsError: GroupsError | null;
}

/** Finds, links or makes the user of a proven account; throws ProviderRefusal if there is none. */
export async function provisionUser(
  database: Database,
  account: ProvenAccount,
  rules: ProvisionRules,
  context: ProvisionContext,
): Promise<Provisioned> {
  // Two first sign-ins of one account may collide; the second try finds what the other made.
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { result } = await writeTransaction(database, (transaction) =>
        provision(database, account, rules, context, transaction),
      );
      return result;
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
): Promise<Provisioned> {
  actAs(transaction, context.origin);
  await lockScopes(database, transaction, { configuration: true });
  const bound = account.isBindable ? await findIdentity(database, account, transaction) : null;
  const userId =
    bound?.user_id ?? (await userByEmail(database, account, rules, context.now, transaction));
  // What was made or linked until here is undone.
  if (rules.onlyUserId !== undefined && userId !== rules.onlyUserId)
    throw new ProviderRefusal('other_person');
  await nameUser(database, userId, account, transaction);
  const identity =
    bound ?? (account.isBindable ? await bind(database, account, userId, transaction) : null);
  const { tokens, now, groups } = context;
  if (identity !== null && tokens !== undefined) {
    const { kept, refreshAt } = tokens;
    await keepTokens(database, identity.id, { tokens: kept, refreshAt, now }, transaction);
  }
  if (groups === undefined) return { userId, groupsError: null };
  const { kind, provider_id } = account;
  const authority = { kind, provider_id, authority: rules.authority };
  const whose = { userId, identity, authority, hearGroups: groups.hearGroups };
  return { userId, groupsError: await takeGroups(database, whose, groups, transaction) };
}

/** Gives a user who has no name the one that the provider says; it never replaces one. */
async function nameUser(
  { models: { User: users } }: Database,
  userId: string,
  account: ProvenAccount,
  transaction: Transaction,
): Promise<void> {
  const name = readPersonName(account.name);
  if (name === null) return;
  const user = await users.findByPk(userId, { transaction, lock: true });
  if (user?.name === null) await user.update({ name }, { transaction });
}

/** Whether the account is not linked, and its e-mail address is that of a user. */
export async function isToBeLinked(database: Database, account: ProvenAccount): Promise<boolean> {
  const { Identity: identities, User: users } = database.models;
  const email = readEmail(account.email);
  if (email === null) return false;
  const bound = await identities.count({ where: { account_key: identityKey(account) } });
  return bound === 0 && (await users.count({ where: { email_key: emailKey(email) } })) > 0;
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
  // A linked account never comes here: a known user is admitted whatever the provider verified.
  if (
    account.isEmailVerified === false &&
    !(await isEntryTrusted(database, account, rules, transaction))
  )
    throw new ProviderRefusal('email_unverified');
  const where = { email_key: emailKey(email) };
  const user = await users.findOne({ where, transaction, lock: true });
  if (user !== null) {
    // Users are found by a key in which addresses of different people may meet: the Kelvin sign is
    // a "k" there. A provider may have verified the look-alike, so only the address itself links.
    if (!isSameAddress(user.email, email)) throw new ProviderRefusal('not_linked', OTHER_ADDRESS);
    const entry = { kind: account.kind, provider_id: account.provider_id, userId: user.id };
    const free = await findFreeLinks(database, entry, now, transaction);
    // The user may have become an administrator since; an e-mail address must not open that role.
    const isFree = free.length > 0 && user.role !== 'admin';
    if (!isFree) await checkLink(database, account, rules, user, transaction);
    await removeLinks(database, free, transaction);
    return user.id;
  }
  if (!rules.autoCreateUsers) throw new ProviderRefusal('user_unknown');
  if (await looksTaken(database, email, null, transaction))
    throw new ProviderRefusal('not_linked', OTHER_ADDRESS);
  return (await users.create({ email, role: 'unprivileged' }, { transaction })).id;
}

/** Throws ProviderRefusal if the e-mail address is not enough to link an account to a user. */
async function checkLink(
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
  // An account whose subject changes each time has no identity, but can also sign this user in.
  const { last_signed_in_method: method } = user;
  // The method has no kind; only subjects of SAML change, so an OpenID entry of that id is another.
  const isHere = account.kind === 'saml' && method === provider_id;
  const isElsewhere = method !== null && !isHere;
  const isWorthTaking =
    user.role === 'admin' || user.password_hash !== null || identities > 0 || isElsewhere;
  if (!isWorthTaking) return;
  if (!(await isEntryTrusted(database, account, rules, transaction)))
    throw new ProviderRefusal(await whyNotLinked(database, account, user, transaction));
}

/** The reason of a refusal: an earlier link of the same entry may show what has changed. */
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

/** Whether an administrator trusts the provider to which the account's entry leads now. */
function isEntryTrusted(
  database: Database,
  { kind, provider_id }: ProvenAccount,
  { authority }: ProvisionRules,
  transaction: Transaction,
): Promise<boolean> {
  return isTrusted(database, { kind, provider_id, authority }, transaction);
}

/**
 * An e-mail address that the API would accept; null if the text is not one. Spaces around it do not
 * count. A blank that is none of ASCII would make it the address of somebody else, for all to see
 * the same: the API takes such blanks off, so no user can have that address.
 */
export function readEmail(text: string | null): string | null {
  const email = withoutBlanks(text ?? '');
  const isReadable = email === email.trim() && email.isWellFormed() && isEmail(email);
  const isShort = email.length <= 2 * EMAIL_CHARACTERS_MAX;
  return isShort && isReadable && Array.from(email).length <= EMAIL_CHARACTERS_MAX ? email : null;
}
