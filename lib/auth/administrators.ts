// Whether any administrator can sign in. Nobody can after an import that brought administrators
// without passwords, or where passwords are switched off and no identity provider is set up.

import {
  type Database,
  isLastAdministrator,
  isUnreadable,
  readConfiguration,
  type Transaction,
  type User,
} from '../../models/index.ts';
import { type FieldError, messages } from '../kit/validation/messages.ts';
import {
  type EffectiveConfiguration,
  effectiveConfiguration,
  type FixedSettings,
} from '../kit/records/effective-configuration.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { methodOf } from './identity/method.ts';
import { entriesOf, type ProviderLists } from './identity/standing-providers.ts';

/** What decides who can sign in. */
export type SignInSettings = Pick<
  EffectiveConfiguration,
  'local_auth_enabled' | 'openid_connect_providers' | 'saml_identity_providers'
>;

/** Whether administrators can sign in, and who one of them is. */
export interface Administration {
  readonly canSignIn: boolean;
  /** The e-mail of an administrator, the first enabled one if there is one; null: there is none. */
  readonly email: string | null;
}

/** Looks at the administrators and at the ways to sign in. */
export async function readAdministration(
  { models }: Database,
  settings: SignInSettings,
  transaction?: Transaction,
): Promise<Administration> {
  const administrators = await models.User.findAll({
    attributes: ['email', 'password_hash', 'disabled_at'],
    where: { role: 'admin' },
    order: ['inserted_at', 'id'],
    transaction: transaction ?? null,
  });
  const enabled = administrators.filter(({ disabled_at }) => disabled_at === null);
  // A provider may know any of them: only the provider can tell.
  const hasProvider =
    settings.openid_connect_providers.length + settings.saml_identity_providers.length > 0;
  const canSignIn = enabled.some(
    ({ password_hash }) => hasProvider || (settings.local_auth_enabled && password_hash !== null),
  );
  return { canSignIn, email: (enabled[0] ?? administrators[0])?.email ?? null };
}

/**
 * Why a user must stay an enabled administrator; null where nobody needs them. `last` is the answer
 * where no other one is enabled. The scope of the configuration must be locked.
 */
export async function neededError(
  database: Database,
  user: User,
  { last, fixed }: { readonly last: FieldError; readonly fixed: FixedSettings },
  transaction: Transaction,
): Promise<FieldError | null> {
  if (user.role !== 'admin') return null;
  if (await isLastAdministrator(database, user, transaction)) return last;
  const able = await whoSignsIn(database, fixed, transaction);
  return able.length === 1 && able[0] === user.id ? messages.noOtherSignsIn : null;
}

/**
 * The ids of the enabled administrators who are known to be able to sign in: by a password that
 * serves, or through a provider that had them here before.
 */
async function whoSignsIn(
  database: Database,
  fixed: FixedSettings,
  transaction: Transaction,
): Promise<string[]> {
  const { User: users, Identity: identities } = database.models;
  const row = await readConfiguration(database, transaction);
  if (row === null) return [];
  const settings = effectiveConfiguration(row, fixed);
  const administrators = await users.findAll({
    attributes: ['id', 'password_hash', 'last_signed_in_method'],
    where: { role: 'admin', disabled_at: null },
    transaction,
  });
  const links = await identities.findAll({
    attributes: ['user_id', 'kind', 'provider_id'],
    where: { user_id: administrators.map(({ id }) => id) },
    transaction,
  });
  const entries = openEntries(settings);
  const names = new Set(entries.map(({ name }) => name));
  // Names that change each time are never linked: only the last sign-in tells of them.
  const shown = new Set<string | null>(entries.map(({ entry }) => entry.id));
  shown.delete('email');
  const linked = new Set(
    links
      .filter(({ kind, provider_id }) => names.has(methodOf(kind, provider_id)))
      .map(({ user_id }) => user_id),
  );
  return administrators
    .filter(
      ({ id, password_hash, last_signed_in_method: method }) =>
        (settings.local_auth_enabled && password_hash !== null) ||
        linked.has(id) ||
        shown.has(method),
    )
    .map(({ id }) => id);
}

/** The entries of both lists; none where a list cannot be decrypted: nobody signs in by it. */
function openEntries(settings: ProviderLists): ReturnType<typeof entriesOf> {
  try {
    return entriesOf(settings);
  } catch (error) {
    if (isUnreadable(error)) return [];
    throw error;
  }
}

/** The command that lets an administrator in. */
export function letInCommand(email: string | null): string {
  return commandLine(`admin create-or-reset --email ${email === null ? 'E' : shellWord(email)}`);
}

/** A text as one word of a shell: an e-mail may hold what a shell obeys. */
function shellWord(text: string): string {
  return /^[\w@.+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
