// Whether any administrator can sign in. Nobody can after an import that brought administrators
// without passwords, or where passwords are switched off and no identity provider is set up.

import type { Database, Transaction } from '../../models/index.ts';
import type { EffectiveConfiguration } from '../records/effective-configuration.ts';
import { commandLine } from '../process/command-line.ts';

/** What decides who can sign in. */
export type SignInSettings = Pick<
  EffectiveConfiguration,
  'local_auth_enabled' | 'openid_connect_providers' | 'saml_identity_providers'
>;

/** How the administrators stand. */
export interface Administration {
  readonly canSignIn: boolean;
  /** Of one who is there, the first one who is enabled; null where there is none. */
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

/** The command that lets an administrator in. */
export function letInCommand(email: string | null): string {
  return commandLine(`admin create-or-reset --email ${email === null ? 'E' : shellWord(email)}`);
}

/** A text as one word of a shell: an e-mail may hold what a shell obeys. */
function shellWord(text: string): string {
  return /^[\w@.+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
